"""The handshakes in progress, with real sockets."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from flyball_collector.wire.handshake import Handshake
from flyball_collector.wire.pending_handshakes import PendingHandshakes

CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def begin(sockets: ExitStack, address: str, since: float = 0.0) -> Handshake:
    pair = [sockets.enter_context(connected) for connected in socket.socketpair()]
    return Handshake(pair[0], CONTEXT, address, since)


def test_the_address_with_most_handshakes_makes_room(sockets: ExitStack) -> None:
    """Slow clients displace each other and nobody else; the oldest goes first."""
    pending = PendingHandshakes(3)
    honest, *slow = (begin(sockets, address) for address in ("10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.2"))
    pending.add(honest)
    for handshake in slow[:2]:
        pending.add(handshake)
    assert pending.surplus() is None
    pending.add(slow[2])
    assert pending.surplus() is slow[0]
    pending.remove(slow[0])
    assert pending.surplus() is None
    assert list(pending) == [honest, *slow[1:]]


def test_one_ipv6_network_is_one_address(sockets: ExitStack) -> None:
    """A client could otherwise use a new address for each handshake."""
    pending = PendingHandshakes(2)
    honest = begin(sockets, "2001:db8:0:1::1")
    slow = [begin(sockets, f"2001:db8::{number}") for number in range(2)]
    for handshake in (honest, *slow):
        pending.add(handshake)
    assert pending.surplus() is slow[0]


def test_late_handshakes_are_found_in_order(sockets: ExitStack) -> None:
    """Those that began at the given time or before are late, and may be removed meanwhile."""
    pending = PendingHandshakes(9)
    for since in (1.0, 2.0, 3.0):
        pending.add(begin(sockets, "10.0.0.1", since))
    for late in pending.late(2.0):
        pending.remove(late)
    assert [handshake.since for handshake in pending] == [3.0]
