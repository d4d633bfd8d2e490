"""Counts HTTP connections in all and for each address, and decides which ones to close when there are too many.

A connection is *busy* while a complete request is being answered. The others can be closed without harm: incomplete
requests, handshakes, and connections that wait for the next request. At a limit, a new connection replaces the oldest
of these. If all are busy, a few more are admitted for health checks and scrapes only, and the rest are refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from flyball_collector.wire.client import plain_address, subnet

RESERVED = 8
"""Connections beyond each limit that are admitted for health checks and scrapes."""


@dataclass(eq=False, slots=True)
class Admission:
    """One admitted connection. `close` ends it from outside."""

    network: str
    close: Callable[[], None]
    reserved: bool  # only for health checks and scrapes
    busy: bool = False
    ended: bool = False


@dataclass(slots=True)
class _Network:
    """The connections of one address. `closable` has those that are not busy, the one that is so for longest first."""

    count: int = 0
    closable: dict[Admission, None] = field(default_factory=dict)


class ConnectionLimits:
    """Admits connections up to a limit in all and one for each address."""

    def __init__(self, total: int, per_address: int, refused: Callable[[str], None] = lambda _: None) -> None:
        self._total = total
        self._per_address = per_address
        self._refused = refused
        self._networks: dict[str, _Network] = {}
        self.count = 0

    def admit(self, address: str, close: Callable[[], None]) -> Admission | None:
        """Return the admission of a new connection, or None if it must be refused."""
        name = subnet(plain_address(address))
        reserved = False
        for reason, full in (("address", self._address_full), ("total", self._all_full)):
            excess = full(name)
            if excess < 0:
                continue
            if self._close_oldest(name if reason == "address" else None):
                self._refused(f"{reason}_replaced")
            elif excess < RESERVED:
                reserved = True
            else:
                self._refused(reason)
                return None
        network = self._networks.setdefault(name, _Network())
        admission = Admission(name, close, reserved)
        network.count += 1
        network.closable[admission] = None
        self.count += 1
        return admission

    def set_busy(self, admission: Admission, *, busy: bool) -> None:
        """Record that a complete request of the connection is being answered, or no longer."""
        if admission.ended or admission.busy == busy:
            return
        network = self._networks[admission.network]
        admission.busy = busy
        if busy:
            network.closable.pop(admission, None)
        else:
            network.closable[admission] = None

    def release(self, admission: Admission) -> None:
        """Forget a connection that has ended."""
        admission.ended = True
        network = self._networks[admission.network]
        network.closable.pop(admission, None)
        network.count -= 1
        self.count -= 1
        if not network.count:
            del self._networks[admission.network]

    def _address_full(self, name: str) -> int:
        network = self._networks.get(name)
        return (network.count if network else 0) - self._per_address

    def _all_full(self, _name: str) -> int:
        return self.count - self._total

    def _close_oldest(self, name: str | None) -> bool:
        """Close the oldest connection that is not busy: of this address, or else of the one with most connections."""
        candidates = [self._networks[name]] if name is not None else list(self._networks.values())
        closable = [network for network in candidates if network.closable]
        if not closable:
            return False
        largest = max(closable, key=lambda network: network.count)
        next(iter(largest.closable)).close()
        return True
