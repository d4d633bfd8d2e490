"""The patient selector under a real gRPC server."""

import asyncio
import socket
import time
from typing import Any

import grpc
from grpc import aio

from flyball_collector.patience import PatientEventLoop, PatientSelector, hurry

MESSAGES = 300


async def _echo(_requests: object, context: "aio.ServicerContext[Any, Any]") -> None:
    while isinstance(message := await context.read(), bytes):
        await context.write(message)


async def _server() -> tuple[aio.Server, int]:
    handlers = {"Echo": grpc.stream_stream_rpc_method_handler(_echo)}
    server = aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Test", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, port


def _run(work: Any, selector: PatientSelector) -> Any:
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        return runner.run(work)


def test_every_message_arrives_in_order() -> None:
    """Whatever gathers during a pause is taken, none twice, none late."""

    async def work() -> list[bytes]:
        server, port = await _server()
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.stream_stream("/Test/Echo")()  # type: ignore[call-arg]  # requests are written

            async def send() -> None:
                for number in range(MESSAGES):
                    await call.write(b"%d" % number)
                await call.done_writing()

            sending = asyncio.create_task(send())
            heard = [message async for message in call]
            await sending
        await server.stop(None)
        return heard

    assert _run(work(), PatientSelector(0.002)) == [b"%d" % number for number in range(MESSAGES)]


def test_streams_are_let_in_without_pauses() -> None:
    """gRPC hands one over a turn: with a pause between, each of a fleet that returns would wait for its own."""

    async def greet(_requests: object, context: "aio.ServicerContext[Any, Any]") -> None:
        hurry()
        await context.write(b"welcome")

    async def work() -> None:
        handlers = {"Greet": grpc.stream_stream_rpc_method_handler(greet)}
        server = aio.server()
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Test", handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        hurry()
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel, asyncio.timeout(10):
            for _ in range(5):
                call = channel.stream_stream("/Test/Greet")()  # type: ignore[call-arg]  # none is sent
                assert await call.read() == b"welcome"
        await server.stop(None)

    with asyncio.Runner(loop_factory=lambda: PatientEventLoop(pause_seconds=30.0)) as runner:
        runner.run(work())


def test_grpc_is_known_by_its_reader() -> None:
    """A gRPC that asks for its messages in another way would make the loop an ordinary one, without a word."""
    selector = PatientSelector()

    async def work() -> int:
        server, _ = await _server()
        watched = selector.watched
        await server.stop(None)
        return watched

    assert _run(work(), selector) >= 1


def test_others_do_not_wait_for_the_pause() -> None:
    """Sockets, timers and threads are served while gRPC's messages gather."""
    selector = PatientSelector(pause_seconds=30.0)

    async def work() -> float:
        server, port = await _server()
        loop = asyncio.get_running_loop()
        channel = aio.insecure_channel(f"127.0.0.1:{port}")
        call = channel.stream_stream("/Test/Echo")()  # type: ignore[call-arg]  # requests are written
        writing = asyncio.create_task(call.write(b"x"))  # gRPC has something to say, so its pause begins
        await asyncio.sleep(0.2)
        here, there = socket.socketpair()
        here.setblocking(False)
        started = time.monotonic()
        await asyncio.to_thread(there.send, b"x")
        assert await loop.sock_recv(here, 1) == b"x"
        await asyncio.sleep(0.01)
        passed = time.monotonic() - started
        here.close()
        there.close()
        selector.pause_seconds = 0.0
        selector.hurry()
        await writing
        call.cancel()
        await channel.close(None)
        await server.stop(None)
        return passed

    assert _run(work(), selector) < 5
