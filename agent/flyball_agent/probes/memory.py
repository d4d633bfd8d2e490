"""RAM and swap, from `/proc/meminfo`."""

from collections.abc import Callable
from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile, count_of, number_after
from flyball_agent.probes.periodic_reading import PeriodicReading
from flyball_agent.probes.probe import ProbeSample, Unavailable, Value
from flyball_proto.metric import gauge

KIB = 1024
MINIMUM_EVERY = 60
"""The kernel's minimum of free memory is read once a minute: only an operator changes it."""

DERIVED = (
    gauge("memory_total_bytes", "bytes", "RAM that the kernel manages."),
    gauge(
        "memory_available_bytes",
        "bytes",
        "RAM that new processes can use without swapping, estimated by the kernel (before Linux 3.14: by the agent).",
    ),
    gauge("memory_used_bytes", "bytes", "RAM that is not available: total − available."),
    gauge("memory_used_ratio", "ratio", "Share of RAM that is not available.", scale=10_000),
    gauge("swap_total_bytes", "bytes", "Swap space. 0: none."),
    gauge("swap_used_bytes", "bytes", "Swap space in use."),
    gauge("hugepages", "pages", "Huge pages reserved (hugetlb)."),
    gauge("hugepages_free", "pages", "Reserved huge pages that are free."),
    gauge("hugepage_bytes", "bytes", "Size of a reserved huge page."),
)
DIRECT = (
    (b"MemFree", gauge("memory_free_bytes", "bytes", "RAM that is used by nothing, not even by caches.")),
    (b"Buffers", gauge("memory_buffers_bytes", "bytes", "Caches of block devices.")),
    (b"Cached", gauge("memory_cached_bytes", "bytes", "Page cache, including shared memory.")),
    (b"Dirty", gauge("memory_dirty_bytes", "bytes", "Cached data that waits to be written to disk.")),
    (b"Writeback", gauge("memory_writeback_bytes", "bytes", "Cached data that is being written to disk.")),
    (b"AnonPages", gauge("memory_anonymous_bytes", "bytes", "Memory of processes that is not backed by a file.")),
    (b"Mapped", gauge("memory_mapped_bytes", "bytes", "Files mapped into processes.")),
    (b"Shmem", gauge("memory_shared_bytes", "bytes", "Shared memory and tmpfs, including /dev/shm.")),
    (b"Slab", gauge("memory_slab_bytes", "bytes", "Memory of kernel objects (slab).")),
    (b"SReclaimable", gauge("memory_slab_reclaimable_bytes", "bytes", "Part of the slab memory that can be freed.")),
    (b"PageTables", gauge("memory_page_tables_bytes", "bytes", "Page tables of processes.")),
    (b"Mlocked", gauge("memory_locked_bytes", "bytes", "Memory locked into RAM.")),
    (
        b"Committed_AS",
        gauge("memory_committed_bytes", "bytes", "Memory that the kernel has promised to processes, used or not."),
    ),
    (
        b"AnonHugePages",
        gauge("memory_anonymous_hugepages_bytes", "bytes", "Anonymous memory in transparent huge pages."),
    ),
)
METRICS = (*DERIVED, *(metric for _, metric in DIRECT))
_DIRECT_KEYS = tuple(b"\n" + key + b":" for key, _ in DIRECT)


def estimate_available(data: bytes, minimum_free: int | None) -> int | None:
    """Return what kernels since 3.14 report as MemAvailable, in bytes, or None if a part of it is unknown.

    Commit 34e431b0ae39 of Linux describes the formula: free memory above the low watermark, and those parts of the
    page cache and of reclaimable slab that exceed half of them or the low watermark. That is 5/4 of the minimum.
    """
    keys = (b"\nMemFree:", b"\nActive(file):", b"\nInactive(file):", b"\nSReclaimable:")
    free, active, inactive, slab = (_bytes(data, key) for key in keys)
    if minimum_free is None or free is None or active is None or inactive is None or slab is None:
        return None
    low = minimum_free * 5 // 4
    cache = active + inactive
    return max(0, free - low + cache - min(cache // 2, low) + slab - min(slab // 2, low))


def parse_meminfo(data: bytes, minimum_free: Callable[[], int | None] = lambda: None) -> list[Value]:
    """Parse the values of `METRICS` from `/proc/meminfo`. Only old kernels need the minimum of free bytes."""
    data = b"\n" + data
    total, available = _bytes(data, b"\nMemTotal:"), _bytes(data, b"\nMemAvailable:")
    if not total:
        raise Unavailable("/proc/meminfo: MemTotal is missing")
    if available is None:
        available = estimate_available(data, minimum_free())
    if available is not None and available > total:
        available = None
    swap_total, swap_free = _bytes(data, b"\nSwapTotal:"), _bytes(data, b"\nSwapFree:")
    return [
        total,
        available,
        None if available is None else total - available,
        None if available is None else (total - available) / total,
        swap_total,
        swap_total - swap_free
        if swap_total is not None and swap_free is not None and swap_free <= swap_total
        else None,
        number_after(data, b"\nHugePages_Total:"),
        number_after(data, b"\nHugePages_Free:"),
        _bytes(data, b"\nHugepagesize:"),
        *[_bytes(data, key) for key in _DIRECT_KEYS],
    ]


def _bytes(data: bytes, key: bytes) -> int | None:
    return number_after(data, key, b" kB", KIB)


class MemoryProbe:
    """Reads RAM and swap."""

    name = "memory"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        self._meminfo = KernelFile(proc_root / "meminfo")
        self._minimum = KernelFile(proc_root / "sys/vm/min_free_kbytes", size=64)
        self._minimum_free: PeriodicReading[int | None] = PeriodicReading(MINIMUM_EVERY)
        self._columns = GroupedColumns(METRICS).columns(ONE)
        self._gaps = Gaps(self.name, "not provided by this kernel")

    def read(self) -> ProbeSample:
        values = parse_meminfo(self._meminfo.read(), self._read_minimum_free)
        return ProbeSample(self._columns, values, self._gaps.unavailable(self._columns, values))

    def _read_minimum_free(self) -> int | None:
        return self._minimum_free.value(lambda: count_of(self._minimum, KIB))
