"""Tests of the memory verdict and of suggested changes."""

from msgspec.structs import replace

from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.memory.estimate import estimate_memory
from flyball_planner.memory.single_change import possible_changes, single_changes
from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.training import Checkpointing
from tests.planner.memory.test_estimate import CARD, SHAPE, TRAINING

TIGHT = ParallelLayout(micro_batch=16)


def test_the_interval_decides() -> None:
    """Memory below the interval does not fit, above it fits, and within it is uncertain."""
    memory = estimate_memory(SHAPE, TRAINING, Layouts.of(TIGHT), CARD)
    usable = memory.usable_bytes
    sizes = {
        Fit.NO: 0.99 * memory.driver.low[0],
        Fit.UNCERTAIN: memory.driver.middle[0],
        Fit.YES: 1.01 * memory.driver.high[0],
    }
    for expected, size in sizes.items():
        assert fits(memory, share=size / usable)[0] is expected


def test_headroom_is_usable_memory_minus_the_estimate() -> None:
    """Headroom is relative to the middle, sure headroom to the upper end."""
    memory = estimate_memory(SHAPE, TRAINING, Layouts.of(ParallelLayout()), CARD)
    verdict = fits(memory)
    assert verdict.headroom[0] == memory.usable_bytes - memory.driver.middle[0]
    assert verdict.sure_headroom[0] < verdict.headroom[0]
    assert verdict.may_fit[0]


def test_only_visible_memory_is_usable() -> None:
    """If the driver shows less than the nominal size, only the visible memory is usable."""
    card = replace(CARD, visible_bytes=20e9)
    assert estimate_memory(SHAPE, TRAINING, Layouts.of(ParallelLayout()), card).usable_bytes == 20e9


def test_the_best_change_frees_the_most_memory() -> None:
    """Changes are ordered by the memory that they free, and each has the verdict after the change."""
    changes = single_changes(SHAPE, TRAINING, TIGHT, CARD)
    assert changes == sorted(changes, key=lambda change: -change.saved_bytes)
    best = changes[0]
    assert best.layout.checkpointing is Checkpointing.FULL
    after = estimate_memory(SHAPE, best.training, Layouts.of(best.layout), CARD)
    assert fits(after)[0] is best.fit


def test_a_smaller_micro_batch_still_divides_the_batch() -> None:
    """Half of five samples does not divide a batch of forty over eight devices; one sample does."""
    layout = ParallelLayout(8, micro_batch=5)
    changes = possible_changes(SHAPE, replace(TRAINING, global_batch=40), layout, CARD)
    assert 1 in {change.layout.micro_batch for change in changes}


def test_changes_that_free_nothing_are_not_suggested() -> None:
    """For a micro-batch of one sample, smaller micro-batches are not suggested."""
    assert not any("micro-batches" in change.what for change in single_changes(SHAPE, TRAINING, ParallelLayout(), CARD))
