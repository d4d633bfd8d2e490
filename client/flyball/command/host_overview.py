"""One screen about a host: active problems, load, and one line for each GPU.

The functions are pure: they turn answers of the API into what is printed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.diagnose import conditions_view
from flyball.command.gpu_name import gpu_name
from flyball.command.printable import printable
from flyball.command.readings import DASH, amount, bar

HostAnswer = Mapping[str, Any]
Labels = tuple[tuple[str, str], ...]

_SHOWN_SEVERITIES = ("critical", "warning")
_PRESSURES = (("CPU", "cpu", "some"), ("memory", "memory", "some"), ("I/O", "io", "some"))
_LIMITED = (
    ("/dev/shm", "shared_memory_used_ratio"),  # noqa: S108  a name
    ("cgroup memory", "cgroup_memory_used_ratio"),
)
_TRAFFIC = (
    ("disks", "read", "disk_read_bytes_total", "written", "disk_written_bytes_total"),
    ("network", "in", "network_received_bytes_total", "out", "network_sent_bytes_total"),
)
_GPU_COLUMNS = (
    ("BUSY", "gpu_utilization_ratio", "ratio"),
    ("SM", "gpu_sm_active_ratio", "ratio"),
    ("MEMORY", "gpu_memory_used_bytes", "bytes"),
    ("OF", "gpu_memory_total_bytes", "bytes"),
    ("TEMP", "gpu_temperature_celsius", "celsius"),
    ("POWER", "gpu_power_watts", "watts"),
    ("LIMIT", "gpu_power_limit_watts", "watts"),
    ("CLOCK", "gpu_sm_clock_hertz", "hertz"),
)


class LatestReadings:
    """The known ones of the latest readings, by metric and labels."""

    def __init__(self, readings: Sequence[HostAnswer]) -> None:
        self._values: dict[str, dict[Labels, float]] = {}
        for each in readings:
            values = self._values.setdefault(each["metric"], {})
            if each["value"] is not None:
                values[tuple(sorted(each["labels"].items()))] = each["value"]

    def all(self, metric: str) -> dict[Labels, float]:
        """Return the values of a metric for all resources."""
        return self._values.get(metric, {})

    def of(self, metric: str, **labels: str) -> float | None:
        """Return the value of a metric for one resource."""
        return self.all(metric).get(tuple(sorted(labels.items())))

    def gpus(self) -> list[tuple[str, str]]:
        """Return UUID and index of each GPU with a reading, in the order of `nvidia-smi`."""
        found = {(labels.get("gpu", ""), labels.get("index", "")) for labels in self._labels()}
        return sorted(found, key=lambda gpu: (not gpu[1].isdigit(), int(gpu[1]) if gpu[1].isdigit() else 0, gpu[0]))

    def _labels(self) -> Iterator[dict[str, str]]:
        for metric in ("gpu_lost", *(name for _, name, _ in _GPU_COLUMNS)):
            yield from map(dict, self.all(metric))


def overview(state: HostAnswer, before: HostAnswer | None = None) -> list[RenderableType]:
    """Return problems, meters and GPUs; with the state `before` also the traffic since then."""
    latest = LatestReadings(state["readings"])
    problems = [each for each in state["conditions"] if each["severity"] in _SHOWN_SEVERITIES]
    sections: list[RenderableType] = [*conditions_view(problems), Text(), _meters(latest)]
    traffic = _traffic(state, before)
    return [*sections, *([traffic] if traffic else []), *_gpus(latest)]


def _meters(latest: LatestReadings) -> Table:
    grid = Table.grid(padding=(0, 1))
    for title, ratio, details in _shares(latest):
        name = printable(title).replace("[", "\\[")
        grid.add_row(name, bar(ratio), Text(amount(ratio, "ratio"), justify="right"), details)
    return grid


def _shares(latest: LatestReadings) -> Iterator[tuple[str, float | None, str]]:
    """Yield title, ratio and details of each meter."""
    load, threads = latest.of("load_average", window="1m"), latest.of("cpu_threads_online")
    details = "" if load is None else f"load {load:.1f} on {amount(threads, 'threads')} threads"
    yield "CPU", latest.of("cpu_busy_ratio"), details
    yield "memory", latest.of("memory_used_ratio"), _of(latest, "memory_used_bytes", "memory_total_bytes")
    swap, used = latest.of("swap_total_bytes"), latest.of("swap_used_bytes")
    if swap and used is not None:
        yield "swap", used / swap, _of(latest, "swap_used_bytes", "swap_total_bytes")
    for title, metric in _LIMITED:
        if (ratio := latest.of(metric)) is not None:
            yield title, ratio, ""
    for labels, ratio in latest.all("filesystem_used_ratio").items():
        mount = dict(labels).get("mount", "")
        yield mount, ratio, f"{amount(latest.of('filesystem_available_bytes', mount=mount), 'bytes')} free"
    for title, resource, extent in _PRESSURES:
        if (ratio := latest.of("pressure_ratio", resource=resource, extent=extent)) is not None:
            yield f"{title} pressure", ratio, ""


def _of(latest: LatestReadings, used: str, total: str) -> str:
    part, whole = latest.of(used), latest.of(total)
    return "" if part is whole is None else f"{amount(part, 'bytes')} of {amount(whole, 'bytes')}"


def _traffic(state: HostAnswer, before: HostAnswer | None) -> Text | None:
    """Return the bytes per second of all devices since `before`; None after a restart of the agent."""
    if before is None or before["epoch"] != state["epoch"] or state["time_unix"] <= before["time_unix"]:
        return None
    now, then = LatestReadings(state["readings"]), LatestReadings(before["readings"])
    seconds = state["time_unix"] - before["time_unix"]
    parts = []
    for title, *halves in _TRAFFIC:
        sides = zip(halves[::2], halves[1::2], strict=True)
        rates = [(side, _rate(now.all(metric), then.all(metric), seconds)) for side, metric in sides]
        parts.append(f"{title}  " + ", ".join(f"{side} {amount(rate, 'bytes/s')}" for side, rate in rates))
    return Text("   ".join(parts))


def _rate(now: Mapping[Labels, float], then: Mapping[Labels, float], seconds: float) -> float | None:
    grown = [value - then[labels] for labels, value in now.items() if value >= then.get(labels, float("inf"))]
    return sum(grown) / seconds if grown else None


def _gpus(latest: LatestReadings) -> Iterable[RenderableType]:
    """Yield a table of the GPUs, if there are any."""
    found = latest.gpus()
    if not found:
        return
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="dim")
    for title in ("\nGPU", *(f"\n{title}" for title, _, _ in _GPU_COLUMNS)):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("\nSLOWED BY", overflow="fold")
    for gpu, index in found:
        of = {"gpu": gpu, "index": index} if index else {"gpu": gpu}
        name = gpu_name(gpu, int(index) if index.isdigit() else None).removeprefix("GPU ")
        cells = [amount(latest.of(metric, **of), unit) for _, metric, unit in _GPU_COLUMNS]
        table.add_row(Text(printable(name)), *cells, _slowed(latest, gpu))
    yield table


def _slowed(latest: LatestReadings, gpu: str) -> Text:
    """Return why the clock of a GPU is reduced, or that the GPU is lost."""
    lost = any(value and ("gpu", gpu) in labels for labels, value in latest.all("gpu_lost").items())
    if lost:
        return Text("lost", style="bold red")
    reasons = [
        dict(labels).get("reason", "").replace("_", " ")
        for labels, value in latest.all("gpu_throttle_active").items()
        if value and ("gpu", gpu) in labels
    ]
    return Text(printable(", ".join(reasons) or DASH), style="yellow" if reasons else "dim")
