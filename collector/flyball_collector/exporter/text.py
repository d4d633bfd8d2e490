"""The fleet as text for Prometheus: text format 0.0.4 and OpenMetrics 1.0.

Written in pieces of some hundred kilobytes, so that whoever drives the writer can give way to other threads.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from flyball_collector.exporter import about
from flyball_collector.exporter.catalogue import Catalogue, Declaration, header, sample_name
from flyball_collector.exporter.diagnosis import metrics as diagnosis
from flyball_collector.exporter.negotiation import Format
from flyball_collector.exporter.pieces import Pieces
from flyball_collector.exporter.plan import Plan, make_plan
from flyball_collector.exporter.series import HostSeries, Vocabulary
from flyball_collector.fleet.snapshot import HostView, Snapshot
from flyball_proto.metric import Kind, Metric


class FleetWriter:
    """Renders snapshots of the whole fleet; keeps what does not change from one to the next.

    One thread at a time. `series` and `conflicting` tell of the newest rendering.
    """

    def __init__(self, vanish_after_seconds: float = 15.0, *, instance: bool = True) -> None:
        self.conflicting = 0
        self._pieces = Pieces()
        self._instance = instance  # label each line with its host
        self._vanish_after_ns = int(vanish_after_seconds * 1e9)
        self._catalogue = Catalogue(map(Declaration.of, (*about.METRICS, *diagnosis.METRICS)))
        self._vocabulary = Vocabulary()
        self._hosts: dict[str, HostSeries] = {}
        self._plan = Plan([], 0)
        self._generation: int | None = None

    @property
    def series(self) -> int:
        """Lines, but for HELP and TYPE."""
        return self._pieces.series

    def render(self, snapshot: Snapshot, format_: Format, now_ns: int) -> Iterator[bytes]:
        """The lines of every host, in pieces; each line begins with a line feed, and none ends with one."""
        series = self._series_of(snapshot)
        fresh = [now_ns - host.received_ns <= self._vanish_after_ns for host in snapshot.hosts]
        _blank_silent(snapshot, fresh)
        self.conflicting = self._plan.conflicting
        self._pieces.begin()
        yield from self._states(snapshot.hosts, series, fresh, format_)
        heard = [(host, own) for host, own, alive in zip(snapshot.hosts, series, fresh, strict=True) if alive]
        yield from self._infos(heard, format_)
        yield from self._processes(heard, format_)
        yield from self._runs(heard, format_)
        for family in self._plan.families:
            name, metric = family.declaration.name, family.metric
            head = header(name, metric.kind, metric.help, metric.states, format_)
            least = 0.0 if metric.kind is Kind.COUNTER else -np.inf  # a negative count is no count
            yield from self._pieces.family(name, head, family.prefixes, snapshot.arena, family.places, least)

    def _series_of(self, snapshot: Snapshot) -> list[HostSeries]:
        if snapshot.generation != self._generation:
            before, self._hosts = self._hosts, {}
            for host in snapshot.hosts:
                own = before.get(host.name) or HostSeries(host.name if self._instance else "", self._vocabulary)
                self._hosts[host.name] = own
            parts = [(host.start, self._hosts[host.name].readings(host)) for host in snapshot.hosts]
            self._plan = make_plan(parts, self._catalogue)
            self._vocabulary.forget_but(readings for _, readings in parts)
            self._generation = snapshot.generation
        return [self._hosts[host.name] for host in snapshot.hosts]

    def _states(
        self, hosts: Sequence[HostView], series: Sequence[HostSeries], fresh: Sequence[bool], format_: Format
    ) -> Iterator[bytes]:
        for number, (metric, read) in enumerate(about.STATE_METRICS):
            values = [read(host, alive) for host, alive in zip(hosts, fresh, strict=True)]
            prefixes = [own.states[number] for own in series]
            yield from self._pieces.family(metric.name, _head(metric, format_), prefixes, _array(values))

    def _infos(self, heard: Sequence[tuple[HostView, HostSeries]], format_: Format) -> Iterator[bytes]:
        found = [own.infos(host) for host, own in heard]
        for metric in about.INFO_METRICS:
            lines = [line for infos in found for line in infos.get(metric.name, ())]
            yield from self._pieces.whole(metric.name, _head(metric, format_), lines)

    def _processes(self, heard: Sequence[tuple[HostView, HostSeries]], format_: Format) -> Iterator[bytes]:
        rows = [row for host, own in heard for row in own.processes(host)]
        for number, metric in enumerate(about.PROCESS_METRICS):
            values = _array([row[1 + number] for row in rows])  # type: ignore[misc]  # 1 and 2 are the values
            prefixes = [row[0][number] for row in rows]
            yield from self._pieces.family(metric.name, _head(metric, format_), prefixes, values)

    def _runs(self, heard: Sequence[tuple[HostView, HostSeries]], format_: Format) -> Iterator[bytes]:
        totals = [step for host, _ in heard for step in host.steps]
        ranks = [rank for host, own in heard for rank in own.ranks(host)]
        for number, (metric, read) in enumerate(about.RUN_METRICS):
            values = _array([read(each) for each in totals])
            prefixes = [rank[number] for rank in ranks]
            yield from self._pieces.family(metric.name, _head(metric, format_), prefixes, values)


def render_fleet(snapshot: Snapshot, format_: Format, now_ns: int, vanish_after_seconds: float = 15.0) -> bytes:
    """The whole fleet's page, made from nothing; `FleetWriter` is for doing it again and again."""
    return page(FleetWriter(vanish_after_seconds).render(snapshot, format_, now_ns), format_)


def render_host(
    snapshot: Snapshot,
    name: str,
    format_: Format,
    now_ns: int,
    vanish_after_seconds: float = 15.0,
    *,
    more: Iterable[bytes] = (),
) -> bytes | None:
    """One host's page, without the label `instance`, which the scrape adds; `None` when the host is unknown.

    `more` are pieces of other families, as the writer's own.
    """
    hosts = tuple(host for host in snapshot.hosts if host.name == name)
    if not hosts:
        return None
    alone = Snapshot(snapshot.generation, hosts, snapshot.arena)
    readings = FleetWriter(vanish_after_seconds, instance=False).render(alone, format_, now_ns)
    return page(chain(readings, more), format_)


def page(pieces: Iterator[bytes], format_: Format) -> bytes:
    """A page from pieces that begin with a line feed."""
    return b"".join([*pieces, ending(format_)]).removeprefix(b"\n")


def ending(format_: Format) -> bytes:
    """What closes a page."""
    return b"\n# EOF\n" if format_ is Format.OPENMETRICS else b"\n"


def _blank_silent(snapshot: Snapshot, fresh: Sequence[bool]) -> None:
    """What a host said last is not what it says now. The arena is the snapshot's own."""
    for host, alive in zip(snapshot.hosts, fresh, strict=True):
        if not alive and host.layout is not None:
            snapshot.arena[host.start : host.start + host.layout.count] = np.nan


def _array(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)  # None becomes NaN


def _head(metric: Metric, format_: Format) -> bytes:
    return header(sample_name(metric), metric.kind, metric.help, (), format_)
