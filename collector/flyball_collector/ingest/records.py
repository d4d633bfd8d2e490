"""Takes records: checks each, adds it to its block, and shows the newest of each host. The hot path of ingest."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from flyball_collector.fleet.adjustment_outcomes import add_outcomes_of
from flyball_collector.fleet.events import add_events_of
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.ingest.agent_stream import AgentStream
from flyball_collector.ingest.block_buffer import BlockBuffer
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.open_blocks import OpenBlocks
from flyball_collector.ingest.quarantine import Quarantine
from flyball_collector.ingest.record_batch import read_batch
from flyball_collector.ingest.rejection import Malformed, Rejection
from flyball_collector.ingest.replay_queue import ReplayQueue
from flyball_collector.ingest.source import AHEAD, OpenEpoch, Source
from flyball_collector.settings import LimitSettings
from flyball_collector.tick import Tick
from flyball_collector.wire.status import StatusCode
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

BATCH_RECORDS = 128
"""Replayed records of one layout that are handled before the event loop may continue: about a millisecond."""

SLICE_RECORDS = 16
"""The same number for records that are handled one by one."""

_LATEST_SEQUENCE = 1 << 63
_LOST_BLOCKS = 20_000  # in one message: two weeks of minutes
_REPLAY_SLACK_BYTES = 64 * 1024  # one record may exceed the grant


TakeOutcomes = Callable[[str, pb.Record], None]
"""Takes the outcomes of adjustments in a host's record. It may come twice after a restart."""


def ignore_outcomes(_host: str, _record: pb.Record) -> None:
    """Do nothing."""


class RecordHandler:
    """Handles the records of all streams. Only the event loop may call it."""

    def __init__(
        self,
        limits: LimitSettings,
        fleet: Fleet,
        buffer: BlockBuffer,
        blocks: OpenBlocks,
        grants: ReplayQueue,
        quarantine: Quarantine,
        counts: Counts,
        clock: Clock,
        grant: Callable[[], None],
        take_outcomes: TakeOutcomes,
    ) -> None:
        """Create the handler. `grant` assigns free replay slots."""
        self._limits = limits
        self._fleet = fleet
        self._buffer = buffer
        self._blocks = blocks
        self._grants = grants
        self._quarantine = quarantine
        self._counts = counts
        self._clock = clock
        self._grant = grant
        self._take_outcomes = take_outcomes

    def take(self, source: Source, stream: AgentStream, message: pb.Records, received_ns: int) -> None:
        """Take the live records of a message."""
        epoch, records = _epoch(source, message.epoch), message.records
        self._update_backlog(source, message.backlog_bytes)
        if not source.bucket.take(len(records), source.heard_at):
            self._counts.throttled_records += len(records)
            limit = self._limits.records_per_second
            remedy = "raise limits.records_per_second"
            raise Rejection(StatusCode.RESOURCE_EXHAUSTED, "rate", f"more than {limit} live records a second; {remedy}")
        self._take_all(source, stream, epoch, records, received_ns, replay=False)

    def replay(
        self, source: Source, stream: AgentStream, message: pb.Records, size: int, received_ns: int
    ) -> Iterator[None]:
        """Take replayed records in parts. The caller must stop when another stream has superseded this one."""
        epoch, records, limits = _epoch(source, message.epoch), message.records, self._limits
        self._update_backlog(source, message.backlog_bytes)
        limit = limits.replay_message_bytes + _REPLAY_SLACK_BYTES
        if size > limit or not self._grants.spend(source.state.name, size, source.heard_at):
            raise Rejection(StatusCode.RESOURCE_EXHAUSTED, "replay", f"{size} bytes of replay exceed the grant")
        for part in _parts(records, BATCH_RECORDS):
            if self._take_batch(source, stream, epoch, part, received_ns):
                yield
                continue
            for few in _parts(part, SLICE_RECORDS):
                self._take_all(source, stream, epoch, few, received_ns, replay=True)
                yield

    def take_lost(self, source: Source, message: pb.Lost) -> None:
        """Settle sequences that the agent declares lost."""
        epoch = _epoch(source, message.epoch)
        lost = RangeSet((part.first, part.next) for part in message.ranges)
        reach = sum(following // epoch.book.ticks - first // epoch.book.ticks + 1 for first, following in lost)
        if reach > _LOST_BLOCKS or any(following > epoch.horizon for _, following in lost):
            count = sum(following - first for first, following in lost)  # len() is limited to 63 bits
            raise Rejection(
                StatusCode.INVALID_ARGUMENT,
                "lost",
                f"{count} sequences of epoch {epoch.id.hex()} exceed what may be declared lost",
            )
        for first, following in lost:
            for number, ranges in epoch.book.declare(first, following):
                block = self._blocks.get_or_open(epoch, number, replay=True)
                block.lost |= ranges
                self._counts.lost_records += len(ranges)
                self._blocks.check(epoch, block)

    def _update_backlog(self, source: Source, backlog_bytes: int) -> None:
        """Queue or remove the host for replay by the size of its backlog."""
        state = source.state
        if backlog_bytes:
            self._grants.want(state.name)
        elif state.backlog_bytes:
            self._grants.leave(state.name)
        else:
            return
        state.backlog_bytes = backlog_bytes
        if self._grants.vacant:
            self._grant()  # at once, because a returning fleet waits for its slots

    def _take_all(
        self,
        source: Source,
        stream: AgentStream,
        epoch: OpenEpoch,
        records: Sequence[bytes],
        received_ns: int,
        *,
        replay: bool,
    ) -> None:
        read, epoch_id = stream.reader.read, epoch.id
        for raw in records:
            try:
                tick = read(raw, epoch_id, received_ns)
            except Malformed as error:
                self._refuse(stream, epoch, error, raw, received_ns)
                continue
            self._take(source, stream, epoch, tick, replay)
        if stream.outbox.overflowing:
            raise Rejection(StatusCode.RESOURCE_EXHAUSTED, "slow_reader", "the agent leaves refusals unread")
        if self._buffer.over_budget:
            self._blocks.shed()

    def _take_batch(
        self, source: Source, stream: AgentStream, epoch: OpenEpoch, records: Sequence[bytes], received_ns: int
    ) -> bool:
        """Take replayed records as a batch. Return False without taking any if they must be handled one by one."""
        batch = read_batch(records, stream.layouts, received_ns)
        if batch is None or batch.following > epoch.horizon or epoch.book.ended_before(batch.following - 1):
            return False
        if not epoch.book.take_all(batch.first, batch.following):
            return False
        batch.correct(partial(_corrected, source, epoch))
        self._counts.records += len(records)
        self._counts.replayed_records += len(records)
        for number, rows in batch.blocks(epoch.book.ticks):
            block = self._blocks.get_or_open(epoch, number, replay=True)
            self._buffer.add_rows(block, rows)
            self._blocks.check(epoch, block)
        for record in batch.event_records:
            self._take_events(source, record)
        if self._buffer.over_budget:
            self._blocks.shed()
        return True

    def _take(self, source: Source, stream: AgentStream, epoch: OpenEpoch, tick: Tick, replay: bool) -> None:
        sequence = tick.sequence
        book, counts = epoch.book, self._counts
        if sequence >= epoch.horizon or book.ended_before(sequence):
            error = Malformed("sequence", f"sequence {sequence} of epoch {epoch.id.hex()} is beyond what hello listed")
            self._refuse(stream, epoch, error, b"", tick.received_ns)
            return
        if not book.take(sequence):
            counts.duplicate_records += 1
            return
        _correct(source, epoch, tick)
        counts.records += 1
        counts.replayed_records += replay
        number = sequence // book.ticks
        block = epoch.blocks.get(number) or self._blocks.get_or_open(epoch, number, replay=replay)
        if not replay and epoch is source.current and sequence > epoch.newest:
            self._show(source, stream, epoch, tick)
        if tick.parsed_extras is not None:
            self._take_events(source, tick.parsed_extras)
            tick.parsed_extras = None
        self._buffer.add(block, tick)
        if book.complete(number):
            self._buffer.mark_ready(block)

    def _take_events(self, source: Source, record: pb.Record) -> None:
        """Keep the newest events of a host, and pass on outcomes of adjustments."""
        state = source.state
        state.events = add_events_of(state.events, record)
        if record.adjustments:
            state.outcomes = add_outcomes_of(state.outcomes, record)
            self._take_outcomes(state.name, record)

    def _show(self, source: Source, stream: AgentStream, epoch: OpenEpoch, tick: Tick) -> None:
        """Apply the newest record of a host to the fleet."""
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

    def _refuse(self, stream: AgentStream, epoch: OpenEpoch, error: Malformed, raw: bytes, received_ns: int) -> None:
        """Count a refused record, sample it and report it to the agent. Its sequence settles with its block."""
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
            block = self._blocks.get_or_open(epoch, number, replay=False)
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
            f"epoch {name[:16].hex()} was not in hello; send hello again",
        )
    return epoch


def _correct(source: Source, epoch: OpenEpoch, tick: Tick) -> None:
    """Set the tick's time on the collector's clock."""
    tick.corrected_ns = _corrected(source, epoch, tick.agent_ns, tick.boot_ns, tick.received_ns)


def _corrected(source: Source, epoch: OpenEpoch, agent_ns: int, boot_ns: int, received_ns: int) -> int:
    """Return the sample's time on the collector's clock. Without a clock offset it is the host's wall clock."""
    offset = epoch.clock.offset_ns
    if offset is not None:
        return min(boot_ns + offset, received_ns)
    return min(agent_ns - int((source.state.clock_skew_seconds or 0.0) * 1e9), received_ns)


def _parts(records: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    return (records[first : first + size] for first in range(0, len(records), size))
