"""The life of open blocks: opened, complete, stored, or dropped and requested again."""

from collections.abc import Mapping

from flyball_collector.blocks.block import BlockKey
from flyball_collector.ingest.block_buffer import BlockBuffer, OpenBlock
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.source import OpenEpoch, Source
from flyball_proto.ranges import RangeSet


class OpenBlocks:
    """Keeps epoch books and the block buffer consistent. Only the event loop may call it."""

    def __init__(self, sources: Mapping[str, Source], buffer: BlockBuffer, counts: Counts, clock: Clock) -> None:
        self._sources = sources
        self._buffer = buffer
        self._counts = counts
        self._clock = clock
        self._rewinding: dict[OpenEpoch, None] = {}

    def get_or_open(self, epoch: OpenEpoch, number: int, *, replay: bool) -> OpenBlock:
        """Return the open block with that number. Open it if necessary."""
        block = epoch.blocks.get(number)
        if block is None:
            key = BlockKey(epoch.host, epoch.id, number)
            now, now_ns = self._clock.monotonic(), self._clock.time_ns()
            block = OpenBlock(key, epoch.book.ticks, epoch.blocks, now, replay, now_ns)
            self._buffer.open(block)
        return block

    def check(self, epoch: OpenEpoch, block: OpenBlock) -> None:
        """Queue the block for writing if it is complete."""
        if epoch.book.complete(block.key.number):
            self._buffer.mark_ready(block)

    def flush(self, epoch: OpenEpoch) -> None:
        """Queue all blocks of an epoch for writing, complete or not."""
        for block in list(epoch.blocks.values()):
            self._buffer.mark_ready(block)

    def stored(self, key: BlockKey, settled: RangeSet) -> None:
        """Note that a block is durable, and acknowledge the sequences that this settles."""
        source, epoch = self._owner_of(key)
        if source is not None and epoch is not None and epoch.book.settle(settled) and source.stream is not None:
            source.stream.outbox.acknowledge(epoch.id, epoch.book.settled)

    def shed(self) -> None:
        """Over budget, drop the rows that cost least to get again."""
        for key in self._buffer.shed():
            self._counts.blocks_dropped += 1
            _, epoch = self._owner_of(key)
            lowest = epoch.book.release(key.number) if epoch is not None else None
            if epoch is None or lowest is None:
                continue
            epoch.rewind_from = lowest if epoch.rewind_from is None else min(lowest, epoch.rewind_from)
            self._rewinding[epoch] = None

    def rewind(self) -> None:
        """Request dropped rows again, once an epoch. A host without a stream learns it from its next welcome."""
        for epoch in list(self._rewinding):
            source = self._sources.get(epoch.host)
            if source is not None and source.stream is not None and epoch.rewind_from is not None:
                source.stream.outbox.rewind(epoch.id, epoch.rewind_from)
                self._counts.rewinds += 1
            epoch.rewind_from = None
        self._rewinding.clear()

    def forget(self, epoch: OpenEpoch) -> None:
        """Drop the blocks of an epoch that are not stored yet."""
        self._rewinding.pop(epoch, None)
        for block in list(epoch.blocks.values()):
            self._buffer.discard(block)

    def _owner_of(self, key: BlockKey) -> tuple[Source | None, OpenEpoch | None]:
        source = self._sources.get(key.host)
        return source, source.epochs.get(key.epoch) if source is not None else None
