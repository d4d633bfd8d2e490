"""The ingest server: streams of the agents, the writer towards the store, and a look around once a second."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import structlog

from flyball_collector.blocks.block import BlockKey, RowGroup
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.gather import Gatherer
from flyball_collector.ingest.hello import Spooled
from flyball_collector.ingest.intake import Intake
from flyball_collector.ingest.publish import Publisher
from flyball_collector.ingest.recent import rows_between
from flyball_collector.ingest.session import WRITE_SECONDS, Session
from flyball_collector.ingest.warm import Warmer
from flyball_collector.ingest.writer import BlockWriter
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.security.tokens import split_listen
from flyball_collector.settings import CollectorSettings
from flyball_collector.store.contract import Store, StoreError
from flyball_collector.wire.call import Call
from flyball_collector.wire.acceptor import Contexts
from flyball_collector.wire.events import Limits
from flyball_collector.wire.health import Health
from flyball_collector.wire.listening_sockets import open_listening_sockets
from flyball_collector.wire.server import Server
from flyball_collector.wire.status import StatusCode
from flyball_proto import PROTOCOL_VERSION
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

log = structlog.get_logger()

SERVICE = "flyball.v1.Telemetry"
_READERS = 4
_ASK_SECONDS = 7.0  # agents wait ten for their welcome
_REMEMBER_SECONDS = 600.0


class IngestServer:
    """Takes what agents send. `start`, then `stop`; both once."""

    def __init__(
        self,
        settings: CollectorSettings,
        fleet: Fleet,
        store: Store,
        metrics: OwnMetrics,
        clock: Clock,
        contexts: Contexts | None,
    ) -> None:
        self._settings = settings
        self._store = store
        self._metrics = metrics
        self._clock = clock
        self._secured = contexts is not None
        self.counts = Counts()
        self._welcome = _welcome(settings)
        self._publisher = Publisher(self.counts, metrics)
        self._gatherer = Gatherer(settings.limits.open_blocks_bytes)
        self._writer = BlockWriter(store, self._gatherer, self.counts, self._stored, settings.store.time_limit_seconds)
        self._intake = Intake(settings, fleet, self._gatherer, self.counts, clock, self._writer.put_document)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._sessions: set[Session] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False
        hours_ns = round(settings.forget_host_hours * 3600 * 1_000_000_000)
        self._warmer: Warmer | None = Warmer(store, fleet, clock, hours_ns, self._intake.definitions)
        self.warming = True
        self._warming: asyncio.Task[None] | None = None
        self._health = Health((SERVICE,))
        self._server = Server(
            {f"/{SERVICE}/Connect": self._connect, **self._health.handlers},
            Limits(settings.limits.message_bytes),
            max_streams=settings.limits.streams,
            max_age_seconds=settings.grpc.max_connection_age_seconds,
            contexts=contexts,
        )

    @property
    def store_up(self) -> bool:
        """Whether the last write succeeded; while false, nothing is acknowledged."""
        return self._writer.store_up

    @property
    def behind(self) -> bool:
        """Whether the past is being read, or a fleet has returned that has much to replay."""
        return self.warming or self._intake.grants.crowded

    @property
    def streams(self) -> int:
        return len(self._sessions)

    @property
    def open_bytes(self) -> int:
        """Memory of rows that are not stored yet."""
        return self._gatherer.size_bytes

    def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[RowGroup]:
        """Rows of a host that may not be stored yet, in corrected time; from any thread."""
        return rows_between(self._gatherer.of_host(host), start_ns, end_ns)

    def forget_host(self, name: str) -> None:
        """A host was removed: end its stream, drop what is not stored. On the event loop."""
        self._intake.forget(name)
        self._writer.drop_documents(name)

    async def start(self) -> int:
        """Listen and work; returns the port. OSError where it cannot open_listening_sockets."""
        address = self._settings.grpc.listen
        listeners = await asyncio.to_thread(open_listening_sockets, *split_listen(address))
        port = int(listeners[0].getsockname()[1])
        self._server.start(listeners)
        self._warming = asyncio.create_task(self._warm(), name="ingest-warm")
        self._spawn("ingest-writer", self._writer.run())
        self._spawn("ingest-tend", self._tend())
        log.info("ingest_listening", address=address, port=port, tls=self._secured)
        return port

    async def failed(self) -> None:
        """Returns, or raises, only when a part that must not end has ended."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def stop(self, grace: float) -> None:
        """Send agents away, write open blocks, let go."""
        self._stopping = True
        if self._warming is not None:
            self._warming.cancel()
        deadline = self._clock.monotonic() + grace
        self._health.stop_serving()
        for session in tuple(self._sessions):
            session.end(StatusCode.UNAVAILABLE, "stopping", "the collector stops; reconnect")
        await self._server.stop(min(grace, 1.0))
        for source in self._intake.sources.values():
            self._intake.write_open_blocks(source)
        self._writer.close()
        if self._tasks:
            await asyncio.wait([self._tasks[0]], timeout=max(0.1, deadline - self._clock.monotonic()))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if left := self._gatherer.open_blocks:
            log.warning("blocks_not_written", blocks=left, remedy="agents still have them and send them again")
        self._writer.shut_down()
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._publisher.publish()

    async def _warm(self) -> None:
        """Fill the fleet from the store, beside the live streams."""
        self._metrics.warming.set(1)
        try:
            if self._warmer is not None:
                await self._warmer.run()
        finally:
            self._warmer = None  # with the layouts that it read
            self.warming = False
            self._metrics.warming.set(0)

    async def _connect(self, call: Call) -> None:
        """Telemetry.Connect."""
        if self._stopping:
            call.abort(StatusCode.UNAVAILABLE, "the collector stops; reconnect")
        limit = self._settings.limits.streams
        if len(self._sessions) >= limit:
            self.counts.rejected_streams["streams"] += 1
            call.abort(StatusCode.RESOURCE_EXHAUSTED, f"{limit} streams are open (limits.streams)")
        session = Session(
            call,
            self._intake,
            self.counts,
            self._clock,
            self._durable,
            self._welcome,
            verified=self._secured,
        )
        self._sessions.add(session)
        try:
            await session.run()
        finally:
            self._sessions.discard(session)

    async def _durable(self, host: str, epochs: Sequence[Spooled]) -> dict[bytes, RangeSet | None]:
        """What the store knows of epochs that ingest does not; `None` where it could not say in time."""
        known: dict[bytes, RangeSet | None] = dict.fromkeys(spooled.id for spooled in epochs)
        if not known or not self._writer.store_up:
            return known  # a store that is down delays no welcome
        deadline = self._clock.monotonic() + _ASK_SECONDS

        def ask() -> None:
            for spooled in epochs:
                if self._clock.monotonic() >= deadline:
                    return
                known[spooled.id] = self._store.settled(host, spooled.id, spooled.first)

        try:
            await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(self._readers, ask), _ASK_SECONDS)
        except (StoreError, TimeoutError) as error:
            self.counts.store_failures += 1
            log.debug("store_not_asked", host=host, error=str(error))
        return dict(known)

    def _stored(self, key: BlockKey, settled: RangeSet) -> None:
        self._intake.blocks.stored(key, settled)

    async def _tend(self) -> None:
        """Once a second, without drift."""
        due = self._clock.monotonic()
        remember = due + _REMEMBER_SECONDS
        while True:
            due += 1.0
            await asyncio.sleep(max(0.0, due - self._clock.monotonic()))
            now = self._clock.monotonic()
            if now - due > 5.0:
                due = now  # suspended, or far behind: no burst
            self._intake.tend(store_up=self._writer.store_up)
            self._end_stuck(now)
            if now >= remember:
                remember = now + _REMEMBER_SECONDS
                self._intake.remember_all()
            self._publish()

    def _end_stuck(self, now: float) -> None:
        for session in tuple(self._sessions):
            if session.writing_since is not None and now - session.writing_since > WRITE_SECONDS:
                session.end(StatusCode.RESOURCE_EXHAUSTED, "slow_reader", "orders were not read for 30 s")

    def _publish(self) -> None:
        self.counts.rejected_streams["handshake"] = self._server.refused_handshakes
        self._publisher.publish()
        metrics = self._metrics
        metrics.streams.set(len(self._sessions))
        metrics.replaying_hosts.set(self._intake.grants.replaying)
        metrics.open_blocks.set(self._gatherer.open_blocks)
        metrics.open_blocks_bytes.set(self._gatherer.size_bytes)
        metrics.store_up.set(self._writer.store_up)

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work, name=name))


def _welcome(settings: CollectorSettings) -> pb.Welcome:
    """What every agent is told; made once, for finding the version reads files."""
    told = pb.AgentSettings(
        send_every_ms=round(settings.send_every_seconds * 1000),
        max_message_bytes=settings.limits.replay_message_bytes,
    )
    return pb.Welcome(protocol=PROTOCOL_VERSION, collector_version=version("flyball-fleet"), settings=told)
