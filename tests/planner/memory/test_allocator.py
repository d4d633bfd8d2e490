"""How a caching allocator rounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.memory.allocator import reserved_bytes
from flyball_planner.memory.constants import MIB


def reserved(*sizes: float) -> float:
    """Segments for one tensor of each size."""
    column = np.array([[size] for size in sizes])
    return float(reserved_bytes(column, np.ones_like(column))[0])


def test_segments_follow_the_tensors_size() -> None:
    """Small tensors share 2 MiB, middle ones 20 MiB, large ones have their own."""
    assert reserved(1000.0) == 2 * MIB
    assert reserved(1000.0, 1000.0) == 2 * MIB
    assert reserved(1.5 * MIB, 9 * MIB) == 20 * MIB
    assert reserved(11 * MIB, 11 * MIB) == 24 * MIB


@given(st.lists(st.floats(512, 1e9), min_size=1, max_size=20))
def test_no_less_is_reserved_than_needed(sizes: list[float]) -> None:
    """Segments hold all tensors, and waste at most one segment of each shared kind and a step a large tensor."""
    needed = sum(sizes)
    assert needed <= reserved(*sizes) * (1 + 1e-9)
    assert reserved(*sizes) <= needed + (2 + 20 + 2 * len(sizes)) * MIB


def test_parts_of_tensors_can_be_asked_for() -> None:
    """A count of a half takes half a large tensor's segment."""
    column = np.array([[20 * MIB]])
    assert float(reserved_bytes(column, 0.5 * np.ones_like(column))[0]) == pytest.approx(10 * MIB)
