"""The handshakes in progress. Beyond the limit, the address with most of them loses its oldest one."""

from collections.abc import Iterator

from flyball_collector.wire.client import subnet
from flyball_collector.wire.handshake import Handshake


class PendingHandshakes:
    """Handshakes by file descriptor, in the order in which they began."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._all: dict[int, Handshake] = {}
        self._of_address: dict[str, dict[int, None]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Handshake]:
        return iter(tuple(self._all.values()))

    def get(self, fileno: int) -> Handshake | None:
        """Return the handshake on a socket."""
        return self._all.get(fileno)

    def add(self, handshake: Handshake) -> None:
        """Add a handshake that begins."""
        self._all[handshake.fileno] = handshake
        self._of_address.setdefault(subnet(handshake.address), {})[handshake.fileno] = None

    def remove(self, handshake: Handshake) -> None:
        """Forget a handshake."""
        del self._all[handshake.fileno]
        address = subnet(handshake.address)
        of_address = self._of_address[address]
        del of_address[handshake.fileno]
        if not of_address:
            del self._of_address[address]

    def late(self, since: float) -> Iterator[Handshake]:
        """Yield the handshakes that began at `since` or before. The caller may remove them."""
        for handshake in self:
            if handshake.since > since:
                return
            yield handshake

    def surplus(self) -> Handshake | None:
        """Return a handshake that must make room, or `None` while there is room."""
        if len(self._all) <= self._limit:
            return None
        most = max(self._of_address.values(), key=len)
        return self._all[next(iter(most))]
