"""Intake: what every message of every agent does to books, blocks and fleet. No waiting, no wires."""

import msgspec
import structlog

from flyball_collector.fleet.fleet import Fleet, FleetFull
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.definitions import DOCUMENT_KINDS, Definitions, PutDocument
from flyball_collector.ingest.gather import Gatherer
from flyball_collector.ingest.grants import ReplayQueue
from flyball_collector.ingest.hello import Greeting, Spooled
from flyball_collector.ingest.known_host import KnownHost
from flyball_collector.ingest.limits import HourlyQuota, TokenBucket
from flyball_collector.ingest.open_blocks import OpenBlocks
from flyball_collector.ingest.quarantine import Quarantine
from flyball_collector.ingest.records import RecordTaker
from flyball_collector.ingest.rejection import Malformed, Rejection
from flyball_collector.ingest.settle import EpochBook
from flyball_collector.ingest.source import AHEAD, OpenEpoch, Source
from flyball_collector.ingest.stream import Stream
from flyball_collector.settings import CollectorSettings
from flyball_collector.tick import KnownLayout
from flyball_collector.wire.status import StatusCode
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

log = structlog.get_logger()

_INVENTORY_BYTES = 256 * 1024


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
        self.definitions = Definitions(limits, put_document)
        self._quarantine = Quarantine(put_document)
        self.blocks = OpenBlocks(self.sources, gatherer, counts, clock)
        self.records = RecordTaker(
            limits, fleet, gatherer, self.blocks, self.grants, self._quarantine, counts, clock, self._grant
        )
        self._store_up = False  # until somebody has looked

    # --- streams come and go ---

    def attach(self, stream: Stream, greeting: Greeting) -> Source:
        """A stream speaks for a host from now on; an older one is superseded."""
        source = self._source(greeting.host)
        older = source.stream
        if older is not None and older is not stream:
            self._counts.superseded += 1
            self.grants.forget(greeting.host)  # what was granted went with the older one
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
            self.blocks.write(source.epochs.pop(gone))
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
        """Show it, and keep it."""
        body = inventory.SerializeToString(deterministic=True)
        if len(body) > _INVENTORY_BYTES:
            raise Rejection(
                StatusCode.INVALID_ARGUMENT, "inventory", f"inventory of {len(body)} bytes; at most {_INVENTORY_BYTES}"
            )
        if source.state.inventory != inventory:
            source.state.inventory = inventory
            self._put_document("inventory", source.state.name, body)

    def goodbye(self, source: Source) -> None:
        """An orderly end: the host is not lost."""
        source.state.said_goodbye = True
        self.write_open_blocks(source)

    def write_open_blocks(self, source: Source) -> None:
        """Have everything of a host written now, complete or not."""
        for epoch in source.epochs.values():
            self.blocks.write(epoch)

    # --- once in a while ---

    def tend(self, *, store_up: bool) -> None:
        """Once a second: silent hosts, grants, and asking again for what was let go."""
        now = self._clock.monotonic()
        silent = max(self._settings.not_reporting_after_seconds, 3 * self._settings.send_every_seconds)
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
        self._store_up = store_up
        self._grant()
        if self._has_room:
            self.blocks.rewind()

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
            self.blocks.forget(epoch)
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
                source.state.name, spooled.id, spooled.interval_ms, spooled.boot_id, clock, book, spooled.next + AHEAD
            )
            source.epochs[spooled.id] = epoch
        elif epoch.interval_ms != spooled.interval_ms:
            raise Rejection(StatusCode.INVALID_ARGUMENT, "hello", f"epoch {epoch.id.hex()} changed its interval")
        epoch.book.raise_floor(spooled.first)
        epoch.horizon = max(epoch.horizon, spooled.next + AHEAD)
        epoch.rewind_from = None  # the agent sends everything above the welcome's prefix anyway
        if spooled.ended:
            epoch.book.end(spooled.next)
        for block in list(epoch.blocks.values()):
            self.blocks.check(epoch, block)
        return epoch

    @property
    def _has_room(self) -> bool:
        return self._store_up and not self._gatherer.pressed

    def _grant(self) -> None:
        if not self._has_room:
            return
        for host, count in self.grants.due(self._clock.monotonic()):
            source = self.sources.get(host)
            if source is not None and source.stream is not None:
                source.stream.outbox.grant(count)
