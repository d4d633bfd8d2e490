"""The time limits of a connection, with a clock that the test sets."""

import select
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import pytest

from flyball_collector.wire import frames
from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.peer import Peer
from flyball_collector.wire.timeouts import Timeouts, enforce_timeouts
from flyball_collector.wire.transport import PlainTransport
from tests.collector.wire.client_frames import LIMITS, greeting

TIMEOUTS = Timeouts(keepalive_seconds=6.0)


@dataclass
class Clock:
    """A clock that only the test moves."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Watched:
    """A peer, the other end of its connection, and their clock."""

    peer: Peer
    other: socket.socket
    clock: Clock

    def enforce_at(self, now: float) -> None:
        self.clock.now = now
        self.peer.every_second()
        enforce_timeouts(self.peer, now, TIMEOUTS)


@pytest.fixture
def watched() -> Iterator[Watched]:
    ours, other = socket.socketpair()
    ours.setblocking(False)
    clock = Clock()
    with select.epoll() as epoll, other:
        peer = Peer(PlainTransport(ours), ConnectedClient(""), LIMITS, epoll, _no_call, clock, 3600.0)
        other.sendall(greeting())
        peer.ready()
        yield Watched(peer, other, clock)
        peer.lose()


def _no_call(*_: object) -> NoReturn:
    raise AssertionError("no call expected")


def test_a_peer_without_data_is_pinged_and_lost(watched: Watched) -> None:
    """It is lost after twice the keepalive time without data."""
    watched.enforce_at(6.5)
    assert watched.peer.pinged == 6.5
    watched.enforce_at(12.0)
    assert not watched.peer.lost
    watched.enforce_at(13.0)
    assert watched.peer.lost


def test_an_unread_answer_keeps_the_peer(watched: Watched) -> None:
    """A slow server reads pending data before it closes a connection."""
    watched.enforce_at(6.5)
    watched.other.sendall(frames.frame(frames.PING, frames.ACK, 0, bytes(8)))
    watched.enforce_at(13.0)
    assert not watched.peer.lost
    watched.enforce_at(14.0)
    assert watched.peer.pinged is None
