"""Range sets as bytes: pairs of 32-bit numbers, relative to a block's first sequence."""

import struct

from flyball_proto.ranges import RangeSet


def pack_ranges(ranges: RangeSet, first: int) -> bytes:
    """Ranges as bytes; the empty set takes none."""
    numbers = [number - first for part in ranges for number in part]
    return struct.pack(f"<{len(numbers)}I", *numbers)


def unpack_ranges(packed: bytes, first: int) -> RangeSet:
    """The inverse of `pack_ranges`."""
    return RangeSet((first + start, first + end) for start, end in struct.iter_unpack("<II", packed))
