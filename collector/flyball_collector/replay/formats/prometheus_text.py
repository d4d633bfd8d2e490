"""Reads samples of DCGM and node_exporter in Prometheus' text formats: scrapes, /federate, `promtool tsdb dump`."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from flyball_collector.replay.csv_rows import CsvRow
from flyball_collector.replay.csv_times import seconds_of
from flyball_collector.replay.formats.reading_rows import MEGAHERTZ, MIB, PERCENT, NumberedLines, row_of

_GPU_METRICS = {
    "DCGM_FI_DEV_GPU_UTIL": ("gpu_utilization_ratio", PERCENT),
    "DCGM_FI_DEV_POWER_USAGE": ("gpu_power_watts", 1.0),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": ("gpu_power_limit_watts", 1.0),
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": ("gpu_power_limit_watts", 1.0),
    "DCGM_FI_DEV_GPU_TEMP": ("gpu_temperature_celsius", 1.0),
    "DCGM_FI_DEV_SLOWDOWN_TEMP": ("gpu_slowdown_temperature_celsius", 1.0),
    "DCGM_FI_DEV_SM_CLOCK": ("gpu_sm_clock_hertz", MEGAHERTZ),
    "DCGM_FI_DEV_FB_TOTAL": ("gpu_memory_total_bytes", MIB),
    "DCGM_FI_DEV_FB_USED": ("gpu_memory_used_bytes", MIB),
}
_FREE, _USED = "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_USED"
_MEMORY_TOTAL, _MEMORY_AVAILABLE = "node_memory_MemTotal_bytes", "node_memory_MemAvailable_bytes"
_CPU = "node_cpu_seconds_total"
METRICS = (*_GPU_METRICS, _FREE, _MEMORY_TOTAL, _MEMORY_AVAILABLE, _CPU)

_IDLE_MODES = frozenset({"idle", "iowait"})
_COUNTED_TWICE = frozenset({"guest", "guest_nice"})  # of node_exporter: user and nice contain them

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)?\s*(\{.*\})?\s+([^\s{}\"]+)(?:\s+(-?[\d.eE+]+))?\s*(?:#\s*\{.*)?")
_LABEL = re.compile(r'([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_COMMENTS = ("# HELP ", "# TYPE ", "# UNIT ", "# EOF")

_MAX_LINE = 4096
"""Lines with the labels of DCGM and node_exporter take a few hundred characters."""

_Place = tuple[str, float]
"""A host and a time."""


def is_head(line: str) -> bool:
    """Return True for the first line of a file in a text format of Prometheus."""
    if line.startswith(_COMMENTS):
        return True
    found = _SAMPLE.fullmatch(line.strip()) if len(line) <= _MAX_LINE else None
    return found is not None and bool(found[1] or found[2]) and _is_number(found[3])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Series(NamedTuple):
    """The name and the labels that count."""

    metric: str
    host: str
    gpu: str
    mode: str


@dataclass(slots=True)
class _Clock:
    """Counts scrapes without times: each begins when a series comes again."""

    every_seconds: float
    scrape: int = 0
    seen: set[str] = field(default_factory=set)

    def seconds(self, series: str) -> float:
        """Return the time of a series' sample."""
        if series in self.seen:
            self.scrape += 1
            self.seen.clear()
        self.seen.add(series)
        return self.scrape * self.every_seconds


@dataclass(slots=True)
class _Halves:
    """Figures that need more than one sample of the same time."""

    free: dict[tuple[_Place, str], float] = field(default_factory=dict)
    used: dict[tuple[_Place, str], float] = field(default_factory=dict)
    memory: dict[_Place, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    cpu: dict[_Place, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))  # idle, all
    texts: dict[_Place, str] = field(default_factory=dict)

    def add(self, series: _Series, place: _Place, text: str, value: float) -> None:
        """Keep a sample."""
        self.texts[place] = text
        if series.metric == _FREE:
            self.free[place, series.gpu] = value * MIB
        elif series.metric == _USED:
            self.used[place, series.gpu] = value * MIB
        elif series.metric == _CPU:
            if series.mode not in _COUNTED_TWICE:
                self.cpu[place][0] += value if series.mode in _IDLE_MODES else 0.0
                self.cpu[place][1] += value
        else:
            self.memory[place][series.metric] = value

    def rows(self) -> Iterator[CsvRow]:
        """Yield what could be put together."""
        for (place, gpu), free in self.free.items():
            if (used := self.used.get((place, gpu))) is not None:
                yield self._row(place, gpu, {"gpu_memory_total_bytes": used + free})
        for place, found in self.memory.items():
            if found.keys() >= {_MEMORY_TOTAL, _MEMORY_AVAILABLE}:
                total = found[_MEMORY_TOTAL]
                used = max(0.0, total - found[_MEMORY_AVAILABLE])
                yield self._row(place, "", {"memory_used_bytes": used, "memory_total_bytes": total})
        for place, busy in self._busy():
            yield self._row(place, "", {"cpu_busy_ratio": busy})

    def _busy(self) -> Iterator[tuple[_Place, float]]:
        """Yield the share of time in which CPUs were busy between two scrapes; a restart leaves one out."""
        before: dict[str, list[float]] = {}
        for (host, seconds), now in sorted(self.cpu.items()):
            last = before.get(host)
            before[host] = now
            if last is not None and now[1] > last[1] and now[0] >= last[0]:
                yield (host, seconds), max(0.0, 1 - (now[0] - last[0]) / (now[1] - last[1]))

    def _row(self, place: _Place, gpu: str, values: Mapping[str, float]) -> CsvRow:
        host, seconds = place
        return row_of(seconds, self.texts[place], host, gpu, values)


def read(lines: NumberedLines, host: str, every_seconds: float | None) -> Iterator[CsvRow]:
    """Yield the rows; metrics that are not in `METRICS` are left out."""
    clock = _Clock(every_seconds) if every_seconds is not None else None
    halves, found_any = _Halves(), False
    for number, line in lines.numbered():
        if line.startswith("#"):
            continue
        if len(line) > _MAX_LINE:
            raise lines.fault(number, f"longer than {_MAX_LINE} characters; not a sample")
        found = _SAMPLE.fullmatch(line.strip())
        if found is None or not (found[1] or found[2]):
            raise lines.fault(number, f"not a sample such as 'name{{label=\"…\"}} 1': {line.strip()[:40]!r}")
        series = _series(found[1] or "", found[2] or "", host)
        if series is None:
            continue
        value = _value(lines, number, series.metric, found[3])
        seconds, text = _time(lines, number, found, clock)
        if value is None:
            continue
        found_any = True
        place = (series.host, seconds)
        if series.metric not in _GPU_METRICS or series.metric == _USED:
            halves.add(series, place, text, value)
        if series.metric in _GPU_METRICS:
            yield _gpu_row(lines, number, series, (seconds, text), value)
    if not found_any:
        raise lines.fault(1, f"no metric that is known; known ones are {', '.join(METRICS)}")
    yield from halves.rows()


def _gpu_row(lines: NumberedLines, number: int, series: _Series, at: tuple[float, str], value: float) -> CsvRow:
    ours, factor = _GPU_METRICS[series.metric]
    try:
        return row_of(*at, series.host, series.gpu, {ours: value * factor})
    except ValueError as error:
        raise lines.fault(number, f"{series.metric}: {error}") from None


def _value(lines: NumberedLines, number: int, metric: str, text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        raise lines.fault(number, f"{metric} {text!r} is not a number") from None
    return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124  NaN


def _time(lines: NumberedLines, number: int, found: re.Match[str], clock: _Clock | None) -> tuple[float, str]:
    """Return the time of a sample, and how the input writes it."""
    if found[4]:
        try:
            return seconds_of(found[4]), found[4]
        except ValueError as error:
            raise lines.fault(number, str(error)) from None
    if clock is None:
        raise lines.fault(number, "samples have no times; add --every SECONDS, the time between two scrapes")
    seconds = clock.seconds(f"{found[1] or ''}{found[2] or ''}")
    return seconds, f"{seconds:g}"


@lru_cache(maxsize=16_384)
def _series(name: str, labels: str, host: str) -> _Series | None:
    """Return the series, or None for one that does not count."""
    if name and name not in METRICS:
        return None
    given = dict(_LABEL.findall(labels))
    metric = name or given.get("__name__", "")
    if metric not in METRICS or given.get("GPU_I_ID"):  # a MIG instance is a part of a GPU
        return None
    named = given.get("Hostname") or given.get("hostname") or given.get("instance", "").rpartition(":")[0]
    gpu = given.get("gpu") or given.get("UUID", "")
    return _Series(metric, named or given.get("instance") or host, gpu, given.get("mode", ""))
