"""Growth of counters over a sliding time."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.subject import Subject, subjects

ONE = subjects([Subject("a")], [0])


def grown(growth: Growth, value: float, now: float) -> float:
    return float(growth.add(ONE, np.array([value]), now)[0])


@given(st.lists(st.one_of(st.none(), st.integers(0, 1000)), min_size=1, max_size=50))
def test_growth_is_the_sum_of_rises(counts: list[int | None]) -> None:
    """Within the time nothing is lost or counted twice: decreases are restarts, unknown values are bridged."""
    growth = Growth(1000.0)
    for second, count in enumerate(counts):
        total = grown(growth, math.nan if count is None else count, float(second))
    known = [count for count in counts if count is not None]
    assert total == sum(max(0, after - before) for before, after in pairwise(known))


def test_older_growth_is_dropped() -> None:
    """An increase counts for at least the time less a bucket, and at most the time."""
    growth = Growth(100.0, 10)
    grown(growth, 0, 1000.0)
    assert grown(growth, 5, 1001.0) == 5
    assert grown(growth, 5, 1090.0) == 5
    assert grown(growth, 5, 1101.0) == 0
    assert growth.watched(1050.0).tolist() == [50.0]
    assert growth.watched(5000.0).tolist() == [100.0]


def test_counters_follow_their_subjects() -> None:
    """A new subject before the others does not change their growth, and starts at zero."""
    growth = Growth(100.0)
    grown(growth, 0, 0.0)
    grown(growth, 7, 1.0)
    both = subjects([Subject("0"), Subject("a")], [0, 1])
    assert growth.add(both, np.array([100.0, 8.0]), 2.0).tolist() == [0, 8]
    assert growth.watched(2.0).tolist() == [0, 2]
