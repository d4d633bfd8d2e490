"""One stream to a collector, from the hello to its end."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from grpc import aio

from flyball_agent.clock import HostClock
from flyball_agent.record import Definition
from flyball_agent.schedule import NANOSECONDS, due_ns, spread_ns
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.spool.format import SpooledRecord
from flyball_agent.spool.spool import Spool
from flyball_agent.uplink.backlog import Backlog
from flyball_agent.uplink.live_queue import LiveQueue
from flyball_proto import PROTOCOL_VERSION
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

if TYPE_CHECKING:
    from flyball_agent.spool.epoch_segments import EpochSummary

_log = structlog.get_logger(__name__)

EOF: Any = aio.EOF  # type: ignore[attr-defined]  # missing in the published stubs
WELCOME_SECONDS = 10.0
GOODBYE_SECONDS = 0.7
MAX_MESSAGE_BYTES = 256 * 1024
MAX_KNOWN_DEFINITIONS = 4096
MAX_HELLO_EPOCHS = 1000
"""Limit for the size of a hello after days of crashes. The epochs beyond it are named by the next stream."""


class StreamFailed(Exception):
    """The collector violated the protocol or refused the stream."""


class Captures(Protocol):
    """Takes orders for captures, and has results and states to send."""

    @property
    def ready(self) -> bool:
        """Return True if there is something to send."""

    def begin_stream(self, wake: Callable[[], None]) -> None:
        """Send to a new stream from now on."""

    def next_message(self) -> pb.Captured | None:
        """Return what to send next. It reads a file."""

    def take(self, order: pb.CaptureOrder) -> None:
        """Begin an order."""

    def take_next(self, message: pb.CaptureNext) -> None:
        """Go on with a result, or forget it."""


@dataclass(slots=True)
class AgentState:
    """The identity of the agent, and the state that outlives one stream."""

    host: str
    version: str
    spool: Spool
    clock: HostClock
    self_metrics: SelfMetrics
    inventory: pb.Inventory | None = None
    inventory_version: int = 0
    refused: dict[bytes, RangeSet] = field(default_factory=dict)
    captures: Captures | None = None


class UplinkStream:
    """The messages on one gRPC call."""

    def __init__(self, call: Any, agent: AgentState, stop: asyncio.Event) -> None:
        self._call = call
        self._agent = agent
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._epochs: Sequence[EpochSummary] = ()
        self._backlog = Backlog(())
        self._declared: dict[bytes, RangeSet] = {}
        self._missing: list[tuple[bytes, RangeSet]] = []
        self._known: set[int] = set()
        self._echo: tuple[int, int] | None = None
        self._inventory_sent = 0
        self._has_more_epochs = False
        self._unsettled: dict[bytes, int] = {}
        self._lost_seen = -1
        self._send_every_ns = NANOSECONDS
        self._max_message_bytes = MAX_MESSAGE_BYTES
        self._record_bytes = 0
        self._wake: asyncio.Future[None] | None = None
        self.live: LiveQueue | None = None
        self.welcome = asyncio.Event()

    async def run(self) -> None:
        """Send and receive until the stream ends, fails (AioRpcError, StreamFailed), or the agent stops."""
        await self._hello()
        await self._receive_welcome()
        async with asyncio.TaskGroup() as group:
            receiving = group.create_task(self._receive(), name="uplink-receive")
            sending = group.create_task(self._send(), name="uplink-send")
            receiving.add_done_callback(lambda _: sending.cancel())
            sending.add_done_callback(lambda _: receiving.cancel())

    def wake(self) -> None:
        """Check for something to send before the next live records."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # Start

    async def _hello(self) -> None:
        epochs = await asyncio.to_thread(self._agent.spool.epochs)
        self._has_more_epochs = len(epochs) > MAX_HELLO_EPOCHS
        self._epochs = [*epochs[: MAX_HELLO_EPOCHS - 1], epochs[-1]] if self._has_more_epochs else epochs
        self._unsettled = {each.epoch.id: each.next for each in self._epochs if each.ended}
        self._backlog = Backlog(each.epoch.id for each in self._epochs)
        hello = pb.Hello(host=self._agent.host, agent_version=self._agent.version, protocol=PROTOCOL_VERSION)
        for each in self._epochs:
            hello.epochs.add(epoch=each.epoch.to_message(), first=each.first, next=each.next, ended=each.ended)
        await self._write(pb.AgentMessage(hello=hello))

    async def _receive_welcome(self) -> None:
        try:
            async with asyncio.timeout(WELCOME_SECONDS):
                message = await self._call.read()
        except TimeoutError:
            raise StreamFailed(f"no welcome within {WELCOME_SECONDS:g} s") from None
        if not isinstance(message, pb.CollectorMessage) or not message.HasField("welcome"):
            if message is EOF:  # the reason is in the status
                code, details = await self._call.code(), await self._call.details()
                raise StreamFailed(f"refused: {code.name}: {details}")
            raise StreamFailed("the collector's first message is not a welcome")
        self._record_echo(message)
        welcome = message.welcome
        self._take_settings(welcome.settings)
        settled = {durable.epoch: durable.settled for durable in welcome.durable}
        self.welcome.set()
        if self._agent.captures is not None:
            self._agent.captures.begin_stream(self.wake)
        if self._epochs and not self._epochs[-1].ended:
            self.live = LiveQueue(self._epochs[-1].epoch.id)
        await asyncio.to_thread(self._begin_epochs, settled)
        await self._send_lost()

    def _begin_epochs(self, settled: dict[bytes, int]) -> None:
        for each in self._epochs:
            self._begin_epoch(each.epoch.id, settled.get(each.epoch.id, 0))

    def _begin_epoch(self, epoch: bytes, settled: int) -> None:
        """Forget what is settled, queue the rest for replay, and declare lost what neither side has."""
        spool = self._agent.spool
        spool.settle(epoch, settled)
        if settled >= self._unsettled.get(epoch, settled):
            self._unsettled.pop(epoch, None)
        refused = self._agent.refused.get(epoch, RangeSet())
        self._backlog.add(epoch, spool.held(epoch) - refused)
        self._missing.append((epoch, spool.missing(epoch) - refused))

    # Receiving

    async def _receive(self) -> None:
        while (message := await self._call.read()) is not EOF:
            self._record_echo(message)
            await self._take(message)
            if self._has_more_epochs and not self._unsettled:
                return  # the next stream names the epochs that this one had no room for
            self.wake()

    def _record_echo(self, message: pb.CollectorMessage) -> None:
        if message.sent_ns:
            self._echo = (message.sent_ns, self._agent.clock.boot_ns())

    async def _take(self, message: pb.CollectorMessage) -> None:
        """Handle a message. Kinds of a newer version are ignored."""
        match message.WhichOneof("kind"):
            case "acknowledgement":
                ack = message.acknowledgement
                self._backlog.settle(ack.epoch, ack.settled)
                if ack.settled >= self._unsettled.get(ack.epoch, ack.settled):
                    self._unsettled.pop(ack.epoch, None)
                await asyncio.to_thread(self._agent.spool.settle, ack.epoch, ack.settled)
            case "refused":
                self._take_refused(message.refused)
            case "rewind":
                await asyncio.to_thread(self._take_rewind, message.rewind.epoch, getattr(message.rewind, "from"))
            case "replay_grant":
                self._backlog.granted_bytes += message.replay_grant.bytes
            case "settings":
                self._take_settings(message.settings)
            case "capture" if self._agent.captures is not None:
                self._agent.captures.take(message.capture)
            case "capture_next" if self._agent.captures is not None:
                self._agent.captures.take_next(message.capture_next)

    def _take_refused(self, refused: pb.Refused) -> None:
        ranges = RangeSet((part.first, part.next) for part in refused.ranges)
        before = self._agent.refused.get(refused.epoch, RangeSet())
        self._agent.self_metrics.records_refused += len(ranges - before)
        if not before:
            _log.warning("records_refused", epoch=refused.epoch.hex(), reason=refused.reason)
        if refused.epoch in {each.epoch.id for each in self._epochs}:
            self._agent.refused[refused.epoch] = before | ranges
            self._backlog.remove(refused.epoch, ranges)

    def _take_rewind(self, epoch: bytes, first: int) -> None:
        spool = self._agent.spool
        held = spool.held(epoch)
        again = RangeSet(held.within(first, 2**63)) - self._agent.refused.get(epoch, RangeSet())
        self._backlog.add(epoch, again)
        self._missing.append((epoch, RangeSet(spool.missing(epoch).within(first, 2**63))))

    def _take_settings(self, settings: pb.AgentSettings) -> None:
        if settings.send_every_ms:
            self._send_every_ns = min(60_000, max(50, settings.send_every_ms)) * 1_000_000
        if settings.max_message_bytes:
            self._max_message_bytes = min(4 * 1024 * 1024, max(4096, settings.max_message_bytes))

    # Sending

    async def _send(self) -> None:
        """Send live records at this host's time within each period, and the granted backlog in between."""
        last_ns = self._agent.clock.boot_ns() - self._send_every_ns
        due = self._due_boot_ns(last_ns)
        while not self._stop.is_set():
            await self._send_changes()
            now = self._agent.clock.boot_ns()
            if now >= due:
                await self._send_live()
                last_ns = now
                due = self._due_boot_ns(last_ns)
            elif not await self._send_capture() and not await self._send_backlog():
                await self._sleep((due - now) / NANOSECONDS)
        await self._send_live()
        await self._write(pb.AgentMessage(goodbye=pb.Goodbye(reason="stopped")))
        await self._call.done_writing()
        await asyncio.wait([asyncio.ensure_future(self._call.code())], timeout=GOODBYE_SECONDS)

    def _due_boot_ns(self, last_ns: int) -> int:
        """Return when live records are due, on the boot clock.

        A jump of the wall clock moves it by less than one period.
        """
        clock, every = self._agent.clock, self._send_every_ns
        now = clock.boot_ns()
        return now + due_ns(clock.wall_ns(), now - last_ns, every, spread_ns(self._agent.host, every))

    async def _sleep(self, seconds: float) -> None:
        wake = self._wake = self._loop.create_future()
        handle = self._loop.call_later(max(0.0, seconds), self.wake)
        try:
            await wake
        finally:
            handle.cancel()
            self._wake = None

    async def _send_changes(self) -> None:
        if self._agent.inventory is not None and self._inventory_sent != self._agent.inventory_version:
            self._inventory_sent = self._agent.inventory_version
            await self._write(pb.AgentMessage(inventory=self._agent.inventory))
        if self._lost_seen != self._agent.spool.lost_version or self._missing:
            await self._send_lost()

    async def _send_lost(self) -> None:
        self._lost_seen = self._agent.spool.lost_version
        missing, self._missing = self._missing, []
        for epoch, ranges in missing:
            await self._declare(epoch, ranges, "the agent no longer has them")
        for epoch, lost in await asyncio.to_thread(self._all_lost):
            await self._declare(epoch, lost - self._declared.get(epoch, RangeSet()), "dropped or damaged in the spool")

    def _all_lost(self) -> list[tuple[bytes, RangeSet]]:
        losses = ((each.epoch.id, self._agent.spool.lost(each.epoch.id)) for each in self._epochs)
        return [(epoch, lost) for epoch, lost in losses if lost]

    async def _declare(self, epoch: bytes, ranges: RangeSet, reason: str) -> None:
        if not ranges:
            return
        self._declared[epoch] = self._declared.get(epoch, RangeSet()) | ranges
        self._backlog.remove(epoch, ranges)
        message = pb.Lost(epoch=epoch, reason=reason)
        for first, following in ranges:
            message.ranges.add(first=first, next=following)
        await self._write(pb.AgentMessage(lost=message))

    async def _send_live(self) -> None:
        live = self.live
        if live is None:
            return
        self._backlog.add(live.epoch, live.take_spilled())
        while ticks := live.take(self._max_message_bytes):
            for tick in ticks:
                await self._define(tick.definitions)
            self._record_bytes = len(ticks[-1].record)
            await self._write_records(live.epoch, [tick.record for tick in ticks], replay=False)
            if self._backlog.of(live.epoch):
                self._backlog.remove(live.epoch, RangeSet.of(tick.sequence for tick in ticks))

    async def _send_capture(self) -> bool:
        """Send the state of a capture or a part of its result, if the collector waits for one."""
        captures = self._agent.captures
        if captures is None or not captures.ready:
            return False
        captured = await asyncio.to_thread(captures.next_message)
        if captured is None:
            return False
        await self._write(pb.AgentMessage(captured=captured))
        return True

    async def _send_backlog(self) -> bool:
        """Send one message of the backlog, if there is any and it is granted."""
        if self._backlog.granted_bytes <= 0 or (oldest := self._backlog.next()) is None:
            return False
        epoch, first, following = oldest
        limit = min(self._backlog.granted_bytes, self._max_message_bytes)
        records, definitions = await asyncio.to_thread(self._fetch, epoch, first, following, limit)
        if not records:
            return True
        await self._define(definitions)
        await self._write_records(epoch, [each.record for each in records], replay=True)
        self._backlog.granted_bytes -= sum(len(each.record) for each in records)
        self._backlog.remove(epoch, RangeSet.of(each.sequence for each in records))
        return True

    def _fetch(
        self, epoch: bytes, first: int, following: int, limit: int
    ) -> tuple[list[SpooledRecord], list[Definition]]:
        """Read records and their definitions. Records that cannot be read, or lack a definition, are declared lost."""
        spool = self._agent.spool
        records = spool.read(epoch, first, following, limit)
        definitions: dict[int, Definition | None] = {}
        for digest in {digest for each in records for digest in each.needs} - self._known:
            definitions[digest] = spool.definition(epoch, digest)
        usable = [each for each in records if all(definitions.get(digest, True) for digest in each.needs)]
        end = records[-1].sequence + 1 if records else following
        unusable = RangeSet([(first, end)]) - RangeSet.of(each.sequence for each in usable)
        if unusable:
            self._backlog.remove(epoch, unusable)
            spool.declare_lost(epoch, unusable & spool.held(epoch) | (unusable & spool.missing(epoch)), "unreadable")
        return usable, [each for each in definitions.values() if each is not None]

    async def _define(self, definitions: Sequence[Definition]) -> None:
        for definition in definitions:
            if definition.digest not in self._known:
                if len(self._known) >= MAX_KNOWN_DEFINITIONS:
                    self._known.clear()
                self._known.add(definition.digest)
                await self._write(pb.AgentMessage(definition=definition.to_message()))

    async def _write_records(self, epoch: bytes, records: list[bytes], *, replay: bool) -> None:
        backlog_bytes = len(self._backlog) * self._record_bytes
        body = pb.Records(epoch=epoch, records=records, replay=replay, backlog_bytes=backlog_bytes)
        await self._write(pb.AgentMessage(records=body))

    async def _write(self, message: pb.AgentMessage) -> None:
        """Add the time and send a message. It waits while the collector does not accept more."""
        if self._echo is not None:
            sent_ns, received_ns = self._echo
            message.echo.collector_sent_ns = sent_ns
            message.echo.agent_received_boot_ns = received_ns
            self._echo = None
        message.sent_boot_ns = self._agent.clock.boot_ns()
        data = message.SerializeToString()
        self._agent.self_metrics.sent_bytes += len(data)
        try:
            await self._call.write(data)
        except asyncio.InvalidStateError:  # the call has ended meanwhile; the reason is in its status
            code, details = await self._call.code(), await self._call.details()
            raise StreamFailed(f"{code.name}: {details}") from None
