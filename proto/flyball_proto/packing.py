"""Packs the values of a record: scaled integers, and one validity bit each."""

import array
import sys
from collections.abc import Sequence

from flyball_proto.errors import WireError


def pack(values: Sequence[float | None], scales: Sequence[int]) -> tuple[bytes, bytes]:
    """Pack values into (values, validity). `None`, not-a-number and values that do not fit are unknown."""
    packed = array.array("q", bytes(8 * len(values)))
    unknown: list[int] = []
    for index, (value, scale) in enumerate(zip(values, scales, strict=True)):
        try:
            packed[index] = round(value * scale)  # type: ignore[operator]  # None is rare and caught below
        except (TypeError, ValueError, OverflowError):
            unknown.append(index)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes(), _validity(len(values), unknown) if unknown else b""


def unpack(values: bytes, validity: bytes, scales: Sequence[int]) -> list[float | None]:
    """Unpack values; the inverse of `pack`, up to the resolution given by `scales`."""
    if len(values) != 8 * len(scales):
        raise WireError(f"{len(values)} bytes of values for {len(scales)} columns of 8 bytes")
    if validity and len(validity) != (len(scales) + 7) // 8:
        raise WireError(f"{len(validity)} bytes of validity for {len(scales)} columns")
    packed = array.array("q", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return [
        (value if scale == 1 else value / scale) if not validity or validity[i >> 3] >> (i & 7) & 1 else None
        for i, (value, scale) in enumerate(zip(packed, scales, strict=True))
    ]


def _validity(count: int, unknown: Sequence[int]) -> bytes:
    bits = bytearray(b"\xff" * (count // 8) + (bytes([(1 << count % 8) - 1]) if count % 8 else b""))
    for index in unknown:
        bits[index >> 3] &= ~(1 << (index & 7))
    return bytes(bits)
