"""Whether a training fits, and what would help."""

from msgspec.structs import replace

from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.memory.change import best_single_change, single_changes
from flyball_planner.memory.estimate import estimate_memory
from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.training import Checkpointing
from tests.planner.memory.test_estimate import CARD, SHAPE, TRAINING

TIGHT = Layout(micro_batch=16)


def test_the_interval_decides() -> None:
    """Below the lower end it does not fit, above the upper end it does, between nobody can say."""
    told = estimate_memory(SHAPE, TRAINING, Layouts.of(TIGHT), CARD)
    usable = told.usable_bytes
    sizes = {
        Fit.NO: 0.99 * told.driver.low[0],
        Fit.UNCERTAIN: told.driver.middle[0],
        Fit.YES: 1.01 * told.driver.high[0],
    }
    for expected, size in sizes.items():
        assert fits(told, share=size / usable)[0] is expected


def test_headroom_is_what_is_left() -> None:
    """Headroom is counted to the middle, sure headroom to the upper end."""
    told = estimate_memory(SHAPE, TRAINING, Layouts.of(Layout()), CARD)
    verdict = fits(told)
    assert verdict.headroom[0] == told.usable_bytes - told.driver.middle[0]
    assert verdict.sure_headroom[0] < verdict.headroom[0]
    assert verdict.may_fit[0]


def test_what_the_driver_keeps_is_not_usable() -> None:
    """A card whose driver shows less than is printed on it has only that."""
    card = replace(CARD, visible_bytes=20e9)
    assert estimate_memory(SHAPE, TRAINING, Layouts.of(Layout()), card).usable_bytes == 20e9


def test_the_best_change_saves_most() -> None:
    """Changes are ordered by what they free; each names what to do and says whether it then fits."""
    changes = single_changes(SHAPE, TRAINING, TIGHT, CARD)
    assert changes == sorted(changes, key=lambda change: -change.saved_bytes)
    best = best_single_change(SHAPE, TRAINING, TIGHT, CARD)
    assert best == changes[0]
    assert best.layout.checkpointing is Checkpointing.FULL
    after = estimate_memory(SHAPE, best.training, Layouts.of(best.layout), CARD)
    assert fits(after)[0] is best.fit


def test_no_change_is_advised_that_saves_nothing() -> None:
    """Where one device holds one small sample, splitting the batch is not among the changes."""
    assert not any("micro-batches" in change.what for change in single_changes(SHAPE, TRAINING, Layout(), CARD))
