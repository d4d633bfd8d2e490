"""Tests of the rounding of a caching allocator."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.memory.allocator import reserved_bytes
from flyball_planner.memory.constants import MIB


def reserved(*sizes: float) -> float:
    """Return the bytes of the segments for one tensor of each size."""
    column = np.array([[size] for size in sizes])
    return float(reserved_bytes(column, np.ones_like(column))[0])


def test_segments_depend_on_the_size_of_tensors() -> None:
    """Small tensors share segments of 2 MiB, medium ones of 20 MiB, and large ones have their own segments."""
    assert reserved(1000.0) == 2 * MIB
    assert reserved(1000.0, 1000.0) == 2 * MIB
    assert reserved(1.5 * MIB, 9 * MIB) == 20 * MIB
    assert reserved(11 * MIB, 11 * MIB) == 24 * MIB


@given(st.lists(st.floats(512, 1e9), min_size=1, max_size=20))
def test_reserved_memory_holds_all_tensors(sizes: list[float]) -> None:
    """Segments hold all tensors and waste at most one segment per shared kind and 2 MiB per large tensor."""
    needed = sum(sizes)
    assert needed <= reserved(*sizes) * (1 + 1e-9)
    assert reserved(*sizes) <= needed + (2 + 20 + 2 * len(sizes)) * MIB


def test_counts_can_be_fractions() -> None:
    """A count of 0.5 takes half of a large tensor's segment."""
    column = np.array([[20 * MIB]])
    assert float(reserved_bytes(column, 0.5 * np.ones_like(column))[0]) == pytest.approx(10 * MIB)
