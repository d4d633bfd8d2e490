"""One watched process: the time of its main thread, what that waits for, and what all its threads use."""

import contextlib
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from flyball_agent.probes.files import KernelFile, number_after
from flyball_agent.probes.probe import Unavailable
from flyball_agent.probes.training.process_times import ProcessCounters, parse_schedstat, parse_stat
from flyball_agent.probes.training.wait_kinds import wait_kind

REMEDY = "give the agent CAP_SYS_PTRACE, or run it as the user of the trainings"

HIDDEN_READINGS = 5
"""Without permission the kernel shows a sleeping thread as if it ran. So often in a row is more than a coincidence."""

_NO_WAIT = "RXZTt"  # running, dead or stopped: such a thread waits for nothing


@dataclass(slots=True)
class ProcessUse:
    """The use of a process since the last reading."""

    run: float = 0.0  # seconds of the main thread on a CPU
    delay: float = 0.0  # … ready, without a CPU
    cpu: float = 0.0  # seconds of all threads
    waits: dict[str, float] = field(default_factory=dict)  # seconds of the main thread by kind
    major_faults: int = 0
    read_bytes: int | None = None


def children_of(proc_root: Path, pid: int) -> list[int]:
    """Return the processes that the main thread of a process started."""
    try:
        with open(f"{proc_root}/{pid}/task/{pid}/children", "rb", buffering=0) as file:  # noqa: PTH123  half the time
            return [int(word) for word in file.readall().split() if word.isdigit()]
    except OSError:
        return []


class WatchedProcess:
    """Reads one process. Its files stay open: a process that took over the id is not mistaken for it."""

    def __init__(self, proc_root: Path, pid: int) -> None:
        self.pid = pid
        self._names = 0  # functions that were read
        self._hidden = 0  # readings of a sleeping thread without one
        self._folder = proc_root / str(pid)
        self._stat = KernelFile(self._folder / "stat", size=1024)
        self._schedstat = KernelFile(self._folder / "schedstat", size=128)
        self._wchan = KernelFile(self._folder / "wchan", size=128)
        self._io = KernelFile(self._folder / "io", size=512)
        self._thread = KernelFile(self._folder / "task" / str(pid) / "stat", size=1024)
        self._samples: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()  # of the last samples in which it waited
        self._last: ProcessCounters | None = None
        self._times: tuple[float, float] | None = None
        self._read_bytes: int | None = None

    @property
    def is_denied(self) -> bool:
        """Return True if the function in which the main thread waits may not be read."""
        return not self._names and self._hidden >= HIDDEN_READINGS

    def sample(self) -> str:
        """Note what the main thread waits for at this moment, and return it; nothing if it runs or is ready to."""
        kind = self._kind()
        if kind:
            self._samples[kind] += 1
        return kind

    def _kind(self) -> str:
        """Return the kind by the function, or by the state of the thread if the function is hidden."""
        function = self._function()
        if function:
            kind = wait_kind(function)
            return kind if kind != "other" or self._state() != "D" else wait_kind(function, uninterruptible=True)
        state = self._state() if self.is_denied else "R"
        return "" if state in _NO_WAIT else wait_kind(b"", uninterruptible=state == "D")

    def _function(self) -> bytes:
        """Return the function in which the main thread waits; nothing if it runs, or if that is hidden."""
        try:
            function = self._wchan.read()
        except Unavailable:
            return b""
        if function in {b"0", b""}:
            return b""
        self._names += 1
        return function

    def _state(self) -> str:
        try:
            stat = parse_stat(self._thread.read())
        except Unavailable:
            return "X"
        return stat.state if stat is not None else "X"

    def read(self, seconds: float) -> ProcessUse | None:
        """Return what the process used in these seconds; None if it has ended, or on the first reading."""
        try:
            stat, times = parse_stat(self._stat.read()), parse_schedstat(self._schedstat.read())
        except Unavailable:
            self._last = self._times = None
            return None
        last, before = self._last, self._times
        self._last, self._times = stat, times
        moved = self._moved()
        if not self._names and stat is not None and stat.state in "SD" and not self._function():
            self._hidden += 1
        if stat is None or times is None or last is None or before is None or last.started_ticks != stat.started_ticks:
            return None
        run, delay = max(0.0, times[0] - before[0]), max(0.0, times[1] - before[1])
        use = ProcessUse(run, delay, max(0.0, stat.cpu_seconds - last.cpu_seconds))
        use.major_faults = max(0, stat.major_faults - last.major_faults)
        use.read_bytes = moved
        use.waits = self._split(max(0.0, seconds - run - delay))
        return use

    def _split(self, waited: float) -> dict[str, float]:
        """Split the time in which the thread slept by the samples since then, or by the last ones if there are none."""
        if self._samples:
            self._kinds, self._samples = self._samples, Counter()
        total = self._kinds.total()
        return {kind: waited * count / total for kind, count in self._kinds.items()} if total else {"other": waited}

    def _moved(self) -> int | None:
        """Return the bytes that the process had read from disks since the last reading; None if it is unknown."""
        before = self._read_bytes
        now = number_after(b"\n" + self._io.read_optional(), b"\nread_bytes: ")
        self._read_bytes = now
        return max(0, now - before) if now is not None and before is not None else None

    def links(self, most: int) -> list[str] | None:
        """Return what the file descriptors refer to; None without permission."""
        found = []
        try:
            names = os.listdir(self._folder / "fd")  # noqa: PTH208  names, not paths, are wanted
        except PermissionError:
            return None
        except OSError:
            return []
        for name in names[:most]:
            with contextlib.suppress(OSError):
                found.append(os.readlink(self._folder / "fd" / name))  # noqa: PTH115  a path takes three times as long
        return found

    def is_in_other_network(self) -> bool:
        """Return True if the process is known to be in another network namespace than this thread."""
        try:
            return (self._folder / "ns/net").stat().st_ino != Path("/proc/thread-self/ns/net").stat().st_ino
        except OSError:
            return False
