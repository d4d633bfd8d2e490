"""Applies each agent message to epochs, blocks and the fleet. It does no I/O and never waits."""

import msgspec
import structlog

from flyball_collector.fleet.fleet import Fleet, FleetFull
from flyball_collector.ingest.agent_stream import AgentStream
from flyball_collector.ingest.block_buffer import BlockBuffer
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.definitions import DOCUMENT_KINDS, Definitions, PutDocument
from flyball_collector.ingest.epoch_book import EpochBook
from flyball_collector.ingest.hello import AgentHello, SpooledEpoch
from flyball_collector.ingest.known_host import KnownHost
from flyball_collector.ingest.limits import HourlyQuota, TokenBucket
from flyball_collector.ingest.open_blocks import OpenBlocks
from flyball_collector.ingest.quarantine import Quarantine
from flyball_collector.ingest.records import RecordHandler, TakeOutcomes, ignore_outcomes
from flyball_collector.ingest.rejection import Malformed, Rejection
from flyball_collector.ingest.replay_queue import ReplayQueue
from flyball_collector.ingest.source import AHEAD, OpenEpoch, Source
from flyball_collector.settings import CollectorSettings
from flyball_collector.tick import KnownLayout
from flyball_collector.wire.status import StatusCode
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

log = structlog.get_logger()

_INVENTORY_BYTES = 256 * 1024


class Intake:
    """The state of ingest. Only the event loop may call it."""

    def __init__(
        self,
        settings: CollectorSettings,
        fleet: Fleet,
        buffer: BlockBuffer,
        counts: Counts,
        clock: Clock,
        put_document: PutDocument,
        take_outcomes: TakeOutcomes = ignore_outcomes,
    ) -> None:
        limits = settings.limits
        self.sources: dict[str, Source] = {}
        self.grants = ReplayQueue(limits.replaying_hosts, 4 * limits.replay_message_bytes)
        self._settings = settings
        self._fleet = fleet
        self._buffer = buffer
        self._counts = counts
        self._clock = clock
        self._put_document = put_document
        self.definitions = Definitions(limits, put_document)
        self._quarantine = Quarantine(put_document)
        self.blocks = OpenBlocks(self.sources, buffer, counts, clock)
        self.records = RecordHandler(
            limits, fleet, buffer, self.blocks, self.grants, self._quarantine, counts, clock, self._grant, take_outcomes
        )
        self._store_up = False  # until the first check

    # --- streams ---

    def attach(self, stream: AgentStream, greeting: AgentHello) -> Source:
        """Make a stream the current one of its host. An older stream is superseded."""
        source = self._source(greeting.host)
        older = source.stream
        if older is not None and older is not stream:
            self._counts.superseded += 1
            self.grants.forget(greeting.host)  # the grant belonged to the older stream
            older.end(StatusCode.ABORTED, "superseded", f"superseded by a newer stream of host {greeting.host!r}")
        source.stream = stream
        source.heard_at = self._clock.monotonic()
        source.state.connected = True
        source.state.goodbye = False
        source.state.agent_version = greeting.agent_version
        return source

    def stream_of(self, host: str) -> AgentStream | None:
        """Return the current stream of a host."""
        source = self.sources.get(host)
        return source.stream if source is not None else None

    def version_of(self, host: str) -> str:
        """Return the version of a host's agent; empty if it is unknown."""
        source = self.sources.get(host)
        return source.state.agent_version if source is not None else ""

    def unknown_epochs(self, source: Source, greeting: AgentHello) -> list[SpooledEpoch]:
        """Return the epochs that must be looked up in the store."""
        return [spooled for spooled in greeting.epochs if spooled.id not in source.epochs]

    def greet(self, source: Source, greeting: AgentHello, durable: dict[bytes, RangeSet | None]) -> pb.Welcome:
        """Open the epochs of a hello, close those that it no longer lists, and return the welcome."""
        for gone in source.epochs.keys() - {spooled.id for spooled in greeting.epochs}:
            self.blocks.flush(source.epochs.pop(gone))
        welcome = pb.Welcome()
        for spooled in greeting.epochs:
            epoch = self._open(source, spooled, durable.get(spooled.id))
            if durable.get(spooled.id, epoch.book) is not None:
                welcome.durable.add(epoch=epoch.id, settled=epoch.book.settled)
        current = source.epochs[greeting.epochs[-1].id]
        if source.switch_to(current, self._clock.monotonic()):
            self._counts.duplicate_hosts += 1
            remedy = "two machines use this host name; set `host` in the settings of one agent"
            log.warning("duplicate_host", host=greeting.host, boot_id=current.boot_id, remedy=remedy)
        source.state.boot_id = current.boot_id
        source.state.interval_ms = current.interval_ms
        self.save_host(source)
        return welcome

    def detach(self, stream: AgentStream) -> None:
        """End a stream. Its open blocks are written, because the host may not return soon."""
        source = self.sources.get(stream.host)
        if source is None or source.stream is not stream:
            return
        source.stream = None
        source.state.connected = False
        self.grants.forget(stream.host)
        self.write_open_blocks(source)
        self.save_host(source)

    # --- messages ---

    def note_message(self, source: Source, message: pb.AgentMessage, received_ns: int) -> None:
        """Note that a message arrived, and use its timestamps for the clock offset."""
        source.heard_at = self._clock.monotonic()
        sent = message.sent_boot_ns
        if sent <= 0 or source.current is None:
            return
        clock = source.current.clock
        clock.one_way(sent, received_ns)
        if message.HasField("echo"):
            echo = message.echo
            clock.round_trip(echo.collector_sent_ns, echo.agent_received_boot_ns, sent, received_ns)

    def define(self, source: Source, stream: AgentStream, definition: pb.Definition) -> None:
        """Store a definition. One that exceeds a limit is ignored, and records that refer to it are refused."""
        if not source.quota.allows(definition.digest, self._clock.monotonic()):
            raise Rejection(
                StatusCode.RESOURCE_EXHAUSTED,
                "definitions",
                f"more than {self._settings.limits.layouts} different definitions in an hour; raise limits.layouts",
            )
        try:
            meaning = self.definitions.learn(definition)
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
            stream.unavailable[definition.digest] = meaning

    def take_inventory(self, source: Source, inventory: pb.Inventory) -> None:
        """Update the host's inventory and store it."""
        body = inventory.SerializeToString(deterministic=True)
        if len(body) > _INVENTORY_BYTES:
            raise Rejection(
                StatusCode.INVALID_ARGUMENT,
                "inventory",
                f"inventory of {len(body)} bytes; the limit is {_INVENTORY_BYTES}",
            )
        if source.state.inventory != inventory:
            source.state.inventory = inventory
            self._put_document("inventory", source.state.name, body)

    def goodbye(self, source: Source) -> None:
        """Note an orderly end, so that the host is not considered lost."""
        source.state.goodbye = True
        self.write_open_blocks(source)

    def write_open_blocks(self, source: Source) -> None:
        """Queue all open blocks of a host for writing, complete or not."""
        for epoch in source.epochs.values():
            self.blocks.flush(epoch)

    # --- once a second ---

    def every_second(self, *, store_up: bool) -> None:
        """Write blocks of hosts that do not report, send grants, and request dropped rows again."""
        now = self._clock.monotonic()
        limit = max(self._settings.not_reporting_after_seconds, 3 * self._settings.send_every_seconds)
        for source in list(self.sources.values()):
            if self._fleet.get(source.state.name) is not source.state:
                self.forget(source.state.name)  # the fleet has removed the host
                continue
            current = source.current
            seconds = now - source.heard_at
            if current is not None and seconds > limit and seconds > 3 * current.interval_ms / 1000:
                self.write_open_blocks(source)
            if source.state.duplicate and now >= source.duplicate_until:
                source.state.duplicate = False
        self._store_up = store_up
        self._grant()
        if self._has_room:
            self.blocks.rewind()

    def save_host(self, source: Source) -> None:
        """Store that the host exists."""
        state = source.state
        seen = self._clock.time_ns() - int((self._clock.monotonic() - source.heard_at) * 1e9)
        known = KnownHost(state.agent_version, state.boot_id, state.interval_ms, seen, state.goodbye)
        self._put_document("host", state.name, msgspec.json.encode(known))

    def save_all_hosts(self) -> None:
        """Store all connected hosts."""
        for source in self.sources.values():
            if source.stream is not None:
                self.save_host(source)

    def forget(self, name: str) -> None:
        """Remove a host: end its stream and drop the data that is not stored yet."""
        source = self.sources.pop(name, None)
        if source is None:
            return
        if source.stream is not None:
            source.stream.end(StatusCode.ABORTED, "removed", f"host {name!r} was removed from the fleet")
        for epoch in source.epochs.values():
            self.blocks.forget(epoch)
        self.grants.forget(name)

    # --- helpers ---

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

    def _open(self, source: Source, spooled: SpooledEpoch, durable: RangeSet | None) -> OpenEpoch:
        epoch = source.epochs.get(spooled.id)
        if epoch is None:
            clock = source.clock(spooled.boot_id)
            book = EpochBook(spooled.ticks, spooled.first, durable)
            epoch = OpenEpoch(
                source.state.name, spooled.id, spooled.interval_ms, spooled.boot_id, clock, book, spooled.next + AHEAD
            )
            source.epochs[spooled.id] = epoch
        elif epoch.interval_ms != spooled.interval_ms:
            raise Rejection(StatusCode.INVALID_ARGUMENT, "hello", f"epoch {epoch.id.hex()} changed its interval")
        epoch.book.raise_floor(spooled.first)
        epoch.horizon = max(epoch.horizon, spooled.next + AHEAD)
        epoch.rewind_from = None  # the agent sends everything above the settled prefix of the welcome
        if spooled.ended:
            epoch.book.end(spooled.next)
        for block in list(epoch.blocks.values()):
            self.blocks.check(epoch, block)
        return epoch

    @property
    def _has_room(self) -> bool:
        return self._store_up and not self._buffer.nearly_full

    def _grant(self) -> None:
        if not self._has_room:
            return
        for host, count in self.grants.due(self._clock.monotonic()):
            source = self.sources.get(host)
            if source is not None and source.stream is not None:
                source.stream.outbox.grant(count)
