"""Reads rows of open blocks, which may not be stored yet."""

from collections.abc import Iterable

import numpy as np

from flyball_collector.blocks.assembly import select
from flyball_collector.blocks.block import RowGroup
from flyball_collector.ingest.block_buffer import OpenBlock


def rows_between(blocks: Iterable[OpenBlock], start_ns: int, end_ns: int) -> list[RowGroup]:
    """Return the rows of the blocks within [start_ns, end_ns) of corrected time."""
    kept = (_between(group, start_ns, end_ns) for block in blocks for group in block.groups())
    return [group for group in kept if len(group.sequences)]


def _between(group: RowGroup, start_ns: int, end_ns: int) -> RowGroup:
    inside = (group.corrected_ns >= start_ns) & (group.corrected_ns < end_ns)
    if inside.all():
        return group
    return select(group, np.flatnonzero(inside))
