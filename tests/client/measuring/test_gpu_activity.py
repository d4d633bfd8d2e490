"""The shares of a GPU's time, from the times of its kernels and copies."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball.measuring.gpu_activity import activity_facts, host_bound, length, union

SPANS = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)).map(lambda pair: (min(pair), max(pair))))


def test_kernels_exchanges_and_copies_are_distinguished() -> None:
    """Time that overlaps with computing costs nothing."""
    facts = activity_facts(
        [
            ("gemm", 0, 20),
            ("softmax", 15, 30),  # a second stream
            ("ncclDevKernel_AllReduce", 25, 45),  # 15 of it alone
            ("Memcpy HtoD (Pinned -> Device)", 40, 55),  # 10 of it alone
            ("Memset (Device)", 0, 5),
            ("gemm", 55, 60),
        ],
        100,
    )
    assert facts == {
        "gpu_busy_ratio": pytest.approx(0.50),
        "communication_ratio": pytest.approx(0.15),
        "transfer_wait_ratio": pytest.approx(0.10),
    }
    assert host_bound(facts | {"data_wait_ratio": 0.3}) == pytest.approx(0.1)


def test_without_a_gpu_nothing_is_known_of_it() -> None:
    """Neither is the time in which it would wait for the host."""
    assert activity_facts([], 0) == {}
    assert host_bound({"data_wait_ratio": 0.3}) is None


def test_shares_stay_between_zero_and_one() -> None:
    """Clocks of host and GPU differ a little."""
    assert activity_facts([("gemm", 0, 101)], 100)["gpu_busy_ratio"] == 1.0
    assert host_bound({"gpu_busy_ratio": 0.9, "data_wait_ratio": 0.2}) == 0.0


@given(SPANS)
def test_a_union_covers_the_same_time_without_overlap(spans: list[tuple[float, float]]) -> None:
    """Each moment is counted once."""
    found = union(spans)
    covered = {moment for begin, end in spans for moment in range(int(begin), int(end))}
    assert length(found) == len(covered)
    assert all(before[1] < after[0] for before, after in pairwise(found))
