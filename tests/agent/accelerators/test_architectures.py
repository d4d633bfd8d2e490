"""Tests of the number formats of GPU architectures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.accelerators.architectures import architecture


@pytest.mark.parametrize(
    ("capability", "name", "has", "lacks"),
    [
        ((7, 0), "volta", "fp16", "bf16"),
        ((7, 5), "turing", "int8", "bf16"),
        ((8, 0), "ampere", "bf16", "fp8"),
        ((8, 6), "ampere", "tf32", "fp8"),
        ((8, 9), "ada", "fp8", "fp4"),
        ((9, 0), "hopper", "fp8", "fp4"),
        ((12, 0), "blackwell", "fp4", "fp64"),
    ],
)
def test_precisions_follow_the_capability(capability: tuple[int, int], name: str, has: str, lacks: str) -> None:
    """Each generation has its precisions."""
    found = architecture(capability)
    assert found.name == name
    assert has in found.precisions
    assert lacks not in found.precisions


@given(st.tuples(st.integers(8, 20), st.integers(0, 9)), st.tuples(st.integers(8, 20), st.integers(0, 9)))
def test_later_capabilities_lose_no_precision(one: tuple[int, int], other: tuple[int, int]) -> None:
    """From Ampere on, a higher capability supports every precision of a lower one."""
    lower, higher = sorted((one, other))
    assert set(architecture(lower).precisions) <= set(architecture(higher).precisions)


def test_a_capability_before_all_known_ones_is_unknown() -> None:
    """A capability that is not in the table has no name and no precisions."""
    assert architecture((2, 0)).precisions == ()
