"""Summaries of a minute."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.summary import STEPS, decode_summary, encode_summary, summarize

VALUES = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-100, 100))
Matrix = np.ndarray[tuple[int, int], np.dtype[np.int64]]


def group(values: Matrix, valid: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> RowGroup:
    count = len(values)
    times, digests = np.arange(count, dtype=np.int64), np.zeros(count, dtype=np.uint64)
    return RowGroup(5, times, times, times, times, times, digests, digests, values, valid)


@settings(max_examples=60)
@given(arrays(np.int64, st.tuples(st.integers(1, 20), st.integers(0, 5)), elements=VALUES), st.data())
def test_summaries_are_correct(values: Matrix, data: st.DataObject) -> None:
    """Minimum, maximum, last and count of the known values are exact; the mean is within a step."""
    valid = data.draw(arrays(np.bool_, values.shape))
    (summary,) = decode_summary(encode_summary([summarize(group(values, valid))]))
    assert (summary.layout, summary.first_ns) == (5, 0)
    for column in range(values.shape[1]):
        known = [int(value) for value in values[valid[:, column], column]]
        assert summary.counts[column] == len(known)
        if not known:
            continue
        least, most = min(known), max(known)
        assert (summary.minimum[column], summary.maximum[column], summary.last[column]) == (least, most, known[-1])
        mean = least + (most - least) * int(summary.mean_steps[column]) / STEPS
        assert abs(mean - sum(known) / len(known)) <= (most - least) / STEPS + abs(mean) * 1e-12


def test_means_of_small_integers_are_exact() -> None:
    """A flag that was set for 17 of 60 seconds has the mean 17/60."""
    values = (np.arange(60) < 17).astype(np.int64)[:, None]
    assert summarize(group(values, np.ones((60, 1), dtype=np.bool_))).mean_steps[0] * 60 == 17 * STEPS
