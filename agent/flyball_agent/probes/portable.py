"""CPU, memory, disks and networks where there is no procfs (macOS, BSD), through psutil."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from flyball_agent.probes import cpu, disk, memory, network
from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.files import unavailable
from flyball_agent.probes.probe import Absent, Denied, Sample, Unavailable, Unsupported, Value
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import Reason, UnavailableReading

Answer = TypeVar("Answer")
Rows = Mapping[tuple[str, ...], Sequence[Value]]
"""The values of a group of metrics, by the labels of each resource."""


def _chosen(metrics: Sequence[Metric], *names: str) -> tuple[Metric, ...]:
    by_name = {metric.name: metric for metric in metrics}
    return tuple(by_name[name] for name in names)


BUSY = _chosen(cpu.HOST, "cpu_busy_ratio")[0]
CPU = (BUSY, *_chosen(cpu.HOST, "cpu_threads_online"))
MEMORY = _chosen(
    memory.METRICS, "memory_total_bytes", "memory_available_bytes", "memory_used_bytes", "memory_used_ratio"
)
SWAP = _chosen(memory.METRICS, "swap_total_bytes", "swap_used_bytes")
DISK = _chosen(
    disk.METRICS, "disk_read_bytes_total", "disk_written_bytes_total", "disk_reads_total", "disk_writes_total"
)

_NO_COMPARISON = UnavailableReading(
    "portable", BUSY.name, "", Reason.UNKNOWN, "no CPU time has passed since a reading before"
)
_SENT_DROPS_ARE_COUNTED = sys.platform == "linux"  # psutil's documentation: always 0 on macOS and BSD
_DOUBLES = frozenset(
    {"lo", "ap", "anpi", "awdl", "bridge", "enc", "epair", "gif", "llw", "pflog", "stf", "tun", "utun", "vmenet"}
)
"""Interfaces of macOS and BSD, less their numbers, whose traffic another one counts as well, or that carry none."""


def ask(question: str, **options: bool) -> Any:
    """What psutil's function of this name says; raises `Unavailable` with the reason."""
    try:
        import psutil  # noqa: PLC0415  an agent on Linux does not pay the memory
    except (ImportError, NotImplementedError) as error:
        raise Unavailable(f"psutil cannot be imported: {error}", "install psutil for this system") from None
    function = getattr(psutil, question, None)
    if function is None:
        raise Unsupported(f"psutil has no {question} on this system")
    return translated(question, lambda: function(**options))


def translated(question: str, call: Callable[[], Answer]) -> Answer:
    """The answer of a call to psutil, its errors in the words of probes."""
    import psutil  # noqa: PLC0415

    try:
        return call()
    except psutil.AccessDenied:
        raise Denied(f"psutil.{question}: access is denied", "run the agent as a user who may read it") from None
    except NotImplementedError:
        raise Unsupported(f"psutil.{question}: this system does not tell") from None
    except OSError as error:
        raise unavailable(f"psutil.{question}", error) from None
    except (psutil.Error, RuntimeError, ValueError) as error:
        raise Unavailable(f"psutil.{question}: {error}") from None


def is_watched(interface: str) -> bool:
    """As on Linux, less the names that other systems give to loopback, bridges and tunnels."""
    return network.is_watched(interface) and interface.rstrip("0123456789") not in _DOUBLES


def read_load() -> Rows:
    return {(window,): (average,) for window, average in zip(("1m", "5m", "15m"), ask("getloadavg"), strict=True)}


def read_modes() -> Rows:
    times = ask("cpu_times")
    return {(mode,): (getattr(times, mode),) for mode in cpu.MODES if hasattr(times, mode)}


def read_memory() -> Rows:
    """Used is what is not available, as on Linux; psutil's own `used` means something else on each system."""
    said = ask("virtual_memory")
    if not 0 <= said.available <= said.total or not said.total:
        return {(): (said.total or None, None, None, None)}
    used = said.total - said.available
    return {(): (said.total, said.available, used, used / said.total)}


def read_swap() -> Rows:
    said = ask("swap_memory")
    return {(): (said.total, said.used)}


def read_networks() -> Rows:
    said = ask("net_io_counters", pernic=True) or {}
    rows: Rows = {
        (name,): (
            *(n.bytes_recv, n.packets_recv, n.errin, n.dropin, n.bytes_sent, n.packets_sent, n.errout),
            n.dropout if _SENT_DROPS_ARE_COUNTED else None,
        )
        for name, n in sorted(said.items())
        if is_watched(name)
    }
    if not rows:
        raise Absent("no network interface but loopback")
    return rows


class PortableProbe:
    """What psutil tells alike everywhere, under the names and in the units of the probes of Linux."""

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
        self._gaps = Gaps(self.name, "psutil does not tell it on this system", Reason.UNSUPPORTED)
        self._before: tuple[float, ...] | None = None

    def read(self) -> Sample:
        labels: list[tuple[tuple[str, ...], ...]] = []
        values: list[Value] = []
        unavailable: list[UnavailableReading] = []
        for metrics, read in self._sources:
            rows: Rows = {}
            try:
                rows = read()
            except Unavailable as error:
                why = (error.reason, error.detail, error.remedy)
                unavailable += [UnavailableReading(self.name, metric.name, "", *why) for metric in metrics]
            labels.append(tuple(rows))
            for row in rows.values():
                values += row
        columns = self._columns.columns(*labels)
        gaps = self._gaps.unavailable(columns, values)
        unavailable += [_NO_COMPARISON if gap.metric == BUSY.name else gap for gap in gaps]
        return Sample(columns, values, tuple(unavailable))

    def _read_cpu(self) -> Rows:
        times = ask("cpu_times")
        now = tuple(getattr(times, mode, 0.0) for mode in cpu.MODES)
        before, self._before = self._before, now
        return {(): (cpu.busy_ratio(before, now) if before else None, ask("cpu_count"))}

    def _read_disks(self) -> Rows:
        """Whole disks that have been used, as on Linux."""
        said = ask("disk_io_counters", perdisk=True) or {}
        rows: Rows = {
            (name,): (n.read_bytes, n.write_bytes, n.read_count, n.write_count)
            for name, n in sorted(said.items())
            if (n.read_count or n.write_count) and disk.is_disk(name, self._block)
        }
        if not rows:
            raise Absent("no disk has been used on this host")
        return rows
