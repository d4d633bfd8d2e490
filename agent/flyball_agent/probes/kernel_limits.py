"""Open files and tasks of the whole host with the kernel's limits for them, and tasks that hang."""

from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import LARGEST, KernelFile, count, count_of
from flyball_agent.probes.probe import ProbeSample, Unavailable, Value
from flyball_proto.metric import counter, gauge

METRICS = (
    gauge("open_files", "files", "Files, sockets and pipes that are open on the host."),
    gauge("open_files_limit", "files", "Maximum number of open files."),
    gauge("tasks", "tasks", "Threads and processes on the host."),
    gauge("tasks_limit", "tasks", "Maximum number of threads and processes."),
    counter(
        "hung_tasks_total",
        "events",
        "Times that the kernel found a task blocked for longer than kernel.hung_task_timeout_secs (120 s by default).",
    ),
)
_DETAILS = {
    "open_files_limit": "no limit is set",
    "hung_tasks_total": "it needs Linux 6.13 or newer with CONFIG_DETECT_HUNG_TASK",
}
UNLIMITED = LARGEST  # systemd sets fs.file-max to this value at start


def parse_file_nr(data: bytes) -> list[Value]:
    """Parse `/proc/sys/fs/file-nr`: allocated, free (always 0 since Linux 2.6), and limit."""
    fields = data.split()
    if len(fields) != 3:
        return [None, None]
    limit = count(fields[2])
    return [count(fields[0]), None if limit == UNLIMITED else limit]


def parse_tasks(data: bytes) -> int | None:
    """Parse the number of tasks from `/proc/loadavg`, such as 512 from `0.20 0.18 0.12 1/512 11206`."""
    fields = data.split()
    return count(fields[3].partition(b"/")[2]) if len(fields) > 3 else None


class KernelLimitProbe:
    """Reads the limits of the host and how much of each is used."""

    name = "kernel_limits"
    metrics = METRICS
    every_seconds = 10.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        kernel = proc_root / "sys/kernel"
        self._files = KernelFile(proc_root / "sys/fs/file-nr", size=256)
        self._tasks = KernelFile(proc_root / "loadavg", size=256)
        self._limits = [KernelFile(kernel / name, size=64) for name in ("threads-max", "pid_max")]
        self._hung = KernelFile(kernel / "hung_task_detect_count", size=64)
        self._columns = GroupedColumns(METRICS).columns(ONE)
        self._gaps = Gaps(self.name, "not provided by this kernel", details=_DETAILS)

    def read(self) -> ProbeSample:
        limits = [limit for limit in map(count_of, self._limits) if limit is not None]
        values: list[Value] = [
            *parse_file_nr(self._files.read_optional()),
            parse_tasks(self._tasks.read_optional()),
            min(limits) if limits else None,
            count_of(self._hung),
        ]
        if values.count(None) == len(values):
            raise Unavailable("/proc/sys: none of the expected files can be read")
        return ProbeSample(self._columns, values, self._gaps.unavailable(self._columns, values))
