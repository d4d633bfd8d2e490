"""The usual position of each rank among the ranks of its run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.offsets import RankOffsets
from tests.collector.diagnosis.runs.one_run import run_of

NO_RANK = np.zeros(4, dtype=bool)


def beyond(logs: NDArray[np.float64], slower: NDArray[np.bool_] = NO_RANK) -> NDArray[np.float64]:
    """Return the result of each update (update × rank), eight reports between two updates."""
    runs, offsets = run_of(logs.shape[1]), RankOffsets()
    counts = np.zeros(logs.shape[1], dtype=np.int64)
    return np.stack([offsets.update(runs, row, counts + 8 * (number + 1), slower) for number, row in enumerate(logs)])


def test_a_rank_exceeds_its_offset_by_what_it_became_slower() -> None:
    """This holds however unequal the ranks are, and also for the one in the middle."""
    logs = np.tile([0.1, 0.3, 0.0, 0.9], (40, 1))
    logs[30:, 0] += 0.2
    np.testing.assert_allclose(beyond(logs)[30], [0.2, 0, 0, 0], atol=1e-9)


def test_a_new_level_becomes_the_offset_unless_the_rank_became_slower() -> None:
    """This takes some hundreds of reports; a held offset stays for as long as it is held."""
    logs = np.tile([0.1, 0.3, 0.0, 0.9], (500, 1))
    logs[200:, 1] += 0.1
    assert beyond(logs)[-1, 1] == pytest.approx(0, abs=0.02)
    held = beyond(logs, np.arange(4) == 1)
    assert held[-1, 1] == pytest.approx(0.1, abs=1e-9)


def test_a_rank_that_joins_in_a_slow_phase_has_its_offset_at_once() -> None:
    """So do those that knew the run when it was faster."""
    logs = np.tile([0.1, 0.3, 0.0, 0.9], (60, 1))
    logs[20:] += 0.25
    logs[:30, 2:] = np.nan
    found = beyond(logs)
    assert np.isnan(found[29]).tolist() == [False, False, True, True]
    np.testing.assert_allclose(found[30:], 0, atol=1e-9)


@given(st.lists(st.floats(-2, 2), min_size=30, max_size=30), st.integers(0, 2**16))
def test_a_common_drift_cancels_out(drift: list[float], seed: int) -> None:
    """This holds for any drift at any moment."""
    logs = np.random.default_rng(seed).normal(0, 0.1, (30, 4))
    np.testing.assert_allclose(beyond(logs + np.array(drift)[:, None]), beyond(logs), atol=1e-9)
