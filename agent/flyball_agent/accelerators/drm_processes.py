"""Finds the processes that hold a DRM device, and reads their client statistics.

Looking at every descriptor of every process each second would cost more than all other readings. Each search therefore
looks at a limited number of descriptors, new processes first, and the next one continues from there. Only the
descriptors of devices that were found are read at each tick.
"""

import os
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flyball_agent.accelerators.device_use import DeviceUse, united
from flyball_agent.accelerators.drm_client import Busy, DrmClient, busy_share, parse_client
from flyball_agent.probes.files import number
from flyball_agent.probes.probe import Denied, Unavailable

SEARCH_LINKS = 1000
"""Descriptors that one search looks at: about 2 ms. A host with 10,000 open files is searched in ten seconds."""

_MIN_COST = 5
_READ_COST = 5
"""Opening a file costs about as much as reading five links."""

_MAX_CLIENTS = 512
_MAX_BYTES = 16_384
_DEVICES = "/dev/dri/"
_DENIED = Denied("the open devices of some processes cannot be read", "give the agent CAP_SYS_PTRACE")


@dataclass(slots=True)
class _Holder:
    """A process that holds devices, with the numbers of their descriptors."""

    pid: int
    start_ticks: int
    descriptors: list[str]


@dataclass(frozen=True, slots=True)
class _Reading:
    seconds: float
    engines: dict[str, Busy] = field(default_factory=dict)


class DrmProcesses:
    """The processes on the cards of some drivers; see `device_use.ProcessSource`."""

    def __init__(self, proc_root: Path, drivers: Sequence[str]) -> None:
        self._proc = proc_root
        self._drivers = frozenset(drivers)
        self._queue: deque[int] = deque()
        self._holders: dict[int, _Holder] = {}
        self._denied: set[int] = set()
        self._before: dict[tuple[str, str], _Reading] = {}

    @property
    def fault(self) -> Unavailable | None:
        """The reason why some processes may be missing."""
        return _DENIED if self._denied else None

    def read(self, now: float) -> Sequence[DeviceUse]:
        """Continue the search, and read the processes that were found."""
        self._search()
        readings: dict[tuple[str, str], _Reading] = {}
        shares: dict[tuple[int, str], dict[str, float]] = {}
        uses: list[DeviceUse] = []
        memory: dict[tuple[int, str], int | None] = {}
        for pid, client in self._clients():
            key, process = (client.address, client.client_id), (pid, client.address)
            readings[key] = _Reading(now, client.engines)
            self._add_shares(shares.setdefault(process, {}), self._before.get(key), readings[key])
            memory[process] = _sum(memory.get(process), client.memory_bytes)
        for (pid, address), engines in shares.items():
            utilization = min(1.0, max(engines.values())) if engines else None
            uses.append(DeviceUse(pid, address, memory[pid, address], utilization))
        self._before = readings
        return united(uses)

    def _add_shares(self, shares: dict[str, float], before: _Reading | None, after: _Reading) -> None:
        """Add the shares of one client to those of its process, by engine."""
        if before is None:
            return
        for name, busy in after.engines.items():
            if name in before.engines:
                share = busy_share(before.engines[name], busy, after.seconds - before.seconds)
                if share is not None:
                    shares[name] = shares.get(name, 0.0) + share

    def _clients(self) -> Iterable[tuple[int, DrmClient]]:
        """Yield each client once, for the oldest process that holds it: children inherit descriptors."""
        seen: set[tuple[str, str]] = set()
        for holder in sorted(self._holders.values(), key=lambda holder: (holder.start_ticks, holder.pid)):
            for descriptor in tuple(holder.descriptors):
                client = parse_client(_read(f"{self._proc}/{holder.pid}/fdinfo/{descriptor}"))
                if client is None:
                    holder.descriptors.remove(descriptor)
                elif client.driver in self._drivers and (client.address, client.client_id) not in seen:
                    seen.add((client.address, client.client_id))
                    yield holder.pid, client
                    if len(seen) == _MAX_CLIENTS:
                        return

    # -- search --

    def _search(self) -> None:
        running = {int(name) for name in _names(str(self._proc)) if name.isdecimal()}
        known = set(self._queue)
        self._queue = deque(sorted(running - known, reverse=True) + [pid for pid in self._queue if pid in running])
        self._holders = {pid: holder for pid, holder in self._holders.items() if pid in running}
        self._denied &= running
        links = SEARCH_LINKS
        for _ in range(len(self._queue)):
            if links <= 0:
                return
            pid = self._queue.popleft()
            self._queue.append(pid)
            links -= self._search_process(pid)

    def _search_process(self, pid: int) -> int:
        """Search one process and return the cost."""
        self._denied.discard(pid)
        try:
            found, cost = self._by_links(pid)
        except PermissionError:
            found, cost = self._by_content(pid)
        except OSError:  # the process has ended
            found, cost = [], 0
        if found:
            stat = _read(f"{self._proc}/{pid}/stat")
            self._holders[pid] = _Holder(pid, parse_start_ticks(stat), found)
        else:
            self._holders.pop(pid, None)
        return max(_MIN_COST, cost)

    def _by_links(self, pid: int) -> tuple[list[str], int]:
        """Return the descriptors of devices, by the paths that they link to. This needs the same user, or root."""
        folder = f"{self._proc}/{pid}/fd"
        names = os.listdir(folder)  # noqa: PTH208  names, not paths, are wanted
        return [name for name in names if _link(f"{folder}/{name}").startswith(_DEVICES)], len(names)

    def _by_content(self, pid: int) -> tuple[list[str], int]:
        """Return the descriptors of devices, by their statistics. CAP_SYS_PTRACE suffices for that."""
        folder = f"{self._proc}/{pid}/fdinfo"
        try:
            names = os.listdir(folder)  # noqa: PTH208  names, not paths, are wanted
        except PermissionError:
            self._denied.add(pid)
            return [], 0
        except OSError:
            return [], 0
        return [name for name in names if parse_client(_read(f"{folder}/{name}"))], _READ_COST * len(names)


def parse_start_ticks(stat: bytes) -> int:
    """Parse the start time in `/proc/<pid>/stat`: field 22. The name before it may contain anything."""
    fields = stat[stat.rfind(b")") + 1 :].split()
    return (number(fields[19]) or 0) if len(fields) > 19 else 0


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  names, not paths, are wanted
    except OSError:
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115  a path object for each descriptor would cost more than the call
    except OSError:
        return ""


def _read(path: str) -> bytes:
    """Read a small file of a process that may have ended."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _MAX_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
