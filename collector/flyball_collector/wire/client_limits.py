"""Counts connections and calls by client, so that none can take what others need."""

from collections import Counter
from dataclasses import dataclass

from flyball_collector.wire.client import ConnectedClient


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """Limits the connections of one client, and the calls over all of them. An agent needs one of each.

    With TLS, a client is a certificate, and the limit applies to each name in it: a certificate may be for many hosts.
    Without TLS, a client is an address, and a proxy may bring a whole fleet from one address.
    """

    per_name: int = 8
    per_address: int = 4096

    def of(self, client: ConnectedClient) -> int:
        """Return the limit of a client."""
        if client.names or client.refusal:
            return self.per_name * max(1, len(client.names))
        return self.per_address


class ClientCounts:
    """Counts what each client has open of one thing."""

    def __init__(self, limits: ClientLimits) -> None:
        self._limits = limits
        self._counts: Counter[frozenset[str] | str] = Counter()

    def full(self, client: ConnectedClient) -> bool:
        """Return True if the client may not have more."""
        return self._counts[client.key] >= self._limits.of(client)

    def add(self, client: ConnectedClient) -> None:
        """Count one more."""
        self._counts[client.key] += 1

    def remove(self, client: ConnectedClient) -> None:
        """Count one less."""
        self._counts[client.key] -= 1
        if not self._counts[client.key]:
            del self._counts[client.key]
