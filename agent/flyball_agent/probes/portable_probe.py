"""CPU, memory, disks and networks on systems without procfs (macOS, BSD), read with psutil."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from flyball_agent.probes import cpu, disk, memory, network
from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.files import unavailable
from flyball_agent.probes.probe import Absent, Denied, ProbeSample, Unavailable, Unsupported, Value
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import Reason, UnavailableReading

Result = TypeVar("Result")
Rows = Mapping[tuple[str, ...], Sequence[Value]]
"""The values of a group of metrics, by the labels of each resource."""


def _select(metrics: Sequence[Metric], *names: str) -> tuple[Metric, ...]:
    by_name = {metric.name: metric for metric in metrics}
    return tuple(by_name[name] for name in names)


BUSY = _select(cpu.HOST, "cpu_busy_ratio")[0]
CPU = (BUSY, *_select(cpu.HOST, "cpu_threads_online"))
MEMORY = _select(
    memory.METRICS, "memory_total_bytes", "memory_available_bytes", "memory_used_bytes", "memory_used_ratio"
)
SWAP = _select(memory.METRICS, "swap_total_bytes", "swap_used_bytes")
DISK = _select(
    disk.METRICS, "disk_read_bytes_total", "disk_written_bytes_total", "disk_reads_total", "disk_writes_total"
)

_FIRST = UnavailableReading(
    "portable", BUSY.name, "", Reason.UNKNOWN, "no CPU time has passed since an earlier reading"
)
_SENT_DROPS_ARE_COUNTED = sys.platform == "linux"  # psutil's documentation: always 0 on macOS and BSD
_UNWATCHED = frozenset(
    {"lo", "ap", "anpi", "awdl", "bridge", "enc", "epair", "gif", "llw", "pflog", "stf", "tun", "utun", "vmenet"}
)
"""Names without numbers of macOS and BSD interfaces whose traffic another interface also counts, or that have none."""


def call_psutil(name: str, **options: bool) -> Any:
    """Call a function of psutil. Raise `Unavailable` with the reason if it fails."""
    try:
        import psutil  # noqa: PLC0415  on Linux the agent saves its memory
    except (ImportError, NotImplementedError) as error:
        raise Unavailable(f"psutil cannot be imported: {error}", "install psutil for this system") from None
    function = getattr(psutil, name, None)
    if function is None:
        raise Unsupported(f"psutil has no {name} on this system")
    return translate_errors(name, lambda: function(**options))


def translate_errors(name: str, call: Callable[[], Result]) -> Result:
    """Make a call to psutil and translate its exceptions into those of probes."""
    import psutil  # noqa: PLC0415

    try:
        return call()
    except psutil.AccessDenied:
        raise Denied(f"psutil.{name}: permission denied", "run the agent as a user with this permission") from None
    except NotImplementedError:
        raise Unsupported(f"psutil.{name}: not supported on this system") from None
    except OSError as error:
        raise unavailable(f"psutil.{name}", error) from None
    except (psutil.Error, RuntimeError, ValueError) as error:
        raise Unavailable(f"psutil.{name}: {error}") from None


def is_watched(interface: str) -> bool:
    """Return True as on Linux, except for loopback, bridges and tunnels under their names on other systems."""
    return network.is_watched(interface) and interface.rstrip("0123456789") not in _UNWATCHED


def read_load() -> Rows:
    return {
        (window,): (average,) for window, average in zip(("1m", "5m", "15m"), call_psutil("getloadavg"), strict=True)
    }


def read_modes() -> Rows:
    times = call_psutil("cpu_times")
    return {(mode,): (getattr(times, mode),) for mode in cpu.MODES if hasattr(times, mode)}


def read_memory() -> Rows:
    """Read RAM. Used is what is not available, as on Linux; psutil's `used` differs between systems."""
    memory_now = call_psutil("virtual_memory")
    total, available = memory_now.total, memory_now.available
    if not 0 <= available <= total or not total:
        return {(): (total or None, None, None, None)}
    used = total - available
    return {(): (total, available, used, used / total)}


def read_swap() -> Rows:
    swap = call_psutil("swap_memory")
    return {(): (swap.total, swap.used)}


def read_networks() -> Rows:
    interfaces = call_psutil("net_io_counters", pernic=True) or {}
    rows: Rows = {
        (name,): (
            *(n.bytes_recv, n.packets_recv, n.errin, n.dropin, n.bytes_sent, n.packets_sent, n.errout),
            n.dropout if _SENT_DROPS_ARE_COUNTED else None,
        )
        for name, n in sorted(interfaces.items())
        if is_watched(name)
    }
    if not rows:
        raise Absent("no network interface except loopback")
    return rows


class PortableProbe:
    """Reads what psutil provides on every system, with the metric names and units of the Linux probes."""

    name = "portable"
    metrics = (*CPU, *cpu.LOAD, *cpu.MODE, *MEMORY, *SWAP, *DISK, *network.METRICS)
    every_seconds = 0.0
    blocking = False

    def __init__(self, sys_root: Path) -> None:
        self._block = sys_root / "block"
        self._sources: tuple[tuple[Sequence[Metric], Callable[[], Rows]], ...] = (
            (CPU, self._read_cpu),
            (cpu.LOAD, read_load),
            (cpu.MODE, read_modes),
            (MEMORY, read_memory),
            (SWAP, read_swap),
            (DISK, self._read_disks),
            (network.METRICS, read_networks),
        )
        self._columns = GroupedColumns(*(metrics for metrics, _ in self._sources))
        self._gaps = Gaps(self.name, "psutil does not provide it on this system", Reason.UNSUPPORTED)
        self._before: tuple[float, ...] | None = None

    def read(self) -> ProbeSample:
        labels: list[tuple[tuple[str, ...], ...]] = []
        values: list[Value] = []
        unavailable: list[UnavailableReading] = []
        for metrics, read in self._sources:
            rows: Rows = {}
            try:
                rows = read()
            except Unavailable as error:
                reason = (error.reason, error.detail, error.remedy)
                unavailable += [UnavailableReading(self.name, metric.name, "", *reason) for metric in metrics]
            labels.append(tuple(rows))
            for row in rows.values():
                values += row
        columns = self._columns.columns(*labels)
        gaps = self._gaps.unavailable(columns, values)
        unavailable += [_FIRST if gap.metric == BUSY.name else gap for gap in gaps]
        return ProbeSample(columns, values, tuple(unavailable))

    def _read_cpu(self) -> Rows:
        times = call_psutil("cpu_times")
        now = tuple(getattr(times, mode, 0.0) for mode in cpu.MODES)
        before, self._before = self._before, now
        return {(): (cpu.busy_ratio(before, now) if before else None, call_psutil("cpu_count"))}

    def _read_disks(self) -> Rows:
        """Read the disks that have been used, without partitions, as on Linux."""
        disks = call_psutil("disk_io_counters", perdisk=True) or {}
        rows: Rows = {
            (name,): (n.read_bytes, n.write_bytes, n.read_count, n.write_count)
            for name, n in sorted(disks.items())
            if (n.read_count or n.write_count) and disk.is_disk(name, self._block)
        }
        if not rows:
            raise Absent("no disk has been used on this host")
        return rows
