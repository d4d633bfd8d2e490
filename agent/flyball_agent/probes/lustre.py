"""Traffic of Lustre file systems that this host has mounted, from the statistics of the client (llite)."""

from collections.abc import Mapping
from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, count, entries
from flyball_agent.probes.probe import Absent, Denied, ProbeSample, Unavailable, Value
from flyball_proto.metric import counter

MICROSECONDS = 1_000_000
_LABEL = ("filesystem",)

METRICS = (
    counter("lustre_read_bytes_total", "bytes", "Bytes that processes read.", _LABEL),
    counter("lustre_written_bytes_total", "bytes", "Bytes that processes wrote.", _LABEL),
    counter("lustre_reads_total", "operations", "Read operations of processes.", _LABEL),
    counter("lustre_writes_total", "operations", "Write operations of processes.", _LABEL),
    counter("lustre_read_seconds_total", "seconds", "Total time of all read operations.", _LABEL, 1000),
    counter("lustre_write_seconds_total", "seconds", "Total time of all write operations.", _LABEL, 1000),
    counter("lustre_opens_total", "operations", "Times that a file was opened.", _LABEL),
)


def parse_stats(data: bytes) -> dict[bytes, tuple[Value, Value]]:
    """Return number and sum of each counter: `read_bytes 7 samples [bytes] 1 4096 8192` is (7, 8192).

    A counter has a line as soon as it has been used; some have no sum.
    """
    found: dict[bytes, tuple[Value, Value]] = {}
    for line in data.splitlines():
        words = line.split()
        if len(words) >= 4 and words[2] == b"samples":
            found[words[0]] = (count(words[1]), count(words[6]) if len(words) > 6 else None)
    return found


def stats_values(data: bytes) -> list[Value]:
    """Return the values of `METRICS`. A file without a snapshot time is not complete."""
    if not data.startswith(b"snapshot_time"):
        return [None] * len(METRICS)
    found = parse_stats(data)
    reads, read_bytes = found.get(b"read_bytes", (0, 0))
    writes, written_bytes = found.get(b"write_bytes", (0, 0))
    return [
        read_bytes,
        written_bytes,
        reads,
        writes,
        _seconds(found, b"read", reads),
        _seconds(found, b"write", writes),
        found.get(b"open", (0, None))[0],
    ]


def _seconds(found: Mapping[bytes, tuple[Value, Value]], name: bytes, operations: Value) -> Value:
    """Return the time of all operations. Versions before 2.14 count them under other names, without times."""
    _, microseconds = found.get(name, (0, 0 if operations == 0 else None))
    return None if microseconds is None else microseconds / MICROSECONDS


def filesystem_label(folder: str, folders: list[str]) -> str:
    """Return the name of the file system: `scratch` for `scratch-ffff8f3c`, unless it is mounted twice."""
    name = folder.rpartition("-")[0] or folder
    return name if sum(each.startswith(f"{name}-") for each in folders) < 2 else folder


class LustreProbe:
    """Reads all mounted Lustre file systems. Since version 2.12 the statistics are in debugfs, for root only."""

    name = "lustre"
    metrics = METRICS
    every_seconds = 10.0
    blocking = False

    def __init__(self, proc_root: Path, sys_root: Path) -> None:
        folders = (proc_root / "fs/lustre/llite", sys_root / "kernel/debug/lustre/llite")
        self._markers = (sys_root / "fs/lustre/llite", folders[0])
        self._columns = GroupedColumns(METRICS)
        self._gaps = Gaps(self.name, "not counted by this version of Lustre")
        self._files: Devices[KernelFile] = Devices(
            lambda: [
                str(folder / name)
                for folder in folders
                for name in entries(folder)
                if (folder / name / "stats").exists()
            ],
            lambda path: KernelFile(Path(path) / "stats", records=True),
        )

    def read(self) -> ProbeSample:
        files = self._files.current()
        if not files:
            self._files.request_scan()
            self._raise_reason()
        names = [Path(path).name for path in files]
        columns = self._columns.columns([(filesystem_label(name, names),) for name in names])
        values = [value for file in files.values() for value in stats_values(_content(file))]
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))

    def _raise_reason(self) -> None:
        if any(entries(folder) for folder in self._markers):
            raise Denied(
                "Lustre is mounted, but its statistics are in debugfs, which only root may read",
                "give the agent CAP_DAC_READ_SEARCH, or add lustre to probes.disabled",
            )
        raise Absent("no Lustre file system is mounted")


def _content(file: KernelFile) -> bytes:
    try:
        return file.read()
    except Unavailable:
        return b""
