"""The largest value of each host."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.largest_by_host import largest_by_host

VALUES = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))), max_size=20)


@given(st.lists(VALUES, min_size=1, max_size=8) | st.integers(1, 20).flatmap(lambda n: st.lists(
    st.lists(st.floats(-1e6, 1e6), min_size=n, max_size=n), min_size=1, max_size=8)))  # fmt: skip
def test_each_host_has_the_largest_of_its_known_values(by_host: list[list[float]]) -> None:
    """Hosts may have equally many values or not; those without a known value have none."""
    values = np.array([value for values in by_host for value in values], dtype=np.float64)
    hosts = np.repeat(np.arange(len(by_host)), [len(values) for values in by_host])
    known = [[value for value in values if not np.isnan(value)] for values in by_host]
    expected = np.array([max(values, default=np.nan) for values in known])
    np.testing.assert_array_equal(largest_by_host(values, hosts, len(by_host)), expected)
    both = largest_by_host(np.stack([values, -values]), hosts, len(by_host))
    np.testing.assert_array_equal(both[0], expected)
    np.testing.assert_array_equal(both[1], -np.array([min(values, default=np.nan) for values in known]))
