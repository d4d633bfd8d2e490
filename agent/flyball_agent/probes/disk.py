"""Bytes, operations and times of each disk, from `/proc/diskstats`."""

from collections.abc import Sequence
from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile, counts
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import counter, gauge

SECTOR = 512  # unit of /proc/diskstats, independent of the disk's sector size
_LABEL = ("device",)
_PLACEHOLDERS = (b"loop", b"ram", b"zram", b"fd", b"sr")

METRICS = (
    counter("disk_read_bytes_total", "bytes", "Bytes read.", _LABEL),
    counter("disk_written_bytes_total", "bytes", "Bytes written.", _LABEL),
    counter("disk_reads_total", "operations", "Completed reads.", _LABEL),
    counter("disk_writes_total", "operations", "Completed writes.", _LABEL),
    counter(
        "disk_read_seconds_total", "seconds", "Total time of all reads. Divided by reads: mean latency.", _LABEL, 1000
    ),
    counter(
        "disk_write_seconds_total",
        "seconds",
        "Total time of all writes. Divided by writes: mean latency.",
        _LABEL,
        1000,
    ),
    counter("disk_busy_seconds_total", "seconds", "Time in which at least one operation was in flight.", _LABEL, 1000),
    counter(
        "disk_queue_seconds_total",
        "seconds",
        "Operations in flight × time. Its rate is the mean queue length.",
        _LABEL,
        1000,
    ),
    gauge("disk_in_flight", "operations", "Operations in flight.", _LABEL),
    counter("disk_discarded_bytes_total", "bytes", "Bytes discarded (TRIM).", _LABEL),
    counter("disk_flushes_total", "operations", "Completed flushes of the disk's cache.", _LABEL),
    counter("disk_flush_seconds_total", "seconds", "Total time of all flushes.", _LABEL, 1000),
)


def parse_diskstats(data: bytes) -> list[list[bytes]]:
    """Return the fields of each device that has been used. Placeholders and lines that do not parse are skipped."""
    rows = []
    for line in data.splitlines():
        fields = line.split()
        if len(fields) < 14 or fields[2].startswith(_PLACEHOLDERS):
            continue
        if fields[3] == b"0" and fields[7] == b"0":  # an unused nbd, an empty card reader
            continue
        rows.append(fields)
    return rows


def disk_values(fields: Sequence[bytes]) -> list[Value]:
    """Parse the values of `METRICS` from the fields of one device.

    https://docs.kernel.org/admin-guide/iostats.html numbers the fields.
    """
    n = counts(fields[3:20], SECTOR)
    if n is None:
        return [None] * len(METRICS)
    values: list[Value] = [
        n[2] * SECTOR,
        n[6] * SECTOR,
        n[0],
        n[4],
        n[3] / 1000,
        n[7] / 1000,
        n[9] / 1000,
        n[10] / 1000,
        n[8],
    ]
    values.append(n[13] * SECTOR if len(n) > 14 else None)  # since Linux 4.18
    values += (n[15], n[16] / 1000) if len(n) > 16 else (None, None)  # since Linux 5.5
    return values


def is_whole(name: str, block: Path) -> bool:
    """Return True for a whole disk; only these have a folder in /sys/block."""
    return (block / name.replace("/", "!")).is_dir() or not block.is_dir()


def is_disk(name: str, block: Path) -> bool:
    """Return True for a whole disk that is not a placeholder."""
    return not name.encode(errors="replace").startswith(_PLACEHOLDERS) and is_whole(name, block)


class DiskProbe:
    """Reads whole disks. The counters of a disk include those of its partitions."""

    name = "disk"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path, sys_root: Path) -> None:
        self._diskstats = KernelFile(proc_root / "diskstats", records=True, size=8192)
        self._block = sys_root / "block"
        self._columns = GroupedColumns(METRICS)
        self._gaps = Gaps(self.name, "not provided by this kernel")
        self._whole: dict[bytes, bool] = {}
        self._names: list[bytes] = []
        self._labels: tuple[tuple[str, ...], ...] = ()

    def read(self) -> ProbeSample:
        # A list that changes while the kernel writes it may have a disk twice.
        rows = {row[2]: row for row in parse_diskstats(self._diskstats.read()) if self._is_whole(row[2])}
        if not rows:
            raise Absent("no disk has been used on this host")
        names = list(rows)
        if names != self._names:
            self._names, self._labels = names, tuple((name.decode(errors="backslashreplace"),) for name in names)
        values: list[Value] = []
        for row in rows.values():
            values += disk_values(row)
        columns = self._columns.columns(self._labels)
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))

    def _is_whole(self, name: bytes) -> bool:
        """Return True for a whole disk; the result is cached by name."""
        known = self._whole.get(name)
        if known is None:
            known = self._whole[name] = is_whole(name.decode(errors="replace"), self._block)
        return known
