"""How each rank is wont to stand among the ranks of its run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.offsets import Offsets
from tests.collector.diagnosis.runs.one_run import run_of

NOBODY = np.zeros(4, dtype=bool)


def beyond(logs: NDArray[np.float64], slower: NDArray[np.bool_] = NOBODY) -> NDArray[np.float64]:
    """What each look says (look × rank), eight reports apart."""
    runs, offsets = run_of(logs.shape[1]), Offsets()
    counts = np.zeros(logs.shape[1], dtype=np.int64)
    return np.stack([offsets.look(runs, row, counts + 8 * (look + 1), slower) for look, row in enumerate(logs)])


def test_one_that_leaves_its_place_is_out_of_it_by_as_much() -> None:
    """However unequal the ranks are, and even if it is the one in the middle."""
    logs = np.tile([0.1, 0.3, 0.0, 0.9], (40, 1))
    logs[30:, 0] += 0.2
    np.testing.assert_allclose(beyond(logs)[30], [0.2, 0, 0, 0], atol=1e-9)


def test_a_new_place_becomes_the_ranks_own_unless_it_became_slower() -> None:
    """After some hundreds of reports; one that is held keeps its place for as long as it is."""
    logs = np.tile([0.1, 0.3, 0.0, 0.9], (500, 1))
    logs[200:, 1] += 0.1
    assert beyond(logs)[-1, 1] == pytest.approx(0, abs=0.02)
    held = beyond(logs, np.arange(4) == 1)
    assert held[-1, 1] == pytest.approx(0.1, abs=1e-9)


def test_a_rank_that_joins_a_slow_time_is_in_its_place_at_once() -> None:
    """So are those that knew the run when it was faster."""
    logs = np.tile([0.1, 0.3, 0.0, 0.9], (60, 1))
    logs[20:] += 0.25
    logs[:30, 2:] = np.nan
    found = beyond(logs)
    assert np.isnan(found[29]).tolist() == [False, False, True, True]
    np.testing.assert_allclose(found[30:], 0, atol=1e-9)


@given(st.lists(st.floats(-2, 2), min_size=30, max_size=30), st.integers(0, 2**16))
def test_what_all_share_cancels(drift: list[float], seed: int) -> None:
    """Whatever it is, at every moment."""
    logs = np.random.default_rng(seed).normal(0, 0.1, (30, 4))
    np.testing.assert_allclose(beyond(logs + np.array(drift)[:, None]), beyond(logs), atol=1e-9)
