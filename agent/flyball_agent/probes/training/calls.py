"""The TCP connections that trainings have opened: what they send and receive, and how long the way is."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from flyball_agent.probes.probe import Absent, Denied, Unavailable
from flyball_agent.probes.training.process import REMEDY, WatchedProcess
from flyball_agent.probes.training.tcp_sockets import TcpConnection, TcpInfo, TcpSockets, inodes_of

FIND_SECONDS = 20.0
"""Time between two searches for connections; new processes are searched at once."""

MOST_CONNECTIONS = 16
"""Connections that are read each second. A read takes about 10 µs."""

MOST_DESCRIPTORS = 512
RECENT_SECONDS = 1.5
"""A round trip counts if data arrived within this time; that of an idle connection is old."""


@dataclass(slots=True)
class ConnectionTotals:
    """Totals of the connections so far. `trips`: the longest round trip in use, and that connection's shortest."""

    connections: int = 0
    sent_segments: int = 0
    received_bytes: int = 0
    retransmitted: int = 0
    disordered: int = 0
    trips: tuple[float, float] | None = None


@dataclass(slots=True)
class TrainingCalls:
    """Follows the connections that the main processes of trainings opened to others."""

    sockets: TcpSockets = field(default_factory=TcpSockets)
    failure: Unavailable | None = None
    _totals: ConnectionTotals = field(default_factory=ConnectionTotals)
    _followed: dict[int, tuple[TcpConnection, TcpInfo | None]] = field(default_factory=dict)  # by inode
    _found: float | None = None

    def update(self, processes: Iterable[WatchedProcess], now: float, *, changed: bool) -> None:
        """Look for new and closed connections if it is time to, and read those that are known."""
        try:
            if changed or self._found is None or now - self._found >= FIND_SECONDS:
                self._found = now
                self._find(list(processes))
            elif self.failure is None:
                self._read()
        except Unavailable as failure:
            self.failure = failure

    def totals(self) -> ConnectionTotals | None:
        """Return what was done so far; None if it is unknown."""
        return self._totals if self.failure is None else None

    def _find(self, processes: list[WatchedProcess]) -> None:
        """List connections. One that another side opened to a training is not a call of the training."""
        wanted = self._inodes(processes)
        listening = self.sockets.listening() if wanted else set[int]()
        every = self.sockets.connections() if wanted else []
        outgoing = [one for one in every if one.inode in wanted and one.port not in listening]
        self._followed = {one.inode: self._followed.get(one.inode, (one, None)) for one in outgoing[:MOST_CONNECTIONS]}
        self.failure = None
        self._read()

    def _inodes(self, processes: list[WatchedProcess]) -> set[int]:
        """Return the sockets of the processes that can be seen. Raise the reason if none of them can."""
        near = [process for process in processes if not process.is_in_other_network()]
        if processes and not near:
            raise Absent("trainings are in another network namespace: their connections are not visible from here")
        links = [process.links(MOST_DESCRIPTORS) for process in near]
        if links and all(found is None for found in links):
            raise Denied("the file descriptors of a training may not be read", REMEDY)
        return inodes_of([link for found in links if found is not None for link in found])

    def _read(self) -> None:
        totals, longest = self._totals, None
        for inode, (connection, before) in list(self._followed.items()):
            now = self.sockets.info(connection)
            if now is None:
                del self._followed[inode]
                continue
            self._followed[inode] = connection, now
            _add(totals, before or now, now)
            trips = now.round_trip_seconds, now.least_round_trip_seconds
            if now.since_received_seconds <= RECENT_SECONDS and (longest is None or trips > longest):
                longest = trips
        totals.connections = len(self._followed)
        if longest is not None or not self._followed:  # between two calls, the last round trip stays
            totals.trips = longest


def _add(totals: ConnectionTotals, before: TcpInfo, now: TcpInfo) -> None:
    totals.sent_segments += max(0, now.sent_segments - before.sent_segments)
    totals.received_bytes += max(0, now.received_bytes - before.received_bytes)
    totals.retransmitted += max(0, now.retransmitted - before.retransmitted)
    totals.disordered += max(0, now.disordered - before.disordered)
