"""CPU time per core and mode, load and tasks, from `/proc/stat` and `/proc/loadavg`."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import LARGEST, KernelFile, number_after
from flyball_agent.probes.probe import ProbeSample, Unavailable, Value
from flyball_proto.metric import counter, gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading

MOST_TASKS = 2**31  # more tasks than a kernel can have
USER_HZ = 100  # unit of CPU times in procfs: ticks a second, the same on all current architectures
MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_BUSY = (1, 2, 3, 6, 7, 8)  # busy fields of a line of /proc/stat: all except idle (4) and iowait (5)

HOST = (
    gauge(
        "cpu_busy_ratio",
        "ratio",
        "Share of the CPU time of all cores since the previous tick that was not idle.",
        scale=10_000,
    ),
    gauge("cpu_threads_online", "threads", "Hardware threads that the kernel schedules on."),
    counter("context_switches_total", "switches", "Switches from one task to another."),
    counter("forks_total", "tasks", "Tasks created since boot."),
    gauge("tasks_runnable", "tasks", "Tasks that run or wait for a CPU."),
    gauge("tasks_blocked", "tasks", "Tasks that wait for I/O."),
)
LOAD = (gauge("load_average", "tasks", "Load average of the kernel over 1, 5 and 15 minutes.", ("window",), scale=100),)
MODE = (counter("cpu_seconds_total", "seconds", "CPU time of all cores by mode.", ("mode",), scale=USER_HZ),)
CORE = (counter("cpu_core_busy_seconds_total", "seconds", "Time in which the core was not idle.", ("core",), USER_HZ),)

_WINDOWS = (("1m",), ("5m",), ("15m",))
_MODE_LABELS = tuple((mode,) for mode in MODES)
_FIRST = UnavailableReading(
    "cpu", "cpu_busy_ratio", "", Reason.UNKNOWN, "the first reading has no earlier one to compare with"
)
_BACKWARDS = UnavailableReading(
    "cpu", "cpu_busy_ratio", "", Reason.FAILED, "no CPU time passed, or a core came or went"
)


class CpuTimes(NamedTuple):
    """Content of `/proc/stat`; times are in ticks of 1/100 s."""

    modes: tuple[int, ...]
    core_names: list[bytes]
    core_busy: list[int]
    context_switches: int | None
    forks: int | None
    runnable: int | None
    blocked: int | None


def parse_stat(data: bytes) -> CpuTimes:
    """Parse `/proc/stat`. Cores are converted column by column, which is five times faster than line by line."""
    first, end = data.find(b"\n"), data.find(b"\nintr ")
    width = len(data[:first].split())
    tokens = data[:end].split()
    if not tokens or tokens[0] != b"cpu" or width < 9 or len(tokens) % width:
        raise Unavailable("/proc/stat: the format of the CPU lines is not known")
    try:
        modes = tuple(map(int, tokens[1:9]))
        busy = [map(int, tokens[width + field :: width]) for field in _BUSY]
        core_busy = list(map(sum, zip(*busy, strict=True)))
    except ValueError:
        raise Unavailable("/proc/stat: CPU times are not numbers") from None
    if min(modes) < 0 or max(modes) > LARGEST or min(core_busy, default=0) < 0 or max(core_busy, default=0) > LARGEST:
        raise Unavailable("/proc/stat: CPU times are negative or too large")
    rest = data[end:]
    return CpuTimes(
        modes,
        tokens[width::width],
        core_busy,
        number_after(rest, b"\nctxt "),
        number_after(rest, b"\nprocesses "),
        number_after(rest, b"\nprocs_running "),
        number_after(rest, b"\nprocs_blocked "),
    )


def parse_load(data: bytes) -> list[float | None]:
    """Parse the three averages of `/proc/loadavg`."""
    try:
        one, five, fifteen = map(float, data.split(None, 3)[:3])
    except ValueError:
        return [None, None, None]
    return [one, five, fifteen] if all(0 <= load < MOST_TASKS for load in (one, five, fifteen)) else [None, None, None]


def busy_ratio(before: Sequence[float], now: Sequence[float]) -> float | None:
    """Return the share of time between two readings that was not idle; None if no time passed or it ran backwards.

    The result is limited to 0–1, because the kernel's iowait may fall a little between readings.
    """
    total = sum(now) - sum(before)
    idle = now[3] + now[4] - before[3] - before[4]
    return min(1.0, max(0.0, (total - idle) / total)) if total > 0 else None


def core_labels(names: Sequence[bytes]) -> tuple[tuple[str, ...], ...]:
    """Return the core numbers, such as 12 for `cpu12`."""
    if not all(name[:3] == b"cpu" and name[3:].isdigit() for name in names):
        raise Unavailable("/proc/stat: the format of the CPU lines is not known")
    return tuple((name[3:].decode(),) for name in names)


class CpuProbe:
    """Reads CPU time, load and tasks."""

    name = "cpu"
    metrics = (*HOST, *LOAD, *MODE, *CORE)
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        self._stat = KernelFile(proc_root / "stat", size=8192)
        self._load = KernelFile(proc_root / "loadavg", size=256)
        self._columns = GroupedColumns(HOST, LOAD, MODE, CORE)
        self._gaps = Gaps(self.name, "not provided by this kernel")
        self._core_names: list[bytes] = []
        self._core_labels: tuple[tuple[str, ...], ...] = ()
        self._before: tuple[int, ...] | None = None

    def read(self) -> ProbeSample:
        times = parse_stat(self._stat.read())
        if times.core_names != self._core_names:
            self._core_names, self._core_labels = times.core_names, core_labels(times.core_names)
            self._before = self._before and ()  # sums over different cores cannot be compared
        ratio = busy_ratio(self._before, times.modes) if self._before else None
        known: list[Value] = [len(times.core_names), *times[3:], *parse_load(self._load.read())]
        known += [ticks / USER_HZ for ticks in times.modes]
        known += [ticks / USER_HZ for ticks in times.core_busy]
        columns = self._columns.columns(ONE, _WINDOWS, _MODE_LABELS, self._core_labels)
        unavailable = self._gaps.unavailable(columns, [0, *known])
        if ratio is None:
            unavailable = (*unavailable, _FIRST if self._before is None else _BACKWARDS)
        self._before = times.modes
        return ProbeSample(columns, [ratio, *known], unavailable)
