"""A host at a glance: what stands, what is busy, each GPU in a line. Pure: API answers in, what to print out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.diagnose import conditions_view
from flyball.command.gpu import gpu_words
from flyball.command.readings import DASH, amount, bar
from flyball.command.words import clean

HostAnswer = Mapping[str, Any]
Labels = tuple[tuple[str, str], ...]

_ALARMS = ("critical", "warning")
_PRESSURES = (("CPU", "cpu", "some"), ("memory", "memory", "some"), ("I/O", "io", "some"))
_LIMITED = (("/dev/shm", "shared_memory_used_ratio"), ("group memory", "cgroup_memory_used_ratio"))  # noqa: S108  a name
_TRAFFIC = (
    ("disks", "read", "disk_read_bytes_total", "written", "disk_written_bytes_total"),
    ("network", "in", "network_received_bytes_total", "out", "network_sent_bytes_total"),
)
_GPU_COLUMNS = (
    ("BUSY", "gpu_utilization_ratio", "ratio"),
    ("SM", "gpu_sm_active_ratio", "ratio"),
    ("MEMORY", "gpu_memory_used_bytes", "bytes"),
    ("OF", "gpu_memory_total_bytes", "bytes"),
    ("HOT", "gpu_temperature_celsius", "celsius"),
    ("POWER", "gpu_power_watts", "watts"),
    ("LIMIT", "gpu_power_limit_watts", "watts"),
    ("CLOCK", "gpu_sm_clock_hertz", "hertz"),
)


class Newest:
    """The newest readings, by metric and labels; what is unknown is not among them."""

    def __init__(self, readings: Sequence[HostAnswer]) -> None:
        self._values: dict[str, dict[Labels, float]] = {}
        for each in readings:
            values = self._values.setdefault(each["metric"], {})
            if each["value"] is not None:
                values[tuple(sorted(each["labels"].items()))] = each["value"]

    def all(self, metric: str) -> dict[Labels, float]:
        """Of every resource."""
        return self._values.get(metric, {})

    def of(self, metric: str, **labels: str) -> float | None:
        """Of one resource."""
        return self.all(metric).get(tuple(sorted(labels.items())))

    def gpus(self) -> list[tuple[str, str]]:
        """UUID and index of each GPU that says anything, as `nvidia-smi` orders them."""
        told = {(values.get("gpu", ""), values.get("index", "")) for values in self._labels()}
        return sorted(told, key=lambda gpu: (not gpu[1].isdigit(), int(gpu[1]) if gpu[1].isdigit() else 0, gpu[0]))

    def _labels(self) -> Iterator[dict[str, str]]:
        for metric in ("gpu_lost", *(name for _, name, _ in _GPU_COLUMNS)):
            yield from map(dict, self.all(metric))


def overview(told: HostAnswer, before: HostAnswer | None = None) -> list[RenderableType]:
    """What fits one screen; with what was told `before` also the traffic since."""
    newest = Newest(told["readings"])
    alarms = [each for each in told["conditions"] if each["severity"] in _ALARMS]
    sections: list[RenderableType] = [*conditions_view(alarms), Text(), _meters(newest)]
    traffic = _traffic(told, before)
    return [*sections, *([traffic] if traffic else []), *_gpus(newest)]


def _meters(newest: Newest) -> Table:
    grid = Table.grid(padding=(0, 1))
    for title, ratio, words in _shares(newest):
        grid.add_row(clean(title).replace("[", "\\["), bar(ratio), Text(amount(ratio, "ratio"), justify="right"), words)
    return grid


def _shares(newest: Newest) -> Iterator[tuple[str, float | None, str]]:
    """Title, share, and of what."""
    load, threads = newest.of("load_average", window="1m"), newest.of("cpu_threads_online")
    words = "" if load is None else f"load {load:.1f} on {amount(threads, 'threads')} threads"
    yield "CPU", newest.of("cpu_busy_ratio"), words
    yield "memory", newest.of("memory_used_ratio"), _of(newest, "memory_used_bytes", "memory_total_bytes")
    swap, used = newest.of("swap_total_bytes"), newest.of("swap_used_bytes")
    if swap and used is not None:
        yield "swap", used / swap, _of(newest, "swap_used_bytes", "swap_total_bytes")
    for title, metric in _LIMITED:
        if (ratio := newest.of(metric)) is not None:
            yield title, ratio, ""
    for labels, ratio in newest.all("filesystem_used_ratio").items():
        mount = dict(labels).get("mount", "")
        yield mount, ratio, f"{amount(newest.of('filesystem_available_bytes', mount=mount), 'bytes')} free"
    for title, resource, extent in _PRESSURES:
        if (ratio := newest.of("pressure_ratio", resource=resource, extent=extent)) is not None:
            yield f"wait for {title}", ratio, ""


def _of(newest: Newest, used: str, total: str) -> str:
    part, whole = newest.of(used), newest.of(total)
    return "" if part is whole is None else f"{amount(part, 'bytes')} of {amount(whole, 'bytes')}"


def _traffic(told: HostAnswer, before: HostAnswer | None) -> Text | None:
    """Bytes a second since the record before, of all devices together; a restart counts from anew."""
    if before is None or before["epoch"] != told["epoch"] or told["time_unix"] <= before["time_unix"]:
        return None
    now, then, seconds = Newest(told["readings"]), Newest(before["readings"]), told["time_unix"] - before["time_unix"]
    words = []
    for title, *halves in _TRAFFIC:
        sides = zip(halves[::2], halves[1::2], strict=True)
        rates = [(side, _rate(now.all(metric), then.all(metric), seconds)) for side, metric in sides]
        told_rates = ", ".join(f"{side} {amount(rate, 'bytes/s')}" for side, rate in rates)
        words.append(f"{title}  {told_rates}")
    return Text("   ".join(words))


def _rate(now: Mapping[Labels, float], then: Mapping[Labels, float], seconds: float) -> float | None:
    grown = [value - then[labels] for labels, value in now.items() if value >= then.get(labels, float("inf"))]
    return sum(grown) / seconds if grown else None


def _gpus(newest: Newest) -> Iterable[RenderableType]:
    """A table, where there is any."""
    found = newest.gpus()
    if not found:
        return []
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="dim")
    for title in ("\nGPU", *(f"\n{title}" for title, _, _ in _GPU_COLUMNS)):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("\nSLOWED BY", overflow="fold")
    for gpu, index in found:
        of = {"gpu": gpu, "index": index} if index else {"gpu": gpu}
        name = gpu_words(gpu, int(index) if index.isdigit() else None).removeprefix("GPU ")
        cells = [amount(newest.of(metric, **of), unit) for _, metric, unit in _GPU_COLUMNS]
        table.add_row(Text(clean(name)), *cells, _slowed(newest, gpu))
    return [table]


def _slowed(newest: Newest, gpu: str) -> Text:
    """Why its clock is held down, or that it is gone."""
    lost = any(value and ("gpu", gpu) in labels for labels, value in newest.all("gpu_lost").items())
    if lost:
        return Text("lost", style="bold red")
    reasons = [
        dict(labels).get("reason", "").replace("_", " ")
        for labels, value in newest.all("gpu_throttle_active").items()
        if value and ("gpu", gpu) in labels
    ]
    return Text(clean(", ".join(reasons) or DASH), style="yellow" if reasons else "dim")
