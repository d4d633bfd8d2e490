"""Earlier adjustments as reasons against a change."""

import pytest

from flyball_collector.adjustments.adjustment import AdjustmentState
from flyball_collector.adjustments.rules.trials import barred, direction
from tests.collector.adjustments.rules.runs import NOW, adjustment, effect


def test_without_a_history_nothing_is_barred() -> None:
    """The first attempt is free."""
    assert barred([], "workers", 1, 2, NOW) == ""


@pytest.mark.parametrize(
    ("times", "ago", "allowed"), [(1, 3500, False), (1, 3700, True), (2, 3700, False), (2, 7300, True)]
)
def test_a_change_that_was_taken_back_waits_longer_each_time(times: int, ago: float, allowed: bool) -> None:
    """The same value is tried again after an hour, then after two; another value is free."""
    state = AdjustmentState.ROLLED_BACK
    history = [adjustment("workers", 1, 2, ago=ago + number, state=state) for number in range(times)]
    assert (barred(history, "workers", 1, 2, NOW) == "") is allowed
    assert barred(history, "workers", 1, 4, NOW) == ""
    assert barred(history, "pool", 1, 2, NOW) == ""


def test_a_useless_direction_is_not_continued() -> None:
    """If two workers brought 1 %, four are not tried; after 10 % they are."""
    useless = adjustment("workers", 1, 2, effect=effect(1.01))
    useful = adjustment("workers", 1, 2, effect=effect(1.1))
    assert "+1 %" in barred([useless], "workers", 2, 4, NOW)
    assert barred([useless], "workers", 2, 4, NOW, protects=True) == ""
    assert barred([useful], "workers", 2, 4, NOW) == ""


def test_a_useful_change_of_another_value_outdates_a_useless_one() -> None:
    """More workers may need the pool that brought nothing before; a useless change of another value proves nothing."""
    useless = adjustment("pool", 1, 4, ago=1000, effect=effect(1.0))
    workers = adjustment("workers", 1, 4, ago=500, effect=effect(3.0))
    other = adjustment("workers", 1, 4, ago=500, effect=effect(1.0))
    assert barred([useless], "pool", 4, 8, NOW) != ""
    assert barred([useless, workers], "pool", 4, 8, NOW) == ""
    assert barred([useless, other], "pool", 4, 8, NOW) != ""


@pytest.mark.parametrize(("ago", "allowed"), [(100, False), (2000, True)])
def test_a_change_is_not_reversed_soon(ago: float, allowed: bool) -> None:
    """The other direction waits; the same direction does not."""
    last = [adjustment("loader_workers", 4, 2, ago=ago)]
    assert (barred(last, "loader_workers", 2, 4, NOW, reversal_seconds=1800) == "") is allowed
    assert barred(last, "loader_workers", 2, 1, NOW, reversal_seconds=1800) == ""


def test_a_run_does_not_return_to_what_it_was_protected_from() -> None:
    """For a day, no change for speed reaches the value again, or one beyond it; one before it is free."""
    shrunk = [adjustment("micro_batch", 16, 4, ago=7200, protects=True, because="memory")]
    assert "protected from 16" in barred(shrunk, "micro_batch", 4, 16, NOW)
    assert barred(shrunk, "micro_batch", 8, 32, NOW) != ""
    assert barred(shrunk, "micro_batch", 4, 8, NOW) == ""
    assert barred(shrunk, "micro_batch", 4, 2, NOW) == ""
    assert barred(shrunk, "micro_batch", 4, 16, NOW, protects=True) == ""
    long_ago = [adjustment("micro_batch", 16, 4, ago=90_000, protects=True)]
    assert barred(long_ago, "micro_batch", 4, 16, NOW) == ""


def test_directions() -> None:
    """Numbers and truth values have an order, texts have none."""
    assert [direction(1, 2), direction(0.3, 0.1), direction(False, True), direction(2, 2), direction("a", "b")] == [
        1, -1, 1, 0, 0,
    ]  # fmt: skip
