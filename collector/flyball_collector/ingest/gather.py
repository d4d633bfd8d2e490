"""Gathering: rows of blocks that are not stored yet, under one byte budget."""

import asyncio
from dataclasses import dataclass, field

from flyball_collector.blocks.block import BlockKey, RowGroup
from flyball_collector.ingest.pack import PACK_ROWS, PackedRows, pack, row_groups, squeezed, tick_bytes
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.ranges import RangeSet

_BLOCK_BYTES = 1000
_ROOMY = 4  # up to this part of the budget rows are not compressed: 2,048 hosts with 171 columns take a fifth of it
_NONE = RangeSet()


@dataclass(slots=True, eq=False)
class OpenBlock:
    """What has come of one block since it was last written."""

    key: BlockKey
    ticks: int
    home: dict[int, "OpenBlock"]  # the open blocks of its epoch
    born: float
    replay: bool
    received_ns: int
    held: tuple[tuple[PackedRows, ...], list[Tick]] = field(default_factory=lambda: ((), []))  # other threads see both
    lost: RangeSet = _NONE
    refused: RangeSet = _NONE
    size_bytes: int = _BLOCK_BYTES

    @property
    def packed(self) -> tuple[PackedRows, ...]:
        return self.held[0]

    @property
    def rows(self) -> list[Tick]:
        """Not packed yet."""
        return self.held[1]

    def groups(self) -> list[RowGroup]:
        """Its rows, for building and reading."""
        packed, rows = self.held
        return row_groups(packed, tuple(rows))

    def layouts(self) -> dict[int, KnownLayout]:
        """The layouts of its rows by digest."""
        known = {rows.layout.digest: rows.layout for rows in self.packed}
        return known | {row.layout.digest: row.layout for row in self.rows}

    def refuse_rows(self) -> None:
        """Let go of the rows, and say so."""
        packed = [int(sequence) for rows in self.packed for sequence in rows.stamps[:, 0]]
        self.refused |= RangeSet.of([*packed, *(row.sequence for row in self.rows)])
        self.held = ((), [])


class Gatherer:
    """Owns every open block; whoever writes takes blocks out, and says when they are done or gives them back."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._open: dict[OpenBlock, None] = {}
        self._ready: dict[OpenBlock, None] = {}
        self._flying: dict[OpenBlock, None] = {}
        self.size_bytes = 0
        self.wake = asyncio.Event()  # set when there is something to write

    @property
    def open_blocks(self) -> int:
        return len(self._open) + len(self._flying)

    @property
    def ready_blocks(self) -> int:
        return len(self._ready)

    @property
    def over_budget(self) -> bool:
        return self.size_bytes > self._budget_bytes

    @property
    def pressed(self) -> bool:
        """Three quarters full: no time to ask for more."""
        return self.size_bytes > self._budget_bytes * 3 // 4

    def open(self, block: OpenBlock) -> None:
        """A block begins."""
        block.home[block.key.number] = block
        self._open[block] = None
        self.size_bytes += block.size_bytes

    def add(self, block: OpenBlock, tick: Tick) -> None:
        """Hold a row."""
        rows = block.held[1]
        rows.append(tick)
        block.received_ns = tick.received_ns
        self._grow(block, tick_bytes(tick))
        if len(rows) >= PACK_ROWS:
            loose = sum(map(tick_bytes, rows))
            packed = pack(rows, small=self._is_scarce)
            block.held = ((*block.packed, *packed), [])
            self._grow(block, sum(rows.size_bytes for rows in packed) - loose)

    def add_rows(self, block: OpenBlock, rows: PackedRows) -> None:
        """Hold rows that came together."""
        held = squeezed(rows) if self._is_scarce else rows
        block.held = ((*block.packed, held), block.rows)
        block.received_ns = int(rows.stamps[-1, 4])
        self._grow(block, held.size_bytes)

    @property
    def _is_scarce(self) -> bool:
        return self.size_bytes > self._budget_bytes // _ROOMY

    def ready(self, block: OpenBlock) -> None:
        """The block is to be written."""
        self._ready[block] = None
        self.wake.set()

    def take(self, most: int) -> list[OpenBlock]:
        """Take blocks out for writing, oldest request first."""
        taken = list(self._ready)[:most]
        for block in taken:
            self._flying[block] = None  # first: another thread must find it in one of both
            self._detach(block)
        return taken

    def done(self, block: OpenBlock) -> None:
        """The block is written, or given up."""
        del self._flying[block]
        self.size_bytes -= block.size_bytes

    def give_back(self, block: OpenBlock) -> None:
        """The block could not be written; more of it may have come meanwhile."""
        newer = block.home.get(block.key.number)
        if newer is None:
            block.home[block.key.number] = block
            self._open[block] = None
            self._ready[block] = None
            del self._flying[block]
            return
        del self._flying[block]
        newer.held = (block.packed + newer.packed, block.rows + newer.rows)
        newer.lost |= block.lost
        newer.refused |= block.refused
        newer.received_ns = max(newer.received_ns, block.received_ns)
        self._grow(newer, block.size_bytes)
        self.size_bytes -= block.size_bytes
        self._ready[newer] = None

    def shed(self) -> list[BlockKey]:
        """Over budget: let go of rows, of replay first, the oldest first; their keys."""
        dropped = []
        for block in sorted(self._open, key=lambda b: (not b.replay, b.born)):
            if self.size_bytes <= self._budget_bytes * 9 // 10:
                break
            if block.rows or block.packed:
                dropped.append(block.key)
                self._empty(block)
        return dropped

    def forget(self, block: OpenBlock) -> None:
        """Nobody wants this block any more."""
        self._detach(block)
        self.size_bytes -= block.size_bytes

    def of_host(self, host: str) -> list[OpenBlock]:
        """Every block of a host that is not known to be stored; callable from any thread."""
        blocks = dict.fromkeys((*tuple(self._open), *tuple(self._flying)))
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
        """Losses and refusals stay: they are small, and nobody repeats them."""
        if not (block.lost or block.refused):
            self.forget(block)
            return
        self._grow(block, _BLOCK_BYTES - block.size_bytes)
        block.held = ((), [])
        self._ready.pop(block, None)
