"""Swapping, page faults, reclaim and OOM kills, from `/proc/vmstat`."""

import os
from collections.abc import Iterable
from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import LARGEST, KernelFile, count, number_after
from flyball_agent.probes.probe import ProbeSample, Unavailable, Value
from flyball_proto.metric import counter

PAGE = os.sysconf("SC_PAGE_SIZE")
KIB = 1024

FIELDS = (
    (b"pswpin", PAGE, counter("swap_in_bytes_total", "bytes", "Memory read back from swap.")),
    (b"pswpout", PAGE, counter("swap_out_bytes_total", "bytes", "Memory written to swap.")),
    (b"pgmajfault", 1, counter("memory_major_faults_total", "faults", "Page faults that read from a disk.")),
    (b"pgfault", 1, counter("memory_faults_total", "faults", "Page faults of any kind.")),
    (b"oom_kill", 1, counter("oom_kills_total", "processes", "Processes killed because memory ran out.")),
    (b"pgpgin", KIB, counter("paged_in_bytes_total", "bytes", "Data read from disks into the page cache.")),
    (b"pgpgout", KIB, counter("paged_out_bytes_total", "bytes", "Data written from the page cache to disks.")),
    (b"pgscan_kswapd", 1, counter("reclaim_background_pages_total", "pages", "Pages scanned by kswapd.")),
    (
        b"pgscan_direct",
        1,
        counter("reclaim_direct_pages_total", "pages", "Pages scanned by processes that waited for memory."),
    ),
    (
        b"compact_stall",
        1,
        counter("compaction_stalls_total", "stalls", "Times that an allocation waited for memory compaction."),
    ),
    (
        b"thp_fault_fallback",
        1,
        counter("hugepage_fallbacks_total", "faults", "Page faults for which no huge page was available."),
    ),
    (b"numa_pages_migrated", 1, counter("numa_migrated_pages_total", "pages", "Pages moved to another NUMA node.")),
)
METRICS = tuple(metric for _, _, metric in FIELDS)
_KEYS = tuple(b"\n" + key + b" " for key, _, _ in FIELDS)
_PER_ZONE = tuple(index for index, (key, _, _) in enumerate(FIELDS) if key.startswith(b"pgscan_"))
ZONES = (b"dma", b"dma32", b"normal", b"high", b"movable")
_FACTORS = tuple(factor for _, factor, _ in FIELDS)


class KeyPositions:
    """Finds keys in a text that hardly changes: each search starts near the position of the last one."""

    __slots__ = ("_keys", "_starts")

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._keys = tuple(keys)
        self._starts = [0] * len(self._keys)

    def numbers(self, data: bytes) -> list[int | None]:
        """Return the number behind each key, or None if the key is not found."""
        return [self._number(index, key, data) for index, key in enumerate(self._keys)]

    def _number(self, index: int, key: bytes, data: bytes) -> int | None:
        # Start a little before the old position: numbers mostly gain digits, but a reset may have removed some.
        start = data.find(key, max(0, self._starts[index] - 16))
        if start < 0:
            start = data.find(key)
        if start < 0:
            return None
        self._starts[index] = start
        start += len(key)
        return count(data[start : data.find(b"\n", start)])


def zone_sum(data: bytes, key: bytes) -> int | None:
    """Return the sum of a counter that kernels before 4.8 keep for each zone: `pgscan_direct_normal` and others."""
    found = [number_after(data, b"\n" + key + b"_" + zone + b" ") for zone in ZONES]
    known = [pages for pages in found if pages is not None]
    return sum(known) if known else None


class PagingProbe:
    """Reads swapping, page faults, reclaim and OOM kills."""

    name = "paging"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        self._vmstat = KernelFile(proc_root / "vmstat", records=True, size=16384)
        self._positions = KeyPositions(_KEYS)
        self._columns = GroupedColumns(METRICS).columns(ONE)
        self._gaps = Gaps(self.name, "not provided by this kernel")

    def read(self) -> ProbeSample:
        data = b"\n" + self._vmstat.read() + b"\n"
        numbers = self._positions.numbers(data)
        for index in _PER_ZONE:
            if numbers[index] is None:
                numbers[index] = zone_sum(data, FIELDS[index][0])
        values: list[Value] = [
            None if number is None or number * factor > LARGEST else number * factor
            for number, factor in zip(numbers, _FACTORS, strict=True)
        ]
        if values.count(None) == len(values):
            raise Unavailable("/proc/vmstat: none of the expected lines is there")
        return ProbeSample(self._columns, values, self._gaps.unavailable(self._columns, values))
