"""Shares carry Wilson's bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.labelled.wilson import Share


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(10, 10, 0.7225, 1.0), (0, 10, 0.0, 0.2775), (81, 263, 0.2553, 0.3662)]
)
def test_bounds_are_those_of_the_published_examples(hits: int, of: int, low: float, high: float) -> None:
    """Newcombe (1998) gives 81 of 263 as an example: 0.2553 to 0.3662."""
    assert Share(hits, of).bounds == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 2000), st.data())
def test_the_share_lies_between_its_bounds(of: int, data: st.DataObject) -> None:
    """Whatever was counted, and both bounds are shares themselves."""
    hits = data.draw(st.integers(0, of))
    low, high = Share(hits, of).bounds
    assert 0 <= low <= hits / of + 1e-12
    assert hits / of - 1e-12 <= high <= 1


def test_nothing_of_nothing_is_unknown() -> None:
    """No share, the widest bounds, and a dash in tables."""
    nothing = Share(0, 0)
    assert (nothing.value, nothing.bounds, nothing.words) == (None, (0.0, 1.0), "–")
