"""Records: each is checked, held for its block, and shown if it is the newest of its host. The hot path of ingest."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from flyball_collector.fleet.events import recall
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.gather import Gatherer
from flyball_collector.ingest.grants import ReplayQueue
from flyball_collector.ingest.open_blocks import OpenBlocks
from flyball_collector.ingest.quarantine import Quarantine
from flyball_collector.ingest.rejection import Malformed, Rejection
from flyball_collector.ingest.source import AHEAD, OpenEpoch, Source
from flyball_collector.ingest.stream import Stream
from flyball_collector.ingest.stretch import read_stretch
from flyball_collector.settings import LimitSettings
from flyball_collector.tick import Tick
from flyball_collector.wire.status import StatusCode
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

STRETCH_RECORDS = 128
"""Records of a replay between which the loop serves others, where they are alike: a millisecond."""

REPLAYED_AT_ONCE = 16
"""The same where they are not, and each is taken by itself."""

_LATEST_SEQUENCE = 1 << 63
_LOST_BLOCKS = 20_000  # of one message: two weeks of minutes
_REPLAY_SLACK_BYTES = 64 * 1024  # one record may overshoot


class RecordTaker:
    """Takes what streams bring; called from the event loop only."""

    def __init__(
        self,
        limits: LimitSettings,
        fleet: Fleet,
        gatherer: Gatherer,
        blocks: OpenBlocks,
        grants: ReplayQueue,
        quarantine: Quarantine,
        counts: Counts,
        clock: Clock,
        grant: Callable[[], None],
    ) -> None:
        """`grant` gives away the places that are free for replaying."""
        self._limits = limits
        self._fleet = fleet
        self._gatherer = gatherer
        self._blocks = blocks
        self._grants = grants
        self._quarantine = quarantine
        self._counts = counts
        self._clock = clock
        self._grant = grant

    def take(self, source: Source, stream: Stream, message: pb.Records, received_ns: int) -> None:
        """The live records of a message."""
        epoch, records = _epoch(source, message.epoch), message.records
        self._hear_backlog(source, message.backlog_bytes)
        if not source.bucket.take(len(records), source.heard):
            self._counts.throttled_records += len(records)
            limit = self._limits.records_per_second
            raise Rejection(StatusCode.RESOURCE_EXHAUSTED, "rate", f"more than {limit} live records a second")
        self._take_all(source, stream, epoch, records, received_ns, replay=False)

    def replay(
        self, source: Source, stream: Stream, message: pb.Records, size: int, received_ns: int
    ) -> Iterator[None]:
        """Those of a replay, in parts. Stop it once the stream is not the host's any more."""
        epoch, records, limits = _epoch(source, message.epoch), message.records, self._limits
        self._hear_backlog(source, message.backlog_bytes)
        most = limits.replay_message_bytes + _REPLAY_SLACK_BYTES
        if size > most or not self._grants.spend(source.state.name, size, source.heard):
            raise Rejection(
                StatusCode.RESOURCE_EXHAUSTED, "replay", f"{size} bytes of replay are more than was granted"
            )
        for part in _parts(records, STRETCH_RECORDS):
            if self._take_stretch(source, stream, epoch, part, received_ns):
                yield
                continue
            for few in _parts(part, REPLAYED_AT_ONCE):
                self._take_all(source, stream, epoch, few, received_ns, replay=True)
                yield

    def take_lost(self, source: Source, message: pb.Lost) -> None:
        """What nobody will ever see settles as if it had come."""
        epoch = _epoch(source, message.epoch)
        lost = RangeSet((part.first, part.next) for part in message.ranges)
        reach = sum(following // epoch.book.ticks - first // epoch.book.ticks + 1 for first, following in lost)
        if reach > _LOST_BLOCKS or any(following > epoch.horizon for _, following in lost):
            raise Rejection(
                StatusCode.INVALID_ARGUMENT, "lost", f"{len(lost)} sequences of epoch {epoch.id.hex()} cannot be lost"
            )
        for first, following in lost:
            for number, ranges in epoch.book.declare(first, following):
                block = self._blocks.of(epoch, number, replay=True)
                block.lost |= ranges
                self._counts.lost_records += len(ranges)
                self._blocks.check(epoch, block)

    def _hear_backlog(self, source: Source, backlog_bytes: int) -> None:
        """A host says how much it would replay."""
        state = source.state
        if backlog_bytes:
            self._grants.want(state.name)
        elif state.backlog_bytes:
            self._grants.leave(state.name)
        else:
            return
        state.backlog_bytes = backlog_bytes
        if self._grants.vacant:
            self._grant()  # now: a fleet that returns waits for its turns

    def _take_all(
        self,
        source: Source,
        stream: Stream,
        epoch: OpenEpoch,
        records: Sequence[bytes],
        received_ns: int,
        *,
        replay: bool,
    ) -> None:
        read, epoch_id = stream.door.read, epoch.id
        for raw in records:
            try:
                tick = read(raw, epoch_id, received_ns)
            except Malformed as error:
                self._refuse(stream, epoch, error, raw, received_ns)
                continue
            self._take(source, stream, epoch, tick, replay)
        if stream.outbox.overflowing:
            raise Rejection(StatusCode.RESOURCE_EXHAUSTED, "slow_reader", "too many refusals wait to be read")
        if self._gatherer.over_budget:
            self._blocks.shed()

    def _take_stretch(
        self, source: Source, stream: Stream, epoch: OpenEpoch, records: Sequence[bytes], received_ns: int
    ) -> bool:
        """Take replayed records together; false, and nothing is taken, where they must be looked at one by one."""
        stretch = read_stretch(records, stream.layouts, received_ns)
        if stretch is None or stretch.following > epoch.horizon or epoch.book.ended_before(stretch.following - 1):
            return False
        if not epoch.book.take_all(stretch.first, stretch.following):
            return False
        stretch.correct(partial(_corrected, source, epoch))
        self._counts.records += len(records)
        self._counts.replayed_records += len(records)
        for number, rows in stretch.blocks(epoch.book.ticks):
            block = self._blocks.of(epoch, number, replay=True)
            self._gatherer.add_rows(block, rows)
            self._blocks.check(epoch, block)
        for told in stretch.told:
            source.state.events = recall(source.state.events, told)
        if self._gatherer.over_budget:
            self._blocks.shed()
        return True

    def _take(self, source: Source, stream: Stream, epoch: OpenEpoch, tick: Tick, replay: bool) -> None:
        sequence = tick.sequence
        book, counts = epoch.book, self._counts
        if sequence >= epoch.horizon or book.ended_before(sequence):
            error = Malformed("sequence", f"sequence {sequence} of epoch {epoch.id.hex()} was not announced")
            self._refuse(stream, epoch, error, b"", tick.received_ns)
            return
        if not book.take(sequence):
            counts.duplicate_records += 1
            return
        _correct(source, epoch, tick)
        counts.records += 1
        counts.replayed_records += replay
        number = sequence // book.ticks
        block = epoch.blocks.get(number) or self._blocks.of(epoch, number, replay=replay)
        if not replay and epoch is source.current and sequence > epoch.newest:
            self._show(source, stream, epoch, tick)
        if tick.told is not None:
            source.state.events = recall(source.state.events, tick.told)
            tick.told = None
        self._gatherer.add(block, tick)
        if book.complete(number):
            self._gatherer.ready(block)

    def _show(self, source: Source, stream: Stream, epoch: OpenEpoch, tick: Tick) -> None:
        """The newest word of a host goes to the fleet."""
        epoch.newest = tick.sequence
        epoch.horizon = max(epoch.horizon, tick.sequence + AHEAD)
        tick.live = True
        self._fleet.apply(tick)
        state = source.state
        state.clock_skew_seconds = (tick.agent_ns - tick.corrected_ns) / 1e9
        self._counts.lags_seconds.append((tick.received_ns - tick.corrected_ns) / 1e9)
        if tick.unavailable != source.unavailable:
            source.unavailable = tick.unavailable
            state.unavailable = stream.unavailable.get(tick.unavailable, ())
        if tick.tenancy != source.tenancy:
            source.tenancy = tick.tenancy
            state.tenancy = stream.tenancies.get(tick.tenancy)

    def _refuse(self, stream: Stream, epoch: OpenEpoch, error: Malformed, raw: bytes, received_ns: int) -> None:
        """Count it, sample it, tell the agent; a refused sequence settles with its block."""
        self._counts.refused_records[error.reason] += 1
        now = self._clock.monotonic()
        self._quarantine.sample(epoch.host, epoch.id, error.reason, str(error), raw, received_ns, now)
        sequence = error.sequence
        if sequence is None:
            return
        if sequence >= epoch.horizon or epoch.book.ended_before(sequence):
            if sequence < _LATEST_SEQUENCE:
                stream.outbox.refuse(epoch.id, RangeSet.of([sequence]), error.reason)
            return
        for number, ranges in epoch.book.declare(sequence, sequence + 1):
            block = self._blocks.of(epoch, number, replay=False)
            block.refused |= ranges
            block.received_ns = max(block.received_ns, received_ns)
            stream.outbox.refuse(epoch.id, ranges, error.reason)
            self._blocks.check(epoch, block)


def _epoch(source: Source, name: bytes) -> OpenEpoch:
    epoch = source.epochs.get(name)
    if epoch is None:
        raise Rejection(
            StatusCode.FAILED_PRECONDITION,
            "epoch",
            f"epoch {name[:16].hex()} was not named in hello; say hello again",
        )
    return epoch


def _correct(source: Source, epoch: OpenEpoch, tick: Tick) -> None:
    """Collector time of the sample."""
    tick.corrected_ns = _corrected(source, epoch, tick.agent_ns, tick.boot_ns, tick.received_ns)


def _corrected(source: Source, epoch: OpenEpoch, agent_ns: int, boot_ns: int, received_ns: int) -> int:
    """Of an epoch whose boot nobody timed it is what the host's wall clock said."""
    offset = epoch.clock.offset_ns
    if offset is not None:
        return min(boot_ns + offset, received_ns)
    return min(agent_ns - int((source.state.clock_skew_seconds or 0.0) * 1e9), received_ns)


def _parts(records: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    return (records[first : first + size] for first in range(0, len(records), size))
