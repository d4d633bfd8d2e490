"""The ingest server: the agents' streams, the writer to the store, and periodic work every second."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import structlog

from flyball_collector.adjustments.streams.adjust_streams import CONNECT, MESSAGE_BYTES, AdjustStreams
from flyball_collector.blocks.block import BlockKey, RowGroup
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.ingest.adjust_calls import AdjustCalls
from flyball_collector.ingest.block_buffer import BlockBuffer
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.hello import SpooledEpoch
from flyball_collector.ingest.intake import Intake
from flyball_collector.ingest.metrics_publisher import MetricsPublisher
from flyball_collector.ingest.open_rows import rows_between
from flyball_collector.ingest.records import ignore_outcomes
from flyball_collector.ingest.rejection import Rejection
from flyball_collector.ingest.session import WRITE_SECONDS, Captured, Session, refuse_captured
from flyball_collector.ingest.warm_up import WarmUp
from flyball_collector.ingest.writer import BlockWriter
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.security.tokens import split_listen
from flyball_collector.settings import CollectorSettings
from flyball_collector.store.contract import Store, StoreError
from flyball_collector.wire.acceptor import Contexts
from flyball_collector.wire.call import Call
from flyball_collector.wire.client_limits import ClientLimits
from flyball_collector.wire.events import Limits
from flyball_collector.wire.health import REQUEST_BYTES, HealthService
from flyball_collector.wire.listening_sockets import open_listening_sockets
from flyball_collector.wire.server import Server
from flyball_collector.wire.status import StatusCode
from flyball_proto import PROTOCOL_VERSION
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

log = structlog.get_logger()

SERVICE = "flyball.v1.Telemetry"
HELLO_BYTES = 512 * 1024  # of the first message of a stream: 4,096 epochs of some 100 bytes each
_READERS = 4
_SETTLED_SECONDS = 7.0  # agents wait ten seconds for their welcome
_SAVE_HOSTS_SECONDS = 600.0


class IngestServer:
    """Receives the agents' data. Call `start` and then `stop`, each once."""

    def __init__(
        self,
        settings: CollectorSettings,
        fleet: Fleet,
        store: Store,
        metrics: OwnMetrics,
        clock: Clock,
        contexts: Contexts | None,
        refused_agents: RefusedAgents | None = None,
        captured: Captured = refuse_captured,
        adjust: AdjustStreams | None = None,
    ) -> None:
        self._captured = captured
        self._adjust = adjust
        self._settings = settings
        self._store = store
        self._metrics = metrics
        self._clock = clock
        self._secured = contexts is not None
        self._refused_agents = refused_agents or RefusedAgents()
        self.counts = Counts()
        self._common_welcome = _common_welcome(settings)
        self._publisher = MetricsPublisher(self.counts, metrics)
        self._buffer = BlockBuffer(settings.limits.open_blocks_bytes)
        self._writer = BlockWriter(store, self._buffer, self.counts, self._stored, settings.store.time_limit_seconds)
        take_outcomes = ignore_outcomes if adjust is None else adjust.take_outcomes
        put = self._writer.put_document
        self._intake = Intake(settings, fleet, self._buffer, self.counts, clock, put, take_outcomes)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._sessions: set[Session] = set()
        self._admitted = 0  # sessions with a valid hello
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False
        hours_ns = round(settings.forget_host_hours * 3600 * 1_000_000_000)
        self._warm_up: WarmUp | None = WarmUp(store, fleet, clock, hours_ns, self._intake.definitions)
        self.warming = True
        self._warming: asyncio.Task[None] | None = None
        self._health = HealthService((SERVICE,))
        adjust_calls = AdjustCalls(adjust, self.counts, self._refused_agents, verified=self._secured)
        sizes = {**REQUEST_BYTES, CONNECT: MESSAGE_BYTES}
        self._server = Server(
            {f"/{SERVICE}/Connect": self._connect, CONNECT: adjust_calls.connect, **self._health.handlers},
            Limits(settings.limits.message_bytes, sizes, HELLO_BYTES),
            max_streams=settings.limits.streams,
            max_age_seconds=settings.grpc.max_connection_age_seconds,
            contexts=contexts,
            client_limits=ClientLimits(settings.limits.connections_per_name, settings.limits.connections_per_address),
            refused_agents=self._refused_agents,
        )

    @property
    def store_up(self) -> bool:
        """Return True if the last write succeeded. While False, nothing is acknowledged."""
        return self._writer.store_up

    @property
    def catching_up(self) -> bool:
        """Return True during warm-up, or while much of a returning fleet has a backlog to replay."""
        return self.warming or self._intake.grants.busy

    @property
    def streams(self) -> int:
        """Return the number of streams with a valid hello."""
        return self._admitted

    @property
    def listening(self) -> bool:
        """Return False if the listening thread ended by an error, so that no agent can connect."""
        return self._server.listening

    @property
    def open_bytes(self) -> int:
        """Return the bytes of rows that are not stored yet."""
        return self._buffer.size_bytes

    def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[RowGroup]:
        """Return a host's rows that may not be stored yet, by corrected time. Any thread may call this."""
        return rows_between(self._buffer.blocks_of(host), start_ns, end_ns)

    def forget_host(self, name: str) -> None:
        """End the stream of a removed host and drop its unstored data. Call it on the event loop."""
        self._intake.forget(name)
        if self._adjust is not None:
            self._adjust.remove(name)
        self._writer.drop_documents(name)

    def order_capture(self, host: str, order: pb.CaptureOrder) -> bool:
        """Send an order to a host's agent. Return False if it has no stream."""
        stream = self._intake.stream_of(host)
        if stream is None:
            return False
        stream.outbox.capture(order)
        return True

    def capture_next(self, host: str, message: pb.CaptureNext) -> None:
        """Answer an agent's part of a capture, if it has a stream."""
        if (stream := self._intake.stream_of(host)) is not None:
            stream.outbox.capture_next(message)

    def version_of(self, host: str) -> str:
        """Return the version of a host's agent; empty if it is unknown."""
        return self._intake.version_of(host)

    async def start(self) -> int:
        """Start listening and working. Return the port. Raises `OSError` if it cannot listen."""
        address = self._settings.grpc.listen
        listeners = await asyncio.to_thread(open_listening_sockets, *split_listen(address))
        port = int(listeners[0].getsockname()[1])
        self._server.start(listeners)
        self._warming = asyncio.create_task(self._warm(), name="ingest-warm")
        self._spawn("ingest-writer", self._writer.run())
        self._spawn("ingest-periodic", self._every_second())
        self._spawn("ingest-listening", self._server.failed())
        log.info("ingest_listening", address=address, port=port, tls=self._secured)
        return port

    async def failed(self) -> None:
        """Return, or raise, when a task that must not end has ended."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def stop(self, grace: float) -> None:
        """End all streams, write open blocks, and release resources."""
        self._stopping = True
        if self._warming is not None:
            self._warming.cancel()
        deadline = self._clock.monotonic() + grace
        self._health.stop_serving()
        for session in tuple(self._sessions):
            session.end(StatusCode.UNAVAILABLE, "stopping", "the collector is stopping; reconnect")
        if self._adjust is not None:
            self._adjust.stop()
        await self._server.stop(min(grace, 1.0))
        for source in self._intake.sources.values():
            self._intake.write_open_blocks(source)
        self._writer.close()
        if self._tasks:
            await asyncio.wait([self._tasks[0]], timeout=max(0.1, deadline - self._clock.monotonic()))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if left := self._buffer.open_blocks:
            log.warning("blocks_not_written", blocks=left, remedy="none needed: the agents will send them again")
        self._writer.shut_down()
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._publisher.publish()

    async def _warm(self) -> None:
        """Fill the fleet from the store while streams are served."""
        self._metrics.warming.set(1)
        try:
            if self._warm_up is not None:
                await self._warm_up.run()
        finally:
            self._warm_up = None  # it holds the layouts that it read
            self.warming = False
            self._metrics.warming.set(0)

    async def _connect(self, call: Call) -> None:
        """Serve Telemetry.Connect."""
        if self._stopping:
            call.abort(StatusCode.UNAVAILABLE, "the collector is stopping; reconnect")
        session = Session(
            call,
            self._intake,
            self.counts,
            self._clock,
            self._durable,
            self._common_welcome,
            verified=self._secured,
            admit=self._admit,
            refused_agents=self._refused_agents,
            captured=self._captured,
        )
        self._sessions.add(session)
        try:
            await session.run()
        finally:
            self._sessions.discard(session)
            self._admitted -= session.admitted

    def _admit(self) -> None:
        """Count a stream whose hello is valid. Without one, a stream takes no other agent's place."""
        limit = self._settings.limits.streams
        if self._admitted >= limit:
            reason = f"all {limit} streams are in use; raise limits.streams"
            raise Rejection(StatusCode.RESOURCE_EXHAUSTED, "streams", reason)
        self._admitted += 1

    async def _durable(self, host: str, epochs: Sequence[SpooledEpoch]) -> dict[bytes, RangeSet | None]:
        """Return the durable sequences of epochs from the store; `None` where it did not answer in time."""
        known: dict[bytes, RangeSet | None] = dict.fromkeys(spooled.id for spooled in epochs)
        if not known or not self._writer.store_up:
            return known  # a store that is down must not delay a welcome
        deadline = self._clock.monotonic() + _SETTLED_SECONDS

        def ask() -> None:
            for spooled in epochs:
                if self._clock.monotonic() >= deadline:
                    return
                known[spooled.id] = self._store.settled(host, spooled.id, spooled.first)

        try:
            await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(self._readers, ask), _SETTLED_SECONDS)
        except (StoreError, TimeoutError) as error:
            self.counts.store_failures += 1
            log.debug("store_query_failed", host=host, error=str(error))
        return dict(known)

    def _stored(self, key: BlockKey, settled: RangeSet) -> None:
        self._intake.blocks.stored(key, settled)

    async def _every_second(self) -> None:
        """Do the periodic work every second, without drift."""
        due = self._clock.monotonic()
        save_hosts_at = due + _SAVE_HOSTS_SECONDS
        while True:
            due += 1.0
            await asyncio.sleep(max(0.0, due - self._clock.monotonic()))
            now = self._clock.monotonic()
            if now - due > 5.0:
                due = now  # suspended or far behind: no burst
            self._intake.every_second(store_up=self._writer.store_up)
            self._end_stuck(now)
            if now >= save_hosts_at:
                save_hosts_at = now + _SAVE_HOSTS_SECONDS
                self._intake.save_all_hosts()
            self._publish()

    def _end_stuck(self, now: float) -> None:
        for session in tuple(self._sessions):
            if session.writing_since is not None and now - session.writing_since > WRITE_SECONDS:
                session.end(StatusCode.RESOURCE_EXHAUSTED, "slow_reader", "the agent left messages unread for 30 s")

    def _publish(self) -> None:
        self.counts.rejected_streams["handshake"] = self._server.refused_handshakes
        self.counts.rejected_streams["connections"] = self._server.refused_connections
        self._publisher.publish()
        metrics = self._metrics
        metrics.streams.set(self._admitted)
        metrics.replaying_hosts.set(self._intake.grants.replaying)
        metrics.open_blocks.set(self._buffer.open_blocks)
        metrics.open_blocks_bytes.set(self._buffer.size_bytes)
        metrics.store_up.set(self._writer.store_up)

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work, name=name))


def _common_welcome(settings: CollectorSettings) -> pb.Welcome:
    """Return the part of the welcome that all agents share. Looking up the version reads files, so it is built once."""
    agent_settings = pb.AgentSettings(
        send_every_ms=round(settings.send_every_seconds * 1000),
        max_message_bytes=settings.limits.replay_message_bytes,
    )
    return pb.Welcome(protocol=PROTOCOL_VERSION, collector_version=version("flyball-fleet"), settings=agent_settings)
