"""Writes the fleet for Prometheus, in text format 0.0.4 and OpenMetrics 1.0.

The text is written in pieces of some hundred kilobytes, so that the caller can let other threads run in between.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from flyball_collector.exporter import host_metrics
from flyball_collector.exporter.catalogue import Catalogue, Declaration, header, sample_name
from flyball_collector.exporter.diagnosis import metrics as diagnosis
from flyball_collector.exporter.host_series import HostSeries, MetricCache
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.exporter.piece_writer import PieceWriter
from flyball_collector.exporter.series_plan import SeriesPlan, make_plan
from flyball_collector.fleet.snapshot import HostView, Snapshot
from flyball_proto.metric import Kind, Metric


class FleetWriter:
    """Renders snapshots of the whole fleet, and keeps unchanged parts from one to the next.

    Only one thread may use it at a time. `series` and `conflicting` are those of the newest rendering.
    """

    def __init__(self, vanish_after_seconds: float = 15.0, *, instance: bool = True) -> None:
        self.conflicting = 0
        self._pieces = PieceWriter()
        self._instance = instance  # label each line with its host
        self._vanish_after_ns = int(vanish_after_seconds * 1e9)
        self._catalogue = Catalogue(map(Declaration.of, (*host_metrics.METRICS, *diagnosis.METRICS)))
        self._metric_cache = MetricCache()
        self._hosts: dict[str, HostSeries] = {}
        self._plan = SeriesPlan([], 0)
        self._generation: int | None = None

    @property
    def series(self) -> int:
        """Return the number of lines without HELP and TYPE."""
        return self._pieces.series

    def render(self, snapshot: Snapshot, format_: ExpositionFormat, now_ns: int) -> Iterator[bytes]:
        """Yield the lines of every host in pieces. Each line begins with a line feed, and none ends with one."""
        series = self._series_of(snapshot)
        reports_now = [now_ns - host.received_ns <= self._vanish_after_ns for host in snapshot.hosts]
        _blank_old_readings(snapshot, reports_now)
        self.conflicting = self._plan.conflicting
        self._pieces.begin()
        yield from self._states(snapshot.hosts, series, reports_now, format_)
        reporting = [
            (host, own) for host, own, reports in zip(snapshot.hosts, series, reports_now, strict=True) if reports
        ]
        yield from self._infos(reporting, format_)
        yield from self._processes(reporting, format_)
        yield from self._runs(reporting, format_)
        yield from self._calls(reporting, format_)
        for family in self._plan.families:
            name, metric = family.declaration.name, family.metric
            head = header(name, metric.kind, metric.help, metric.states, format_)
            minimum = 0.0 if metric.kind is Kind.COUNTER else -np.inf  # a negative counter is invalid
            yield from self._pieces.family(name, head, family.prefixes, snapshot.arena, family.places, minimum)

    def _series_of(self, snapshot: Snapshot) -> list[HostSeries]:
        if snapshot.generation != self._generation:
            before, self._hosts = self._hosts, {}
            for host in snapshot.hosts:
                own = before.get(host.name) or HostSeries(host.name if self._instance else "", self._metric_cache)
                self._hosts[host.name] = own
            parts = [(host.start, self._hosts[host.name].readings(host)) for host in snapshot.hosts]
            self._plan = make_plan(parts, self._catalogue)
            self._metric_cache.keep_only(readings for _, readings in parts)
            self._generation = snapshot.generation
        return [self._hosts[host.name] for host in snapshot.hosts]

    def _states(
        self,
        hosts: Sequence[HostView],
        series: Sequence[HostSeries],
        reports_now: Sequence[bool],
        format_: ExpositionFormat,
    ) -> Iterator[bytes]:
        for number, (metric, read) in enumerate(host_metrics.STATE_METRICS):
            values = [read(host, reports) for host, reports in zip(hosts, reports_now, strict=True)]
            prefixes = [own.states[number] for own in series]
            yield from self._pieces.family(metric.name, _head(metric, format_), prefixes, _array(values))

    def _infos(self, reporting: Sequence[tuple[HostView, HostSeries]], format_: ExpositionFormat) -> Iterator[bytes]:
        infos = [own.infos(host) for host, own in reporting]
        runs = [own.runs(host) for host, own in reporting]
        for metrics, found in ((host_metrics.INFO_METRICS, infos), (host_metrics.HELD_METRICS, runs)):
            for metric in metrics:
                lines = [line for of_host in found for line in of_host.get(metric.name, ())]
                yield from self._pieces.lines(metric.name, _head(metric, format_), lines)

    def _processes(
        self, reporting: Sequence[tuple[HostView, HostSeries]], format_: ExpositionFormat
    ) -> Iterator[bytes]:
        rows = [row for host, own in reporting for row in own.processes(host)]
        for number, metric in enumerate(host_metrics.PROCESS_METRICS):
            values = _array([row[1 + number] for row in rows])  # type: ignore[misc]  # 1 and 2 are the values
            prefixes = [row[0][number] for row in rows]
            yield from self._pieces.family(metric.name, _head(metric, format_), prefixes, values)

    def _runs(self, reporting: Sequence[tuple[HostView, HostSeries]], format_: ExpositionFormat) -> Iterator[bytes]:
        totals = [step for host, _ in reporting for step in host.steps]
        ranks = [rank for host, own in reporting for rank in own.ranks(host)]
        for number, (metric, read) in enumerate(host_metrics.RUN_METRICS):
            values = _array([read(each) for each in totals])
            prefixes = [rank[number] for rank in ranks]
            yield from self._pieces.family(metric.name, _head(metric, format_), prefixes, values)

    def _calls(self, reporting: Sequence[tuple[HostView, HostSeries]], format_: ExpositionFormat) -> Iterator[bytes]:
        calls = [call for host, own in reporting for call in own.calls(host)]
        for number, (metric, value_of) in enumerate(host_metrics.CALL_METRICS):
            values = _array([value_of(totals) for _, totals in calls])
            prefixes = [found[number] for found, _ in calls]
            yield from self._pieces.family(metric.name, _head(metric, format_), prefixes, values)


def render_fleet(
    snapshot: Snapshot, format_: ExpositionFormat, now_ns: int, vanish_after_seconds: float = 15.0
) -> bytes:
    """Return the page of the whole fleet once. `FleetWriter` is for repeated rendering."""
    return page(FleetWriter(vanish_after_seconds).render(snapshot, format_, now_ns), format_)


def render_host(
    snapshot: Snapshot,
    name: str,
    format_: ExpositionFormat,
    now_ns: int,
    vanish_after_seconds: float = 15.0,
    *,
    more: Iterable[bytes] = (),
) -> bytes | None:
    """Return one host's page without the label `instance`, which the scrape adds, or `None` if the host is unknown.

    `more` are pieces of other families, like the writer's own.
    """
    hosts = tuple(host for host in snapshot.hosts if host.name == name)
    if not hosts:
        return None
    single = Snapshot(snapshot.generation, hosts, snapshot.arena)
    readings = FleetWriter(vanish_after_seconds, instance=False).render(single, format_, now_ns)
    return page(chain(readings, more), format_)


def page(pieces: Iterator[bytes], format_: ExpositionFormat) -> bytes:
    """Join pieces, which begin with a line feed, into a page."""
    return b"".join([*pieces, ending(format_)]).removeprefix(b"\n")


def ending(format_: ExpositionFormat) -> bytes:
    """Return the end of a page."""
    return b"\n# EOF\n" if format_ is ExpositionFormat.OPENMETRICS else b"\n"


def _blank_old_readings(snapshot: Snapshot, reports_now: Sequence[bool]) -> None:
    """Set the old readings of hosts that do not report to unknown. The array belongs to the snapshot."""
    for host, reports in zip(snapshot.hosts, reports_now, strict=True):
        if not reports and host.layout is not None:
            snapshot.arena[host.start : host.start + host.layout.count] = np.nan


def _array(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)  # None becomes NaN


def _head(metric: Metric, format_: ExpositionFormat) -> bytes:
    return header(sample_name(metric), metric.kind, metric.help, (), format_)
