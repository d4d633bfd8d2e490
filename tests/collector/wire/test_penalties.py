"""Tests of penalties: a client that caused too much work waits before it connects again."""

from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.penalties import Penalties

NODE_1, NODE_2 = (ConnectedClient("10.0.0.1", frozenset({name})) for name in ("node-1", "node-2"))


def test_only_that_client_waits() -> None:
    """The client waits for ten seconds, from whatever address it comes; others do not."""
    penalties = Penalties(10.0)
    penalties.add(NODE_1, 100.0)
    elsewhere = ConnectedClient("10.0.0.9", frozenset({"node-1"}))
    assert penalties.waits(elsewhere, 100.0 + 10.0 - 0.1)
    assert not penalties.waits(elsewhere, 100.0 + 10.0)
    assert not penalties.waits(NODE_2, 100.0)


def test_clients_without_a_certificate_do_not_wait() -> None:
    """A proxy that brings a whole fleet from one address is not shut out."""
    penalties, proxy = Penalties(10.0), ConnectedClient("10.0.0.1")
    penalties.add(proxy, 100.0)
    assert not penalties.waits(proxy, 100.0)


def test_clients_that_waited_are_forgotten() -> None:
    """Only clients that still wait take memory."""
    penalties = Penalties(10.0)
    penalties.add(NODE_1, 100.0)
    penalties.add(NODE_2, 105.0)
    penalties.forget(100.0 + 10.0)
    assert not penalties.waits(NODE_1, 0.0)
    assert penalties.waits(NODE_2, 105.0)
