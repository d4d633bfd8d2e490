"""Intake: what every message of every agent does to books, blocks and fleet. No waiting, no wires."""

import msgspec
import structlog
from grpc import StatusCode

from flyball_collector.blocks.block import BlockKey
from flyball_collector.fleet.events import recall
from flyball_collector.fleet.fleet import Fleet, FleetFull
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.definitions import DOCUMENT_KINDS, Definitions, PutDocument
from flyball_collector.ingest.gather import Gatherer, OpenBlock
from flyball_collector.ingest.grants import ReplayQueue
from flyball_collector.ingest.hello import Greeting, Spooled
from flyball_collector.ingest.limits import HourlyQuota, TokenBucket
from flyball_collector.ingest.quarantine import Quarantine
from flyball_collector.ingest.rejection import Malformed, Rejection
from flyball_collector.ingest.settle import EpochBook
from flyball_collector.ingest.source import OpenEpoch, Source
from flyball_collector.ingest.stream import Stream
from flyball_collector.settings import CollectorSettings
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

log = structlog.get_logger()

_AHEAD = 1_000_000  # sequences: at 10 Hz more than a day; further ahead of what was announced is absurd
_LATEST_SEQUENCE = 1 << 63
_LOST_BLOCKS = 20_000  # of one message: two weeks of minutes
_INVENTORY_BYTES = 256 * 1024
_REPLAY_SLACK_BYTES = 64 * 1024  # one record may overshoot


class KnownHost(msgspec.Struct, frozen=True):
    """The body of a document of kind `host`: what a restarted collector should still know."""

    agent_version: str
    boot_id: str
    interval_ms: int
    last_seen_ns: int
    said_goodbye: bool


class Intake:
    """Everything that ingest knows; called from the event loop only."""

    def __init__(
        self,
        settings: CollectorSettings,
        fleet: Fleet,
        gatherer: Gatherer,
        counts: Counts,
        clock: Clock,
        put_document: PutDocument,
    ) -> None:
        limits = settings.limits
        self.sources: dict[str, Source] = {}
        self.grants = ReplayQueue(limits.replaying_hosts, 4 * limits.replay_message_bytes)
        self._settings = settings
        self._fleet = fleet
        self._gatherer = gatherer
        self._counts = counts
        self._clock = clock
        self._put_document = put_document
        self._definitions = Definitions(limits, put_document)
        self._quarantine = Quarantine(put_document)
        self._rewinding: dict[OpenEpoch, None] = {}

    # --- streams come and go ---

    def attach(self, stream: Stream, greeting: Greeting) -> Source:
        """A stream speaks for a host from now on; an older one is superseded."""
        source = self._source(greeting.host)
        older = source.stream
        if older is not None and older is not stream:
            self._counts.superseded += 1
            older.end(StatusCode.ABORTED, "superseded", f"superseded by a newer stream of host {greeting.host!r}")
        source.stream = stream
        source.heard = self._clock.monotonic()
        source.state.connected = True
        source.state.said_goodbye = False
        source.state.agent_version = greeting.agent_version
        return source

    def unknown_epochs(self, source: Source, greeting: Greeting) -> list[Spooled]:
        """Epochs of which the store must be asked."""
        return [spooled for spooled in greeting.epochs if spooled.id not in source.epochs]

    def greet(self, source: Source, greeting: Greeting, durable: dict[bytes, RangeSet | None]) -> pb.Welcome:
        """Open the epochs of a hello, forget those that it no longer names, and answer."""
        for gone in source.epochs.keys() - {spooled.id for spooled in greeting.epochs}:
            self._write_all(source.epochs.pop(gone))
        welcome = pb.Welcome()
        for spooled in greeting.epochs:
            epoch = self._open(source, spooled, durable.get(spooled.id))
            if durable.get(spooled.id, epoch.book) is not None:
                welcome.durable.add(epoch=epoch.id, settled=epoch.book.settled)
        current = source.epochs[greeting.epochs[-1].id]
        if source.becomes(current, self._clock.monotonic()):
            self._counts.duplicate_hosts += 1
            remedy = "two machines use this name; set `host` in one agent's settings"
            log.warning("duplicate_host", host=greeting.host, boot_id=current.boot_id, remedy=remedy)
        source.state.boot_id = current.boot_id
        source.state.interval_ms = current.interval_ms
        self.remember(source)
        return welcome

    def detach(self, stream: Stream) -> None:
        """The stream is over; what it brought is written, for nobody knows when the host returns."""
        source = self.sources.get(stream.host)
        if source is None or source.stream is not stream:
            return
        source.stream = None
        source.state.connected = False
        self.grants.forget(stream.host)
        self.write_open_blocks(source)
        self.remember(source)

    # --- messages ---

    def heard(self, source: Source, message: pb.AgentMessage, received_ns: int) -> None:
        """Every message tells something of the clocks."""
        source.heard = self._clock.monotonic()
        sent = message.sent_boot_ns
        if sent <= 0 or source.current is None:
            return
        clock = source.current.clock
        clock.one_way(sent, received_ns)
        if message.HasField("echo"):
            echo = message.echo
            clock.round_trip(echo.collector_sent_ns, echo.agent_received_boot_ns, sent, received_ns)

    def define(self, source: Source, stream: Stream, definition: pb.Definition) -> None:
        """Learn what a digest means; one that breaks a limit is not known, and records that name it are refused."""
        if not source.quota.allows(definition.digest, self._clock.monotonic()):
            raise Rejection(
                StatusCode.RESOURCE_EXHAUSTED,
                "definitions",
                f"more than {self._settings.limits.layouts} different definitions in an hour (limits.layouts)",
            )
        try:
            meaning = self._definitions.learn(definition)
        except Malformed as error:
            self._counts.refused_definitions += 1
            now, received_ns = self._clock.monotonic(), self._clock.time_ns()
            self._quarantine.sample(stream.host, b"", error.reason, str(error), definition.body, received_ns, now)
            return
        if meaning is not None:
            self._counts.definitions[DOCUMENT_KINDS[definition.kind]] += 1
        if isinstance(meaning, KnownLayout):
            stream.layouts[definition.digest] = meaning
        elif isinstance(meaning, pb.Tenancy):
            stream.tenancies[definition.digest] = meaning
        elif meaning is not None:
            stream.silences[definition.digest] = meaning

    def take_inventory(self, source: Source, inventory: pb.Inventory) -> None:
        """Show it, and keep it."""
        body = inventory.SerializeToString(deterministic=True)
        if len(body) > _INVENTORY_BYTES:
            raise Rejection(
                StatusCode.INVALID_ARGUMENT, "inventory", f"inventory of {len(body)} bytes; at most {_INVENTORY_BYTES}"
            )
        if source.state.inventory != inventory:
            source.state.inventory = inventory
            self._put_document("inventory", source.state.name, body)

    def take_records(self, source: Source, stream: Stream, message: pb.Records, size: int, received_ns: int) -> None:
        """The hot path: each record is checked, held for its block, and shown if it is the newest."""
        epoch = self._epoch(source, message.epoch)
        replay = message.replay
        self._admit(source, message, size)
        for raw in message.records:
            try:
                tick = stream.door.read(raw, epoch.id, received_ns)
            except Malformed as error:
                self._refuse(stream, epoch, error, raw, received_ns)
                continue
            self._take(source, stream, epoch, tick, replay)
        if stream.outbox.overflowing:
            raise Rejection(StatusCode.RESOURCE_EXHAUSTED, "slow_reader", "too many refusals wait to be read")
        if self._gatherer.over_budget:
            self._shed()

    def take_lost(self, source: Source, message: pb.Lost) -> None:
        """What nobody will ever see settles as if it had come."""
        epoch = self._epoch(source, message.epoch)
        lost = RangeSet((part.first, part.next) for part in message.ranges)
        reach = sum(following // epoch.book.ticks - first // epoch.book.ticks + 1 for first, following in lost)
        if reach > _LOST_BLOCKS or any(following > epoch.horizon for _, following in lost):
            raise Rejection(
                StatusCode.INVALID_ARGUMENT, "lost", f"{len(lost)} sequences of epoch {epoch.id.hex()} cannot be lost"
            )
        for first, following in lost:
            for number, ranges in epoch.book.declare(first, following):
                block = self._block(epoch, number, replay=True)
                block.lost |= ranges
                self._counts.lost_records += len(ranges)
                self._check_complete(epoch, block)

    def goodbye(self, source: Source) -> None:
        """An orderly end: the host is not lost."""
        source.state.said_goodbye = True
        self.write_open_blocks(source)

    # --- blocks ---

    def stored(self, key: BlockKey, settled: RangeSet) -> None:
        """A block is durable: acknowledge what that settles."""
        source = self.sources.get(key.host)
        epoch = source.epochs.get(key.epoch) if source is not None else None
        if source is None or epoch is None:
            return
        if epoch.book.settle(settled) and source.stream is not None:
            source.stream.outbox.acknowledge(epoch.id, epoch.book.settled)

    def write_open_blocks(self, source: Source) -> None:
        """Have everything of a host written now, complete or not."""
        for epoch in source.epochs.values():
            self._write_all(epoch)

    def tend(self, *, store_up: bool) -> None:
        """Once a second: silent hosts, grants, and asking again for what was let go."""
        now = self._clock.monotonic()
        silent = max(self._settings.silent_after_seconds, 3 * self._settings.send_every_seconds)
        for source in list(self.sources.values()):
            if self._fleet.get(source.state.name) is not source.state:
                self.forget(source.state.name)  # the fleet let go of it
                continue
            current = source.current
            silent_seconds = now - source.heard
            if current is not None and silent_seconds > silent and silent_seconds > 3 * current.interval_ms / 1000:
                self.write_open_blocks(source)
            if source.state.duplicate and now >= source.duplicate_until:
                source.state.duplicate = False
        if store_up and not self._gatherer.pressed:
            self._grant(now)
            self._rewind()

    def remember(self, source: Source) -> None:
        """Write down that the host exists."""
        state = source.state
        seen = self._clock.time_ns() - int((self._clock.monotonic() - source.heard) * 1e9)
        known = KnownHost(state.agent_version, state.boot_id, state.interval_ms, seen, state.said_goodbye)
        self._put_document("host", state.name, msgspec.json.encode(known))

    def remember_all(self) -> None:
        """Write down who is still there."""
        for source in self.sources.values():
            if source.stream is not None:
                self.remember(source)

    def forget(self, name: str) -> None:
        """A host is removed: its stream ends, and what was not stored yet goes."""
        source = self.sources.pop(name, None)
        if source is None:
            return
        if source.stream is not None:
            source.stream.end(StatusCode.ABORTED, "removed", f"host {name!r} was removed from the fleet")
        for epoch in source.epochs.values():
            self._rewinding.pop(epoch, None)
            for block in list(epoch.blocks.values()):
                self._gatherer.forget(block)
        self.grants.forget(name)

    # --- inside ---

    def _source(self, name: str) -> Source:
        source = self.sources.get(name)
        if source is None or self._fleet.get(name) is not source.state:
            try:
                state = self._fleet.ensure(name)
            except FleetFull as error:
                raise Rejection(StatusCode.RESOURCE_EXHAUSTED, "hosts", str(error)) from None
            limits, now = self._settings.limits, self._clock.monotonic()
            bucket = TokenBucket(limits.records_per_second, now)
            source = self.sources[name] = Source(state, bucket, HourlyQuota(limits.layouts, now))
        return source

    def _open(self, source: Source, spooled: Spooled, durable: RangeSet | None) -> OpenEpoch:
        epoch = source.epochs.get(spooled.id)
        if epoch is None:
            clock = source.clock(spooled.boot_id)
            book = EpochBook(spooled.ticks, spooled.first, durable)
            epoch = OpenEpoch(
                source.state.name, spooled.id, spooled.interval_ms, spooled.boot_id, clock, book, spooled.next + _AHEAD
            )
            source.epochs[spooled.id] = epoch
        elif epoch.interval_ms != spooled.interval_ms:
            raise Rejection(StatusCode.INVALID_ARGUMENT, "hello", f"epoch {epoch.id.hex()} changed its interval")
        epoch.book.raise_floor(spooled.first)
        epoch.horizon = max(epoch.horizon, spooled.next + _AHEAD)
        epoch.rewind_from = None  # the agent sends everything above the welcome's prefix anyway
        if spooled.ended:
            epoch.book.end(spooled.next)
        for block in list(epoch.blocks.values()):
            self._check_complete(epoch, block)
        return epoch

    def _epoch(self, source: Source, name: bytes) -> OpenEpoch:
        epoch = source.epochs.get(name)
        if epoch is None:
            raise Rejection(
                StatusCode.FAILED_PRECONDITION,
                "epoch",
                f"epoch {name[:16].hex()} was not named in hello; say hello again",
            )
        return epoch

    def _admit(self, source: Source, message: pb.Records, size: int) -> None:
        """Rates: live records by a bucket, replay by its grant."""
        limits, host, now = self._settings.limits, source.state.name, source.heard
        backlog_bytes = message.backlog_bytes
        if backlog_bytes:
            self.grants.want(host)
        elif source.state.backlog_bytes:
            self.grants.leave(host)
        source.state.backlog_bytes = backlog_bytes
        if not message.replay:
            if not source.bucket.take(len(message.records), now):
                self._counts.throttled_records += len(message.records)
                raise Rejection(
                    StatusCode.RESOURCE_EXHAUSTED,
                    "rate",
                    f"more than {limits.records_per_second} live records a second",
                )
            return
        if size > limits.replay_message_bytes + _REPLAY_SLACK_BYTES or not self.grants.spend(host, size, now):
            raise Rejection(
                StatusCode.RESOURCE_EXHAUSTED, "replay", f"{size} bytes of replay are more than was granted"
            )

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
        self._correct(source, epoch, tick)
        counts.records += 1
        counts.replayed_records += replay
        block = epoch.blocks.get(sequence // book.ticks) or self._block(epoch, sequence // book.ticks, replay=replay)
        if not replay and epoch is source.current and sequence > epoch.newest:
            self._show(source, stream, epoch, tick)
        if tick.told is not None:
            source.state.events = recall(source.state.events, tick.told)
            tick.told = None
        self._gatherer.add(block, tick)
        self._check_complete(epoch, block)

    def _correct(self, source: Source, epoch: OpenEpoch, tick: Tick) -> None:
        """Collector time of the sample; of an epoch whose boot nobody timed, by what the host's wall clock said."""
        offset = epoch.clock.offset_ns
        if offset is not None:
            corrected = tick.boot_ns + offset
        else:
            corrected = tick.agent_ns - int((source.state.clock_skew_seconds or 0.0) * 1e9)
        tick.corrected_ns = min(corrected, tick.received_ns)

    def _show(self, source: Source, stream: Stream, epoch: OpenEpoch, tick: Tick) -> None:
        """The newest word of a host goes to the fleet."""
        epoch.newest = tick.sequence
        epoch.horizon = max(epoch.horizon, tick.sequence + _AHEAD)
        tick.live = True
        self._fleet.apply(tick)
        state = source.state
        state.clock_skew_seconds = (tick.agent_ns - tick.corrected_ns) / 1e9
        self._counts.lags_seconds.append((tick.received_ns - tick.corrected_ns) / 1e9)
        if tick.silences != source.silences:
            source.silences = tick.silences
            state.silences = stream.silences.get(tick.silences, ())
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
            block = self._block(epoch, number, replay=False)
            block.refused |= ranges
            block.received_ns = max(block.received_ns, received_ns)
            stream.outbox.refuse(epoch.id, ranges, error.reason)
            self._check_complete(epoch, block)

    def _block(self, epoch: OpenEpoch, number: int, *, replay: bool) -> OpenBlock:
        """The open block of that number, opened if need be."""
        block = epoch.blocks.get(number)
        if block is None:
            key = BlockKey(epoch.host, epoch.id, number)
            now, now_ns = self._clock.monotonic(), self._clock.time_ns()
            block = OpenBlock(key, epoch.book.ticks, epoch.blocks, now, replay, now_ns)
            self._gatherer.open(block)
        return block

    def _check_complete(self, epoch: OpenEpoch, block: OpenBlock) -> None:
        if epoch.book.complete(block.key.number):
            self._gatherer.ready(block)

    def _write_all(self, epoch: OpenEpoch) -> None:
        for block in list(epoch.blocks.values()):
            self._gatherer.ready(block)

    def _shed(self) -> None:
        """Too much is held: let go of the cheapest to get again."""
        for key in self._gatherer.shed():
            self._counts.blocks_dropped += 1
            source = self.sources.get(key.host)
            epoch = source.epochs.get(key.epoch) if source is not None else None
            lowest = epoch.book.release(key.number) if epoch is not None else None
            if epoch is None or lowest is None:
                continue
            epoch.rewind_from = lowest if epoch.rewind_from is None else min(lowest, epoch.rewind_from)
            self._rewinding[epoch] = None

    def _grant(self, now: float) -> None:
        for host, count in self.grants.due(now):
            source = self.sources.get(host)
            if source is not None and source.stream is not None:
                source.stream.outbox.grant(count)

    def _rewind(self) -> None:
        """Each epoch once: whoever has no stream asks by its next welcome."""
        for epoch in list(self._rewinding):
            source = self.sources.get(epoch.host)
            if source is not None and source.stream is not None and epoch.rewind_from is not None:
                source.stream.outbox.rewind(epoch.id, epoch.rewind_from)
                self._counts.rewinds += 1
            epoch.rewind_from = None
        self._rewinding.clear()
