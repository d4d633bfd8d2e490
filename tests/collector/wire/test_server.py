"""The server with gRPC's own client, and with clients that misbehave."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import grpc
import pytest
from grpc import aio

from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.wire import frames
from flyball_collector.wire.acceptor import Contexts
from flyball_collector.wire.call import Call
from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.client_limits import ClientLimits
from flyball_collector.wire.connection import Connection
from flyball_collector.wire.events import Limits
from flyball_collector.wire.health import HealthService
from flyball_collector.wire.listening_sockets import open_listening_sockets
from flyball_collector.wire.server import ListeningFailed, Server
from flyball_collector.wire.status import StatusCode
from flyball_collector.wire.timeouts import AGED, Timeouts
from flyball_collector.wire.transport import PlainTransport
from tests.collector.wire.client_frames import data_frame, frames_of, greeting, opening

LIMITS = Limits(message_bytes=4 * 1024 * 1024)


@dataclass
class Seen:
    """Counts of what the handlers saw."""

    messages: list[bytes] = field(default_factory=list)
    sunk: int = 0  # bytes
    begun: int = 0
    cancelled: int = 0


@dataclass
class Running:
    """A running server."""

    server: Server
    port: int
    seen: Seen
    health: HealthService

    def channel(self, **options: int) -> Any:
        """Return a channel of gRPC's own client with its own connection; the stubs require more of it than it has."""
        arguments = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1), *options.items()]
        return aio.insecure_channel(f"127.0.0.1:{self.port}", options=arguments)

    def raw(self) -> socket.socket:
        """Return a plain TCP client."""
        connected = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        connected.settimeout(30)
        return connected


@asynccontextmanager
async def running(
    limits: Limits = LIMITS,
    *,
    max_age_seconds: float = 60.0,
    timeouts: Timeouts | None = None,
    client_limits: ClientLimits | None = None,
    contexts: Contexts | None = None,
    refused_agents: RefusedAgents | None = None,
    health: HealthService | None = None,
) -> AsyncIterator[Running]:
    """Run a server with handlers that echo, fail, deny and write without end."""
    seen, health = Seen(), health or HealthService(("t",))

    async def echo(call: Call) -> None:
        seen.begun += 1
        try:
            while (message := await call.read()) is not None:
                seen.messages.append(message)
                await call.write(message)
        except asyncio.CancelledError:
            seen.cancelled += 1
            raise

    async def broken(call: Call) -> None:
        await call.read()
        raise RuntimeError("handler failed")

    async def denied(call: Call) -> None:
        call.abort(StatusCode.PERMISSION_DENIED, "not allowed — 100 % sure")

    async def sink(call: Call) -> None:
        while (message := await call.read()) is not None:
            seen.sunk += len(message)

    async def chatter(call: Call) -> None:
        seen.begun += 1
        while True:
            await call.write(bytes(10_000))
            seen.messages.append(b"")

    own = {"/t/echo": echo, "/t/broken": broken, "/t/denied": denied, "/t/sink": sink, "/t/chatter": chatter}
    handlers = {**own, **health.handlers}
    server = Server(
        handlers,
        limits,
        max_streams=8,
        max_age_seconds=max_age_seconds,
        timeouts=timeouts or Timeouts(),
        client_limits=client_limits,
        contexts=contexts,
        refused_agents=refused_agents,
    )
    (listener,) = open_listening_sockets("127.0.0.1", 0)
    server.start([listener])
    try:
        yield Running(server, int(listener.getsockname()[1]), seen, health)
    finally:
        await server.stop(1.0)


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  what is waited for happens elsewhere
            await asyncio.sleep(0.01)


async def ending(call: aio.Call) -> tuple[grpc.StatusCode, str]:
    """Return the status of a call as its client sees it."""
    return await call.code(), str(await call.details())


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
async def test_messages_of_any_size_go_both_ways(compression: grpc.Compression) -> None:
    """Empty messages and ones far longer than any window; a call that the client completes ends with OK."""
    sent = [b"", b"x", bytes(70_000), bytes(range(256)) * 12_000]
    async with running() as here, here.channel() as channel:
        call = channel.stream_stream("/t/echo")(iter(sent), compression=compression)
        assert [message async for message in call] == sent
        assert await call.code() is grpc.StatusCode.OK
        assert here.seen.messages == sent


async def test_many_calls_share_a_connection() -> None:
    """Each has its own messages and its own end."""
    async with running() as here, here.channel() as channel:
        calls = [channel.stream_stream("/t/echo")(iter([bytes([n]) * 1000] * 20)) for n in range(8)]
        for number, call in enumerate(calls):
            assert [message async for message in call] == [bytes([number]) * 1000] * 20
        assert here.server.connections == 1


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/t/denied", grpc.StatusCode.PERMISSION_DENIED, "not allowed — 100 % sure"),
        ("/t/nothing", grpc.StatusCode.UNIMPLEMENTED, "unknown method /t/nothing"),
        ("/t/broken", grpc.StatusCode.INTERNAL, "internal error: RuntimeError"),
    ],
)
async def test_a_call_ends_with_its_status(path: str, code: grpc.StatusCode, text: str) -> None:
    """Also a call of an unknown method, or whose handler fails; the connection is not affected."""
    async with running() as here, here.channel() as channel:
        call = channel.stream_stream(path)()
        if path == "/t/broken":
            await call.write(b"x")
        assert await ending(call) == (code, text)
        assert [m async for m in channel.stream_stream("/t/echo")(iter([b"still"]))] == [b"still"]
        assert here.server.connections == 1


async def test_a_message_beyond_the_limit_ends_its_call() -> None:
    """The status names the limit; the same connection serves the next call."""
    async with running(Limits(message_bytes=1000)) as here, here.channel() as channel:
        code, text = await ending(channel.stream_stream("/t/echo")(iter([bytes(300_000)])))
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "300000 bytes; the limit is 1000" in text
        assert [m async for m in channel.stream_stream("/t/echo")(iter([b"fine"]))] == [b"fine"]


async def test_a_client_that_cancels_or_disconnects_cancels_its_handler() -> None:
    """Both ways of ending the call cancel it."""
    async with running() as here:
        async with here.channel() as channel:
            call = channel.stream_stream("/t/echo")()
            await call.write(b"x")
            await until(lambda: len(here.seen.messages) == 1)
            call.cancel()
            await until(lambda: here.seen.cancelled == 1)
        with here.raw() as connected:
            connected.sendall(greeting() + opening(1, "/t/echo"))
            await until(lambda: here.seen.begun == 2)
            assert here.server.connections == 2
        await until(lambda: here.seen.cancelled == 2)
        assert here.server.connections == 1  # gRPC keeps the first while its call object exists


async def test_writing_waits_for_a_client_that_reads_slowly() -> None:
    """The handler waits: memory is limited to the kernel's buffer and the window."""
    fixed = {"grpc.http2.bdp_probe": 0}  # otherwise gRPC's client widens its window to as much as arrives meanwhile
    async with running() as here, here.channel(**fixed) as channel:
        call = channel.stream_stream("/t/chatter")()
        await until(lambda: here.seen.begun == 1)
        await asyncio.sleep(0.3)
        written = len(here.seen.messages)
        await asyncio.sleep(0.3)
        assert len(here.seen.messages) == written
        for _ in range(written + 50):
            assert await call.read() == bytes(10_000)
        assert len(here.seen.messages) > written
        call.cancel()


async def test_a_stuck_client_is_disconnected() -> None:
    """A client that never reads its answers is disconnected after a while."""
    async with running(timeouts=Timeouts(stuck_seconds=0.5)) as here:
        with here.raw() as connected:
            connected.sendall(greeting(window=1 << 30) + frames.window_update(0, 1 << 30) + opening(1, "/t/chatter"))
            await until(lambda: here.seen.begun == 1)
            await until(lambda: here.server.connections == 0)


async def test_a_client_that_does_not_answer_pings_is_disconnected() -> None:
    """This finds half-open connections."""
    async with running(timeouts=Timeouts(keepalive_seconds=0.5)) as here:
        with here.raw() as connected:
            connected.sendall(greeting() + opening(1, "/t/echo"))
            await until(lambda: here.seen.cancelled == 1)
            assert frames.PING in [kind for kind, _, _, _ in frames_of(await asyncio.to_thread(_all, connected))]
        assert here.server.connections == 0


async def test_a_client_that_answers_pings_is_kept() -> None:
    """gRPC's client sends no data for seconds and is not disconnected."""
    async with running(timeouts=Timeouts(keepalive_seconds=0.5)) as here, here.channel() as channel:
        call = channel.stream_stream("/t/echo")()
        await call.write(b"before")
        await call.read()
        await asyncio.sleep(3)
        await call.write(b"after")
        assert await call.read() == b"after"
        call.cancel()


@pytest.mark.parametrize(
    ("timeouts", "first_bytes"),
    [(Timeouts(greeting_seconds=0.5), b""), (Timeouts(idle_seconds=0.5), greeting())],
)
async def test_a_connection_without_calls_is_closed(timeouts: Timeouts, first_bytes: bytes) -> None:
    """One that never sends HTTP/2 settings, and one that opens no call."""
    async with running(timeouts=timeouts) as here:
        with here.raw() as connected:
            connected.sendall(first_bytes)
            await until(lambda: here.server.connections == 1)
            last = frames_of(await asyncio.to_thread(_all, connected))[-1]
            assert (last[0], last[3][4:8]) == (frames.GOAWAY, bytes(4))
        await until(lambda: here.server.connections == 0)


async def test_another_protocol_gets_a_reason() -> None:
    """The connection ends with the reason; others continue."""
    async with running() as here, here.channel() as channel:
        with here.raw() as connected:
            connected.sendall(b"GET / HTTP/1.1\r\n\r\n")
            last = frames_of(await asyncio.to_thread(_all, connected))[-1]
            assert last[3][8:] == b"not HTTP/2"
        assert [m async for m in channel.stream_stream("/t/echo")(iter([b"fine"]))] == [b"fine"]


async def test_a_connection_beyond_its_maximum_age_ends() -> None:
    """The client reads why, and a new connection serves it."""
    timeouts = Timeouts(age_grace_seconds=0.1)
    async with running(max_age_seconds=0.2, timeouts=timeouts) as here, here.channel() as channel:
        call = channel.stream_stream("/t/echo")()
        await call.write(b"x")
        assert await call.read() == b"x"
        assert await ending(call) == (grpc.StatusCode.UNAVAILABLE, AGED)
        assert [m async for m in channel.stream_stream("/t/echo")(iter([b"again"]))] == [b"again"]


async def test_idle_connections_make_room_for_new_ones() -> None:
    """The oldest connection without a call is closed; those with a call stay."""
    async with running() as here, here.channel() as channel:
        call = channel.stream_stream("/t/echo")()
        await call.write(b"x")
        await call.read()
        idle = [here.raw() for _ in range(1100)]
        late = here.raw()
        late.sendall(greeting() + opening(1, "/t/echo") + data_frame(1, b"late"))
        await until(lambda: here.seen.messages[-1] == b"late", 10)
        assert here.server.connections <= 1032
        await call.write(b"still there")
        assert await call.read() == b"still there"
        call.cancel()
        for connected in (*idle, late):
            connected.close()


async def test_a_client_has_its_own_limit_of_connections() -> None:
    """With all its connections in use, the next one is closed and shown as refused; an idle one would make room."""
    refused, calling = RefusedAgents(), greeting() + opening(1, "/t/echo")
    async with running(client_limits=ClientLimits(per_address=3), refused_agents=refused) as here:
        with here.raw() as idle, here.raw() as first, here.raw() as second, here.raw() as third:
            for connected in (first, second, third):
                connected.sendall(calling)
            await until(lambda: here.seen.begun == 3)
            assert await asyncio.to_thread(_all, idle) == bytes(Connection(LIMITS).outgoing)
            with here.raw() as refused_one:
                assert await asyncio.to_thread(refused_one.recv, 10) == b""
            assert (here.server.connections, here.server.refused_connections) == (3, 1)
            assert [agent.reason for agent in refused.recent()] == [
                "it has 3 connections already; the log of its host may show why"
            ]


async def test_other_clients_are_not_affected_by_a_client_at_its_limit() -> None:
    """A client of another address connects while one has all that it may have."""
    async with running(client_limits=ClientLimits(per_address=2)) as here:
        with here.raw() as first, here.raw() as second:
            for connected in (first, second):
                connected.sendall(greeting() + opening(1, "/t/echo"))
            await until(lambda: here.seen.begun == 2)
            other = socket.create_connection(("127.0.0.1", here.port), 5, source_address=("127.0.0.2", 0))
            with other:
                other.sendall(greeting() + opening(1, "/t/echo"))
                await until(lambda: here.seen.begun == 3)


async def test_a_client_has_its_own_limit_of_calls() -> None:
    """The status of the call beyond it has the reason, and a call that ended makes room for the next."""
    async with running(client_limits=ClientLimits(per_address=2)) as here, here.channel() as channel:
        calls = [channel.stream_stream("/t/echo")() for _ in range(2)]
        await until(lambda: here.seen.begun == 2)
        code, text = await ending(channel.stream_stream("/t/echo")(iter([b"x"]), timeout=60))
        assert (code, text) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "it has 2 calls already")
        calls[0].cancel()
        await until(lambda: here.seen.cancelled == 1)
        assert [m async for m in channel.stream_stream("/t/echo")(iter([b"fine"]))] == [b"fine"]


async def test_with_all_connections_in_use_new_ones_are_refused() -> None:
    """The connections that have a call go on."""
    calling = greeting() + opening(1, "/t/echo")
    async with running(client_limits=ClientLimits(per_address=4096)) as here:
        with ExitStack() as stack:
            used = [stack.enter_context(here.raw()) for _ in range(1032)]
            for connected in used:
                connected.sendall(calling)
            await until(lambda: here.seen.begun == 1032, 20)
            with here.raw() as late:
                assert await asyncio.to_thread(late.recv, 10) == b""
            assert here.server.refused_connections == 1
            used[0].sendall(data_frame(1, b"still there"))
            await until(lambda: here.seen.messages == [b"still there"])


async def test_a_client_that_sends_without_pause_leaves_time_for_others() -> None:
    """While one connection sends as fast as it can, calls of another are answered."""
    sending = True

    async def flood() -> AsyncIterator[bytes]:
        while sending:
            yield bytes(200_000)

    async with running() as here, here.channel() as busy, here.channel() as channel:
        call = busy.stream_stream("/t/sink")(flood())
        await until(lambda: here.seen.sunk > 5_000_000)
        before = here.seen.sunk
        async with asyncio.timeout(60):
            for _ in range(20):
                assert [m async for m in channel.stream_stream("/t/echo")(iter([b"fine"]))] == [b"fine"]
        await until(lambda: here.seen.sunk > before)
        sending = False
        await call.code()


async def test_a_client_that_sends_again_and_again_is_answered_soon() -> None:
    """Six hundred round trips do not each wait for the usual pause, which would take half a minute."""
    async with running() as here, here.channel() as channel:
        call = channel.stream_stream("/t/echo")()
        async with asyncio.timeout(15):
            for number in range(600):
                await call.write(b"%d" % number)
                assert await call.read() == b"%d" % number
        call.cancel()


async def test_other_tasks_run_between_slow_messages() -> None:
    """A look that has taken longer than its slice serves the remaining connections after the other tasks."""
    now, order, waiting = 1000.0, list[str](), 0

    async def slow(call: Call) -> None:
        def consume(_message: bytes) -> bool:
            nonlocal now
            now += 0.02
            order.append("message")
            return True

        nonlocal waiting
        waiting += 1
        await call.read(consume)

    def tick() -> None:
        order.append("other")
        asyncio.get_running_loop().call_soon(tick)

    server = Server({"/t/slow": slow}, LIMITS, max_streams=8, max_age_seconds=60, clock=lambda: now)
    (listener,) = open_listening_sockets("127.0.0.1", 0)
    server.start([listener])
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(listener.getsockname(), 5)) for _ in range(5)]
        for connected in clients:
            connected.sendall(greeting() + opening(1, "/t/slow"))
        await until(lambda: waiting == 5)
        for connected in clients:  # the loop does not run meanwhile, so one look finds all
            connected.sendall(data_frame(1, b"x"))
        asyncio.get_running_loop().call_soon(tick)
        await until(lambda: order.count("message") == 5)
        messages = [place for place, each in enumerate(order) if each == "message"]
        assert all(later - earlier > 1 for earlier, later in pairwise(messages))
    await until(lambda: server.connections == 0)  # its clock does not move, so no time limit would end it
    await server.stop(0.1)


async def test_a_lost_connection_is_forgotten_when_its_number_is_used_again() -> None:
    """Otherwise it would count for its client for ever."""
    async with running(client_limits=ClientLimits(per_address=2)) as here, AsyncExitStack() as stack:
        add = here.server._add_peer
        pairs = [socket.socketpair() for _ in range(2)]
        for pair in pairs:
            pair[0].setblocking(False)
            stack.enter_context(pair[1])
        add(PlainTransport(pairs[0][0]), ConnectedClient("10.0.0.1"))
        number = pairs[0][0].fileno()
        [peer] = here.server._peers.values()
        peer.lose()  # as a failed write does, outside of a look
        os.dup2(pairs[1][0].fileno(), number)
        again = socket.socket(fileno=number)
        add(PlainTransport(again), ConnectedClient("10.0.0.1"))
        add(PlainTransport(pairs[1][0]), ConnectedClient("10.0.0.1"))
        assert here.server.connections == 2


async def test_the_end_of_the_listening_thread_is_an_error() -> None:
    """Nobody could connect any more, so the server reports it."""

    def broken() -> ssl.SSLContext:
        raise MemoryError

    async with running(contexts=broken) as here:
        assert here.server.listening
        with here.raw(), pytest.raises(ListeningFailed, match="MemoryError"):
            await asyncio.wait_for(here.server.failed(), 60)
        assert not here.server.listening


async def test_stopping_ends_open_calls_with_a_reason() -> None:
    """An open call ends with UNAVAILABLE."""
    async with running() as here:
        channel = here.channel()
        call = channel.stream_stream("/t/echo")()
        await call.write(b"x")
        await call.read()
        waiting = asyncio.create_task(ending(call))
        await asyncio.sleep(0)
    assert await waiting == (grpc.StatusCode.UNAVAILABLE, "the server is stopping")
    await channel.close()


async def test_a_server_that_never_started_stops() -> None:
    """A server that could not listen has nothing to end."""
    await Server({}, LIMITS, max_streams=1, max_age_seconds=1).stop(1)


def _all(connected: socket.socket) -> bytes:
    """Read until the other side closes."""
    found = b""
    while data := connected.recv(65_536):
        found += data
    return found
