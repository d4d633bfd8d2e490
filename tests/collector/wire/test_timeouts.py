"""Who is given up, by a clock that the test moves."""

import select
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import pytest

from flyball_collector.wire import frames
from flyball_collector.wire.timeouts import Timeouts, enforce_timeouts
from flyball_collector.wire.peer import Peer
from tests.collector.wire.client_frames import LIMITS, greeting

TIMEOUTS = Timeouts(keepalive_seconds=6.0)


@dataclass
class Clock:
    """Stands still until it is moved."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Watched:
    """A peer, the other end of its connection, and the clock of both."""

    peer: Peer
    other: socket.socket
    clock: Clock

    def tend_at(self, now: float) -> None:
        self.clock.now = now
        self.peer.rest()
        enforce_timeouts(self.peer, now, TIMEOUTS)


@pytest.fixture
def watched() -> Iterator[Watched]:
    ours, other = socket.socketpair()
    ours.setblocking(False)
    clock = Clock()
    with select.epoll() as epoll, other:
        peer = Peer(ours, frozenset(), LIMITS, epoll, _no_call, clock, 3600.0)
        other.sendall(greeting())
        peer.ready()
        yield Watched(peer, other, clock)
        peer.lose()


def _no_call(*_: object) -> NoReturn:
    raise AssertionError("nobody calls here")


def test_who_says_nothing_is_asked_and_given_up(watched: Watched) -> None:
    """Twice the patience without a word."""
    watched.tend_at(6.5)
    assert watched.peer.asked == 6.5
    watched.tend_at(12.0)
    assert not watched.peer.lost
    watched.tend_at(13.0)
    assert watched.peer.lost


def test_who_spoke_but_was_not_heard_is_kept(watched: Watched) -> None:
    """A server that is behind reads what has come before it gives somebody up."""
    watched.tend_at(6.5)
    watched.other.sendall(frames.frame(frames.PING, frames.ACK, 0, bytes(8)))
    watched.tend_at(13.0)
    assert not watched.peer.lost
    watched.tend_at(14.0)
    assert watched.peer.asked is None
