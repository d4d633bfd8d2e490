"""Agents, collectors, streams and ranks are killed, stopped and restarted at random while a run is adjusted."""

import pytest

from tests.collector.adjustments.schedules import EPOCH_STEPS, STEP_SECONDS, Schedule


@pytest.mark.parametrize("seed", [1, 2, 1040])
def test_whatever_is_killed_ranks_agree_in_each_step_and_everything_ends(seed: int) -> None:
    """No step has two values, one change is offered at a time, each has a record, and no value stays blocked."""
    result = Schedule(seed).run()
    assert (result.faults, result.splits) == ([], 0)
    assert result.longest_blocked_seconds <= EPOCH_STEPS * STEP_SECONDS
    assert result.kills > 0
    assert sum(result.ended.values()) > 0


@pytest.mark.parametrize("seed", [311, 315, 2006, 7730150])
def test_ranks_that_an_epoch_has_split_are_made_equal_whatever_is_killed(seed: int) -> None:
    """A rank alone may fail to change as its epoch begins. In the end all have one value, which the collector knows."""
    result = Schedule(seed, lone_failures=True).run()
    assert (result.faults, result.splits) == ([], 0)
