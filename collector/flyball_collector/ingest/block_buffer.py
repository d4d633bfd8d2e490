"""The buffer of blocks that are not stored yet, under one byte budget."""

import asyncio
from dataclasses import dataclass, field

from flyball_collector.blocks.block import BlockKey, RowGroup
from flyball_collector.ingest.packed_rows import PACK_ROWS, PackedRows, compress, pack, row_groups, tick_bytes
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.ranges import RangeSet

_BLOCK_BYTES = 1000
_ROOMY = 4  # share of the budget up to which rows stay uncompressed: 2,048 hosts with 171 columns use a fifth
_NONE = RangeSet()


@dataclass(slots=True, eq=False)
class OpenBlock:
    """Rows and ranges of one block that arrived since it was last written."""

    key: BlockKey
    ticks: int
    home: dict[int, "OpenBlock"]  # the open blocks of its epoch
    born: float
    replay: bool
    received_ns: int
    held: tuple[tuple[PackedRows, ...], list[Tick]] = field(default_factory=lambda: ((), []))  # swapped as one value
    lost: RangeSet = _NONE
    refused: RangeSet = _NONE
    size_bytes: int = _BLOCK_BYTES

    @property
    def packed(self) -> tuple[PackedRows, ...]:
        return self.held[0]

    @property
    def rows(self) -> list[Tick]:
        """Return the rows that are not packed yet."""
        return self.held[1]

    def groups(self) -> list[RowGroup]:
        """Return all rows, for building and reading."""
        packed, rows = self.held
        return row_groups(packed, tuple(rows))

    def layouts(self) -> dict[int, KnownLayout]:
        """Return the layouts of the rows by digest."""
        known = {rows.layout.digest: rows.layout for rows in self.packed}
        return known | {row.layout.digest: row.layout for row in self.rows}

    def refuse_rows(self) -> None:
        """Drop the rows and mark their sequences as refused."""
        packed = [int(sequence) for rows in self.packed for sequence in rows.stamps[:, 0]]
        self.refused |= RangeSet.of([*packed, *(row.sequence for row in self.rows)])
        self.held = ((), [])


class BlockBuffer:
    """Owns all open blocks. The writer takes blocks out, and then marks them as done or puts them back."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._open: dict[OpenBlock, None] = {}
        self._ready: dict[OpenBlock, None] = {}
        self._in_flight: dict[OpenBlock, None] = {}
        self.size_bytes = 0
        self.wake = asyncio.Event()  # set when a block is ready to be written

    @property
    def open_blocks(self) -> int:
        return len(self._open) + len(self._in_flight)

    @property
    def ready_blocks(self) -> int:
        return len(self._ready)

    @property
    def over_budget(self) -> bool:
        return self.size_bytes > self._budget_bytes

    @property
    def nearly_full(self) -> bool:
        """Return True above three quarters of the budget, when no data should be requested."""
        return self.size_bytes > self._budget_bytes * 3 // 4

    def open(self, block: OpenBlock) -> None:
        """Add a new block."""
        block.home[block.key.number] = block
        self._open[block] = None
        self.size_bytes += block.size_bytes

    def add(self, block: OpenBlock, tick: Tick) -> None:
        """Add a row to a block."""
        rows = block.held[1]
        rows.append(tick)
        block.received_ns = tick.received_ns
        self._grow(block, tick_bytes(tick))
        if len(rows) >= PACK_ROWS:
            unpacked = sum(map(tick_bytes, rows))
            packed = pack(rows, small=self._memory_is_scarce)
            block.held = ((*block.packed, *packed), [])
            self._grow(block, sum(rows.size_bytes for rows in packed) - unpacked)

    def add_rows(self, block: OpenBlock, rows: PackedRows) -> None:
        """Add rows that arrived together."""
        held = compress(rows) if self._memory_is_scarce else rows
        block.held = ((*block.packed, held), block.rows)
        block.received_ns = int(rows.stamps[-1, 4])
        self._grow(block, held.size_bytes)

    @property
    def _memory_is_scarce(self) -> bool:
        return self.size_bytes > self._budget_bytes // _ROOMY

    def mark_ready(self, block: OpenBlock) -> None:
        """Queue the block for writing."""
        self._ready[block] = None
        self.wake.set()

    def take(self, limit: int) -> list[OpenBlock]:
        """Take up to `limit` blocks out for writing, oldest request first."""
        blocks = list(self._ready)[:limit]
        for block in blocks:
            self._in_flight[block] = None  # before it is detached: other threads must find it in one of both
            self._detach(block)
        return blocks

    def done(self, block: OpenBlock) -> None:
        """Remove a block that was written or given up."""
        del self._in_flight[block]
        self.size_bytes -= block.size_bytes

    def put_back(self, block: OpenBlock) -> None:
        """Return a block that could not be written. More of it may have arrived meanwhile."""
        newer = block.home.get(block.key.number)
        if newer is None:
            block.home[block.key.number] = block
            self._open[block] = None
            self._ready[block] = None
            del self._in_flight[block]
            return
        del self._in_flight[block]
        newer.held = (block.packed + newer.packed, block.rows + newer.rows)
        newer.lost |= block.lost
        newer.refused |= block.refused
        newer.received_ns = max(newer.received_ns, block.received_ns)
        self._grow(newer, block.size_bytes)
        self.size_bytes -= block.size_bytes
        self._ready[newer] = None

    def shed(self) -> list[BlockKey]:
        """Over budget, drop rows of the oldest blocks, replayed ones first. Return the keys of these blocks."""
        dropped = []
        for block in sorted(self._open, key=lambda b: (not b.replay, b.born)):
            if self.size_bytes <= self._budget_bytes * 9 // 10:
                break
            if block.rows or block.packed:
                dropped.append(block.key)
                self._empty(block)
        return dropped

    def discard(self, block: OpenBlock) -> None:
        """Drop a block."""
        self._detach(block)
        self.size_bytes -= block.size_bytes

    def blocks_of(self, host: str) -> list[OpenBlock]:
        """Return every block of a host that may not be stored yet. Any thread may call this."""
        blocks = dict.fromkeys((*tuple(self._open), *tuple(self._in_flight)))
        return [block for block in blocks if block.key.host == host]

    def _grow(self, block: OpenBlock, count: int) -> None:
        block.size_bytes += count
        self.size_bytes += count

    def _detach(self, block: OpenBlock) -> None:
        del self._open[block]
        self._ready.pop(block, None)
        if block.home.get(block.key.number) is block:
            del block.home[block.key.number]

    def _empty(self, block: OpenBlock) -> None:
        """Drop the rows of a block. Keep its losses and refusals, which are small and are not sent again."""
        if not (block.lost or block.refused):
            self.discard(block)
            return
        self._grow(block, _BLOCK_BYTES - block.size_bytes)
        block.held = ((), [])
        self._ready.pop(block, None)
