"""Encodes range sets as pairs of 32-bit numbers, relative to a block's first sequence."""

import struct

from flyball_proto.ranges import RangeSet


def pack_ranges(ranges: RangeSet, first: int) -> bytes:
    """Encode ranges. The empty set gives no bytes."""
    numbers = [number - first for part in ranges for number in part]
    return struct.pack(f"<{len(numbers)}I", *numbers)


def unpack_ranges(packed: bytes, first: int) -> RangeSet:
    """Decode what `pack_ranges` returned."""
    return RangeSet((first + start, first + end) for start, end in struct.iter_unpack("<II", packed))
