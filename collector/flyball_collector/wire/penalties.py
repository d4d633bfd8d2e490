"""Clients that must wait before they connect again, because their last connection caused too much work.

Without this, a client that connects again at once would have a fresh allowance each time.
"""

from flyball_collector.wire.client import ConnectedClient


class Penalties:
    """Remembers clients by their certificate. An address without one may be a proxy for many, so it never waits."""

    def __init__(self, wait_seconds: float) -> None:
        self._wait_seconds = wait_seconds
        self._until: dict[frozenset[str], float] = {}

    def add(self, client: ConnectedClient, now: float) -> None:
        """Let the client wait."""
        if client.names:
            self._until[client.names] = now + self._wait_seconds

    def waits(self, client: ConnectedClient, now: float) -> bool:
        """Return True while the client must wait."""
        return now < self._until.get(client.names, 0.0)

    def forget(self, now: float) -> None:
        """Forget the clients that have waited."""
        if self._until:
            self._until = {names: until for names, until in self._until.items() if until > now}
