"""Finds a process, its children and their children, also those whose parent has ended."""

import os

from flyball.profiling.process_reading import ProcessReading, ProcessStat, read_file, read_process, read_stat


class ProcessTree:
    """The processes that descend from a root. Once found, a process stays a member until it ends.

    A process that has another parent can join only if a member becomes its parent, and then it had a member as its
    parent before. So each process outside is read once, and only new process ids are read later.
    """

    def __init__(self, root: int, *, with_root: bool = True, proc: str = "/proc") -> None:
        self._root = root
        self._with_root = with_root
        self._proc = proc
        self._members: dict[int, int] = {}  # process id → start time, parents before children
        self._outside: set[int] = set()
        self._newest = 0

    def read(self) -> list[ProcessReading]:
        """Read all processes of the tree, parents before their children. Empty if `/proc` cannot be read."""
        try:
            pids = {int(name) for name in os.listdir(self._proc) if name.isdigit()}  # noqa: PTH208  Path is slow
        except OSError:
            return []
        self._forget_reused()
        self._outside &= pids
        if not self._with_root:
            self._outside.add(self._root)
        found: dict[int, ProcessStat] = {}
        readings = []
        for pid, started in self._members.items():
            stat = read_stat(self._proc, pid) if pid in pids else None
            if stat is not None and stat.started == started:
                found[pid] = stat
                readings.append(read_process(self._proc, pid, stat))
        for pid, stat in self._joined(pids - found.keys() - self._outside, found).items():
            found[pid] = stat
            readings.append(read_process(self._proc, pid, stat))
        alive = [reading for reading in readings if reading is not None]
        self._members = {reading.pid: reading.started for reading in alive}
        return alive

    def _forget_reused(self) -> None:
        """Read all processes again if process ids have started again from the lowest number."""
        try:
            newest = int(read_file(f"{self._proc}/loadavg").split()[4])
        except (OSError, ValueError, IndexError):
            newest = -1
        if newest < self._newest or newest < 0:
            self._outside.clear()
        self._newest = newest

    def _joined(self, new: set[int], members: dict[int, ProcessStat]) -> dict[int, ProcessStat]:
        """Return the new processes that descend from the root or from a member, parents first."""
        stats = {pid: stat for pid in sorted(new) if (stat := read_stat(self._proc, pid)) is not None}
        joined: dict[int, ProcessStat] = {}
        if self._root in stats:
            joined[self._root] = stats[self._root]
        children: dict[int, list[int]] = {}
        for pid, stat in stats.items():
            children.setdefault(stat.parent, []).append(pid)
        waiting = [self._root, *members]
        while waiting:
            for pid in children.pop(waiting.pop(), ()):
                joined.setdefault(pid, stats[pid])
                waiting.append(pid)
        self._outside.update(stats.keys() - joined.keys())
        return joined
