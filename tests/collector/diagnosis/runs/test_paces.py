"""When a rank's slowness is its own, by how it stands to its past, its peers, and its place among them."""

import numpy as np
import pytest

from flyball_collector.diagnosis.runs.onset import Moved
from flyball_collector.diagnosis.runs.paces import Pace
from tests.collector.diagnosis.runs.one_run import run_of

RANKS = 4
SLOWER = float(np.log(1.3))  # what the first rank's steps are beyond its past


def pace(*, against_peers: float, out_of_place: float, complete: bool = True) -> Pace:
    """A run of four ranks, of which the first became slower; its peers go as they did."""
    only_first = np.eye(1, RANKS)[0]
    unmoved = np.zeros(RANKS)
    moved = Moved(
        only_first > 0, np.ones(RANKS, dtype=bool), SLOWER * only_first, SLOWER * only_first, SLOWER * only_first,
        unmoved, unmoved, unmoved, SLOWER * only_first, np.full(RANKS, 40), np.zeros(RANKS, dtype=bool),
    )  # fmt: skip
    return Pace(
        runs=run_of(RANKS),
        moved=moved,
        fresh=np.ones(RANKS, dtype=bool),
        now=np.exp(SLOWER * only_first),
        usual=np.ones(RANKS),
        shift=SLOWER * only_first,
        against_peers=against_peers * only_first,
        early_against_peers=against_peers * only_first,
        out_of_place=out_of_place * only_first,
        peers=np.ones(RANKS),
        run_shift=np.zeros(1),
        run_upper_shift=np.zeros(1),
        complete=np.array([complete]),
        scattered=np.zeros(RANKS, dtype=bool),
        added=unmoved,
        usually_added=unmoved,
        steady={},
    )


@pytest.mark.parametrize("out_of_place", [SLOWER, np.nan])
def test_one_that_left_its_peers_behind_it_stays_apart(out_of_place: float) -> None:
    """Also where its place among them is not known."""
    found = pace(against_peers=SLOWER, out_of_place=out_of_place)
    assert found.apart[0]
    assert found.still_apart[0]


def test_one_that_is_back_in_its_place_is_not_apart_any_more() -> None:
    """Although its shift exceeds its peers': their pasts have become younger than its own."""
    found = pace(against_peers=SLOWER, out_of_place=0.0)
    assert not found.apart[0]
    assert not found.still_apart[0]


def test_one_that_is_no_slower_than_its_peers_became_is_not_apart_any_more() -> None:
    """Although it is out of its place."""
    assert not pace(against_peers=0.0, out_of_place=SLOWER).still_apart[0]


def test_nothing_ends_while_most_of_the_peers_are_away() -> None:
    """What they would say now is not known."""
    assert pace(against_peers=0.0, out_of_place=0.0, complete=False).still_apart[0]
