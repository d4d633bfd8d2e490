"""Tests of the packing of values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_proto.errors import WireError
from flyball_proto.packing import pack, unpack

_SCALES = st.sampled_from([1, 10, 100, 1000, 10_000])
_VALUES = st.one_of(st.none(), st.floats(-1e12, 1e12), st.integers(-(2**48), 2**48))


@given(st.lists(st.tuples(_VALUES, _SCALES), max_size=40))
def test_round_trip_keeps_values_to_their_resolution(cells: list[tuple[float | None, int]]) -> None:
    """Unpacked values differ by at most half a step of the scale, and `None` stays `None`."""
    values, scales = [value for value, _ in cells], [scale for _, scale in cells]
    unpacked = unpack(*pack(values, scales), scales)
    for before, after, scale in zip(values, unpacked, scales, strict=True):
        if before is None:
            assert after is None
        else:
            assert after == pytest.approx(before, rel=1e-12, abs=0.5 / scale)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 2**63, None])
def test_values_that_do_not_fit_are_unknown(value: float | None) -> None:
    """Not-a-number and values that do not fit into 64 bits are unknown, and other values are not affected."""
    values, validity = pack([1, value, 3], [1, 10, 1])
    assert unpack(values, validity, [1, 10, 1]) == [1, None, 3]


def test_known_values_need_no_validity_bits() -> None:
    """If all values are known, no validity bits are sent."""
    assert pack([1, 2.5], [1, 10])[1] == b""


@pytest.mark.parametrize(("values", "validity"), [(b"1234567", b""), (bytes(16), b"\xff\xff"), (bytes(24), b"")])
def test_wrong_sizes_are_rejected(values: bytes, validity: bytes) -> None:
    """A record whose size does not match its layout is an error."""
    with pytest.raises(WireError, match="columns"):
        unpack(values, validity, [1, 1])
