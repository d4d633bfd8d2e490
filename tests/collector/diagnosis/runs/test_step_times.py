"""A rank's slowness is its own or that of its run, given its past, its peers and its usual position among them."""

import numpy as np
import pytest

from flyball_collector.diagnosis.runs.level_shifts import ShiftState
from flyball_collector.diagnosis.runs.quick_slowness import QuickSlow
from flyball_collector.diagnosis.runs.step_times import StepTimes
from tests.collector.diagnosis.runs.one_run import run_of

RANKS = 4
SLOWER = float(np.log(1.3))  # how much the first rank's steps exceed its past


def step_times(*, against_peers: float, beyond_offset: float, complete: bool = True) -> StepTimes:
    """Return a run of four ranks, of which the first became slower."""
    only_first = np.eye(1, RANKS)[0]
    zeros = np.zeros(RANKS)
    state = ShiftState(
        only_first > 0, np.ones(RANKS, dtype=bool), SLOWER * only_first, SLOWER * only_first, SLOWER * only_first,
        zeros, zeros, zeros, SLOWER * only_first, np.full(RANKS, 40), np.zeros(RANKS, dtype=bool),
    )  # fmt: skip
    return StepTimes(
        runs=run_of(RANKS),
        state=state,
        fresh=np.ones(RANKS, dtype=bool),
        now=np.exp(SLOWER * only_first),
        usual=np.ones(RANKS),
        shift=SLOWER * only_first,
        against_peers=against_peers * only_first,
        early_against_peers=against_peers * only_first,
        beyond_offset=beyond_offset * only_first,
        peers=np.ones(RANKS),
        run_shift=np.zeros(1),
        run_upper_shift=np.zeros(1),
        complete=np.array([complete]),
        slow_single_steps=np.zeros(RANKS, dtype=bool),
        added=zeros,
        usually_added=zeros,
        steady={},
        quick=QuickSlow(only_first < 0, zeros, zeros, zeros, only_first < 0),
    )


@pytest.mark.parametrize("beyond_offset", [SLOWER, np.nan])
def test_a_rank_that_is_slower_than_its_peers_stays_different(beyond_offset: float) -> None:
    """This also holds if its usual position among them is unknown."""
    found = step_times(against_peers=SLOWER, beyond_offset=beyond_offset)
    assert found.differs[0]
    assert found.still_differs[0]


def test_a_rank_back_at_its_offset_is_no_longer_different() -> None:
    """Its shift exceeds its peers', but only because their pasts have become younger."""
    found = step_times(against_peers=SLOWER, beyond_offset=0.0)
    assert not found.differs[0]
    assert not found.still_differs[0]


def test_a_rank_no_slower_than_its_peers_is_no_longer_different() -> None:
    """It is still beyond its offset."""
    assert not step_times(against_peers=0.0, beyond_offset=SLOWER).still_differs[0]


def test_nothing_ends_while_most_peers_are_away() -> None:
    """Their current values are unknown."""
    assert step_times(against_peers=0.0, beyond_offset=0.0, complete=False).still_differs[0]
