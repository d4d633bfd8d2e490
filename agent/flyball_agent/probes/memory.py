"""RAM and swap, from `/proc/meminfo`."""

from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile, number_after
from flyball_agent.probes.probe import ProbeSample, Unavailable, Value
from flyball_proto.metric import gauge

KIB = 1024

DERIVED = (
    gauge("memory_total_bytes", "bytes", "RAM that the kernel manages."),
    gauge(
        "memory_available_bytes", "bytes", "RAM that new processes can use without swapping (the kernel's estimate)."
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


def parse_meminfo(data: bytes) -> list[Value]:
    """Parse the values of `METRICS` from `/proc/meminfo`."""
    data = b"\n" + data
    total, available = _bytes(data, b"\nMemTotal:"), _bytes(data, b"\nMemAvailable:")
    if not total:
        raise Unavailable("/proc/meminfo: MemTotal is missing")
    if available is not None and not 0 <= available <= total:
        available = None
    swap_total, swap_free = _bytes(data, b"\nSwapTotal:"), _bytes(data, b"\nSwapFree:")
    return [
        total,
        available,
        None if available is None else total - available,
        None if available is None else (total - available) / total,
        swap_total,
        None if swap_total is None or swap_free is None else swap_total - swap_free,
        number_after(data, b"\nHugePages_Total:"),
        number_after(data, b"\nHugePages_Free:"),
        _bytes(data, b"\nHugepagesize:"),
        *[_bytes(data, key) for key in _DIRECT_KEYS],
    ]


def _bytes(data: bytes, key: bytes) -> int | None:
    kibibytes = number_after(data, key, b" kB")
    return None if kibibytes is None else kibibytes * KIB


class MemoryProbe:
    """Reads RAM and swap."""

    name = "memory"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        self._meminfo = KernelFile(proc_root / "meminfo")
        self._columns = GroupedColumns(METRICS).columns(ONE)
        self._gaps = Gaps(self.name, "not provided by this kernel")

    def read(self) -> ProbeSample:
        values = parse_meminfo(self._meminfo.read())
        return ProbeSample(self._columns, values, self._gaps.unavailable(self._columns, values))
