"""One connection with its socket: when it writes, and when it is busy."""

import asyncio
import select
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from flyball_collector.wire import frames
from flyball_collector.wire.call import Call
from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.peer import Peer
from flyball_collector.wire.transport import READ_BYTES, PlainTransport
from tests.collector.wire.client_frames import LIMITS, data_frame, frames_of, greeting, opening


@dataclass
class Connected:
    """A peer, the other end of its connection, its calls, and a clock that only the test moves."""

    other: socket.socket
    now: float = 100.0
    calls: list[Call] = field(default_factory=list)
    peer: Peer = field(init=False)

    def begin(self, call: Call, _path: str) -> "asyncio.Task[None]":
        self.calls.append(call)
        return asyncio.get_running_loop().create_task(asyncio.sleep(0))

    def send(self, data: bytes, at: float) -> None:
        self.other.sendall(data)
        self.now = at
        self.peer.ready()


@pytest.fixture
def connected() -> Iterator[Connected]:
    ours, other = socket.socketpair()
    ours.setblocking(False)
    with select.epoll() as epoll, other:
        made = Connected(other)
        made.peer = Peer(PlainTransport(ours), ConnectedClient(""), LIMITS, epoll, made.begin, lambda: made.now, 3600.0)
        yield made
        made.peer.lose()


async def test_room_for_more_is_announced_at_once(connected: Connected) -> None:
    """A handler that reads a message later frees the window without waiting for the next bytes of the client."""
    connected.send(greeting() + opening() + data_frame(1, bytes(950)) * 4, at=100.0)
    connected.other.recv(100_000)
    [call] = connected.calls
    assert await call.read() == bytes(950)
    assert await call.read() == bytes(950)
    assert await call.read() == bytes(950)
    connected.other.setblocking(False)
    sent = frames_of(connected.other.recv(100_000))
    assert [(kind, stream) for kind, _, stream, _ in sent] == [(frames.WINDOW_UPDATE, 1)]


async def test_a_peer_that_sends_once_a_second_is_not_busy(connected: Connected) -> None:
    """The server pauses long after it has read such peers, because one look for many of them is cheap."""
    connected.send(greeting() + opening(), at=100.0)
    for second in range(5):
        connected.send(data_frame(1, bytes(100)), at=101.0 + second)
        assert not connected.peer.busy_sending


async def test_a_peer_that_sends_again_and_again_is_busy(connected: Connected) -> None:
    """Five messages, each within a pause of the last one, are not an agent's second."""
    connected.send(greeting() + opening(), at=100.0)
    busy = []
    for number in range(5):
        connected.send(data_frame(1, b""), at=101.0 + 0.05 * number)
        busy.append(connected.peer.busy_sending)
    assert busy == [False, False, False, False, True]
    connected.send(data_frame(1, b""), at=103.0)
    assert not connected.peer.busy_sending


async def test_a_peer_that_sends_much_is_busy(connected: Connected) -> None:
    """A read reads no more than its share; the rest is announced and waits for the next one."""
    connected.other.sendall(greeting() + opening())
    connected.peer.ready()
    ping = frames.frame(99, 0, 0, bytes(16_000))
    connected.other.sendall(ping * 5)
    connected.peer.ready()
    assert (connected.peer.busy_sending, connected.peer.more) == (True, True)
    connected.peer.ready()
    assert (connected.peer.busy_sending, connected.peer.more) == (5 * len(ping) - READ_BYTES >= 16_384, False)


async def test_little_is_read_after_a_protocol_error(connected: Connected) -> None:
    """A client that goes on sending costs a megabyte at most, and then the kernel keeps what it sends."""
    connected.other.setblocking(False)
    connected.send(b"GET / HTTP/1.1\r\n\r\n", at=100.0)
    assert connected.peer.closing == 100.0
    sent = 0
    for _ in range(200):
        with suppress(BlockingIOError):
            sent += connected.other.send(bytes(60_000))
        connected.peer.ready()
    assert 1_000_000 < sent < 2_000_000
    assert not connected.peer.lost
