"""The limits of connections and calls of a client."""

from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.client_limits import ClientCounts, ClientLimits

LIMITS = ClientLimits(per_name=2, per_address=3)


def test_the_limit_follows_the_names_of_the_certificate() -> None:
    """A certificate for many hosts may have as many connections as its hosts; a refused one counts as one name."""
    assert LIMITS.of(ConnectedClient("10.0.0.1", frozenset({"a"}))) == 2
    assert LIMITS.of(ConnectedClient("10.0.0.1", frozenset({"a", "b", "c"}))) == 6
    assert LIMITS.of(ConnectedClient("10.0.0.1")) == 3
    assert LIMITS.of(ConnectedClient("10.0.0.1", refusal="not for clients")) == 2


def test_each_client_is_counted_by_itself() -> None:
    """Connections of one client do not count for another, and a closed one makes room."""
    counts, mine, other = (
        ClientCounts(LIMITS),
        ConnectedClient("10.0.0.1", frozenset({"a"})),
        ConnectedClient("10.0.0.1"),
    )
    counts.add(mine)
    assert not counts.full(mine)
    counts.add(mine)
    assert counts.full(mine)
    assert not counts.full(other)
    counts.remove(mine)
    assert not counts.full(mine)
