"""Open blocks of every epoch: begun, complete, stored, let go of and asked for again."""

from collections.abc import Mapping

from flyball_collector.blocks.block import BlockKey
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.gather import Gatherer, OpenBlock
from flyball_collector.ingest.source import OpenEpoch, Source
from flyball_proto.ranges import RangeSet


class OpenBlocks:
    """Keeps books and gatherer in step; called from the event loop only."""

    def __init__(self, sources: Mapping[str, Source], gatherer: Gatherer, counts: Counts, clock: Clock) -> None:
        self._sources = sources
        self._gatherer = gatherer
        self._counts = counts
        self._clock = clock
        self._rewinding: dict[OpenEpoch, None] = {}

    def of(self, epoch: OpenEpoch, number: int, *, replay: bool) -> OpenBlock:
        """The open block of that number, opened if need be."""
        block = epoch.blocks.get(number)
        if block is None:
            key = BlockKey(epoch.host, epoch.id, number)
            now, now_ns = self._clock.monotonic(), self._clock.time_ns()
            block = OpenBlock(key, epoch.book.ticks, epoch.blocks, now, replay, now_ns)
            self._gatherer.open(block)
        return block

    def check(self, epoch: OpenEpoch, block: OpenBlock) -> None:
        """Have it written if nothing more will come of it."""
        if epoch.book.complete(block.key.number):
            self._gatherer.ready(block)

    def write(self, epoch: OpenEpoch) -> None:
        """Have everything of an epoch written now, complete or not."""
        for block in list(epoch.blocks.values()):
            self._gatherer.ready(block)

    def stored(self, key: BlockKey, settled: RangeSet) -> None:
        """A block is durable: acknowledge what that settles."""
        source, epoch = self._of_key(key)
        if source is not None and epoch is not None and epoch.book.settle(settled) and source.stream is not None:
            source.stream.outbox.acknowledge(epoch.id, epoch.book.settled)

    def shed(self) -> None:
        """Too much is held: let go of the cheapest to get again."""
        for key in self._gatherer.shed():
            self._counts.blocks_dropped += 1
            _, epoch = self._of_key(key)
            lowest = epoch.book.release(key.number) if epoch is not None else None
            if epoch is None or lowest is None:
                continue
            epoch.rewind_from = lowest if epoch.rewind_from is None else min(lowest, epoch.rewind_from)
            self._rewinding[epoch] = None

    def rewind(self) -> None:
        """Ask again for what was let go, each epoch once: whoever has no stream is asked by its next welcome."""
        for epoch in list(self._rewinding):
            source = self._sources.get(epoch.host)
            if source is not None and source.stream is not None and epoch.rewind_from is not None:
                source.stream.outbox.rewind(epoch.id, epoch.rewind_from)
                self._counts.rewinds += 1
            epoch.rewind_from = None
        self._rewinding.clear()

    def forget(self, epoch: OpenEpoch) -> None:
        """Nobody wants what was not stored of it yet."""
        self._rewinding.pop(epoch, None)
        for block in list(epoch.blocks.values()):
            self._gatherer.forget(block)

    def _of_key(self, key: BlockKey) -> tuple[Source | None, OpenEpoch | None]:
        source = self._sources.get(key.host)
        return source, source.epochs.get(key.epoch) if source is not None else None
