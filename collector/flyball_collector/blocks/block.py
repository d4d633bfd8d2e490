"""A block, and the rows inside it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flyball_proto.ranges import RangeSet

Integers = NDArray[np.int64]
Digests = NDArray[np.uint64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, order=True)
class BlockKey:
    """The key of a block, the same whichever collector writes it."""

    host: str
    epoch: bytes
    number: int


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Records of one layout, in rising sequence. Every array has one entry (or row) for each record."""

    layout: int
    sequences: Integers
    agent_ns: Integers
    boot_ns: Integers
    corrected_ns: Integers
    received_ns: Integers
    unavailable: Digests
    tenancy: Digests
    values: Integers  # record × column, scaled as the layout declares
    valid: Booleans  # record × column
    extras: dict[int, bytes] = field(default_factory=dict)  # sequence → Record with only steps, events and processes


@dataclass(frozen=True, slots=True)
class Block:
    """Sequences number·ticks … number·ticks + ticks - 1 of an epoch.

    A sequence is *settled* when it is in `present`, `lost` or `refused`.
    """

    key: BlockKey
    ticks: int
    present: RangeSet
    lost: RangeSet
    refused: RangeSet
    first_ns: int  # corrected time of the first and last row; without rows, the time of receipt
    last_ns: int
    received_ns: int  # newest receipt; expiry counts from here
    payload: bytes  # encoded rows
    summary: bytes  # encoded min, mean, max and count of each column: the minute series' points of this minute

    @property
    def settled(self) -> RangeSet:
        return self.present | self.lost | self.refused

    @property
    def complete(self) -> bool:
        first = self.key.number * self.ticks
        return self.settled.prefix_from(first) >= first + self.ticks
