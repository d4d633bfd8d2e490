"""Decides which processes are watched: the main processes of trainings, and some of their workers."""

from collections.abc import Callable, Sequence
from pathlib import Path

from flyball_agent.probes.training.process import WatchedProcess, children_of
from flyball_agent.probes.training.search import TrainingSearch

FIND_SECONDS = 1.5
"""Least time between two searches for processes and workers: of readings each second, it is every other one."""

MOST_MAINS, MOST_WORKERS = 4, 4
"""Processes that are read each second. Ranks of one host are alike, and so are workers of one loader."""


class WatchedTrainings:
    """The watched processes. `members` returns the process ids that are known to train; None: they are searched for."""

    def __init__(self, proc_root: Path) -> None:
        self.members: Callable[[], Sequence[int] | None] = lambda: None
        self.mains: tuple[WatchedProcess, ...] = ()
        self.workers: tuple[WatchedProcess, ...] = ()
        self._proc_root = proc_root
        self._search = TrainingSearch(proc_root)
        self._found: float | None = None

    @property
    def are_hidden(self) -> bool:
        """True if there are processes that the agent must not examine, and that may train."""
        return bool(self._search.denied)

    def update(self, now: float) -> bool:
        """Look for processes if it is time to. Return True if the main processes are others than before."""
        members = self.members()
        known = list(members or ())[:MOST_MAINS]
        changed = members is not None and [process.pid for process in self.mains] != known
        passed = 0.0 if self._found is None else now - self._found
        if self._found is not None and passed < FIND_SECONDS and not changed:
            return False
        self._found = now
        pids = self._search.search(passed)[:MOST_MAINS] if members is None else known
        before = self.mains
        self.mains = self._watch(pids, before)
        self.workers = self._watch(self._started_by(pids), self.workers)
        return self.mains != before

    def _watch(self, pids: Sequence[int], before: tuple[WatchedProcess, ...]) -> tuple[WatchedProcess, ...]:
        known = {process.pid: process for process in before}
        return tuple(known.get(pid) or WatchedProcess(self._proc_root, pid) for pid in pids)

    def _started_by(self, mains: Sequence[int]) -> list[int]:
        """Return some workers and what these started, breadth first."""
        found: dict[int, None] = {}
        waiting = [child for process in self.mains for child in children_of(self._proc_root, process.pid)]
        while waiting and len(found) < MOST_WORKERS:
            pid = waiting.pop(0)
            if pid not in found and pid not in mains:
                found[pid] = None
                waiting += children_of(self._proc_root, pid)
        return list(found)
