"""The series of one host: everything of their lines except the values, made once and kept while it is valid."""

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from flyball_collector.exporter import host_metrics
from flyball_collector.exporter.catalogue import Declaration, sample_name
from flyball_collector.exporter.escape import joined, label_names, labels_text
from flyball_collector.fleet.snapshot import HostView
from flyball_collector.fleet.step_totals import CallTotals
from flyball_proto.layout import Column
from flyball_proto.metric import Metric

_MAX_PREFIXES = 4 * (host_metrics.MAX_PROCESSES + 256 + host_metrics.MAX_SERVICES)
"""Prefixes of processes, ranks and services kept for a host. Beyond it they are made again."""


class Readings(NamedTuple):
    """A host's columns, not grouped yet: one entry for each series in each list."""

    declarations: list[Declaration]
    prefixes: list[bytes]
    offsets: list[int]  # positions of the columns in the host's layout
    metrics: list[tuple[Declaration, Metric]]  # each declaration with its metric
    repeated: int  # columns left out because another one has the same name and labels


class MetricEntry(NamedTuple):
    """A metric with the beginning of its lines."""

    metric: Metric
    declaration: Declaration
    start: bytes


class MetricCache:
    """The metrics that hosts use. Equal declarations are one object, and each metric is processed once."""

    def __init__(self) -> None:
        self._entries: dict[int, MetricEntry] = {}  # by identity: hashing a metric costs as much as writing a line
        self._declarations: dict[Declaration, Declaration] = {}

    def entry(self, metric: Metric) -> MetricEntry:
        """Return the entry of a metric."""
        entry = self._entries.get(id(metric))
        if entry is None:
            declaration = Declaration.of(metric)
            declaration = self._declarations.setdefault(declaration, declaration)
            entry = self._entries[id(metric)] = MetricEntry(metric, declaration, start(declaration.name))
        return entry

    def keep_only(self, readings: Iterable[Readings]) -> None:
        """Remove metrics that no host uses any more."""
        used = {id(metric): declaration for of_host in readings for declaration, metric in of_host.metrics}
        self._entries = {key: entry for key, entry in self._entries.items() if key in used}
        self._declarations = {declaration: declaration for declaration in used.values()}


def start(name: str) -> bytes:
    """Return a line up to its labels. It begins with the line feed that ends the previous line."""
    return f"\n{name}".encode()


def labels_end(labels: str) -> bytes:
    """Return a line from its labels up to the value."""
    return f"{{{labels}}} ".encode() if labels else b" "


def prefix(name: str, labels: str) -> bytes:
    """Return a line up to its value."""
    return start(name) + labels_end(labels)


class HostSeries:
    """Prefixes of a host's lines. `instance` is the host's name in the fleet's page, and empty in the host's own."""

    def __init__(self, instance: str, metric_cache: MetricCache) -> None:
        self._metric_cache = metric_cache
        self._instance = labels_text([("instance", instance)])
        self._layout: int | None = None
        self._readings = Readings([], [], [], [], 0)
        self._infos: dict[str, list[bytes]] = {}
        self._infos_of: tuple[object, ...] = ()
        self._dynamic: dict[Hashable, tuple[bytes, ...]] = {}
        self._tenancy: object = None
        self._runs: dict[str, list[bytes]] = {}
        self._runs_of: tuple[object, object] | None = None
        self.states = tuple(self._prefix(metric, ()) for metric, _ in host_metrics.STATE_METRICS)

    def readings(self, host: HostView) -> Readings:
        """Return the series of its columns."""
        digest = host.layout.digest if host.layout is not None else None
        if digest != self._layout:
            columns = host.layout.layout.columns if host.layout is not None else ()
            self._readings, self._layout = self._make_readings(columns), digest
        return self._readings

    def infos(self, host: HostView) -> dict[str, list[bytes]]:
        """Return complete lines with value 1, by the metric's name."""
        source = (host.agent_version, host.inventory, host.unavailable)
        if any(new is not old for new, old in zip(source, self._infos_of or (self,) * 3, strict=True)):
            lines: dict[str, list[bytes]] = {}
            for info in host_metrics.infos(host):
                lines.setdefault(info.metric.name, []).append(self._prefix(info.metric, info.labels) + b"1")
            self._infos = {name: list(dict.fromkeys(found)) for name, found in lines.items()}
            self._infos_of = source
        return self._infos

    def runs(self, host: HostView) -> dict[str, list[bytes]]:
        """Return complete lines that name the runs of the host and of its GPUs, by the metric's name."""
        reported = frozenset([totals.run for totals in host.steps])
        before = self._runs_of
        if before is None or before[0] is not host.tenancy or before[1] != reported:
            lines: dict[str, list[bytes]] = {}
            for info in host_metrics.runs_of(host.tenancy, reported):
                lines.setdefault(info.metric.name, []).append(self._prefix(info.metric, info.labels) + b"1")
            self._runs, self._runs_of = lines, (host.tenancy, reported)
        return self._runs

    def processes(self, host: HostView) -> list[tuple[tuple[bytes, ...], float | None, float | None]]:
        """Return (prefixes of memory and busy, memory, busy) of each process on its GPUs."""
        if host.tenancy is not self._tenancy:
            self._dynamic.clear()
            self._tenancy = host.tenancy
        found: dict[bytes, tuple[tuple[bytes, ...], float | None, float | None]] = {}
        for process in host_metrics.processes(host):
            prefixes = self._cached_prefixes(
                (process.gpu, process.pid),
                host_metrics.PROCESS_METRICS,
                lambda process=process: host_metrics.process_labels(process, host.tenancy),  # type: ignore[misc]
            )
            found.setdefault(
                prefixes[0],
                (
                    prefixes,
                    process.memory_used_bytes if process.HasField("memory_used_bytes") else None,
                    process.utilization_ratio if process.HasField("utilization_ratio") else None,
                ),
            )
        return list(found.values())

    def ranks(self, host: HostView) -> list[tuple[bytes, ...]]:
        """Return the prefixes of each rank's metrics, in the order of the host's steps."""
        metrics = tuple(metric for metric, _ in host_metrics.RUN_METRICS)
        return [
            self._cached_prefixes(
                (totals.run, totals.rank, "rank"),
                metrics,
                lambda totals=totals: host_metrics.rank_labels(totals),  # type: ignore[misc]
            )
            for totals in host.steps
        ]

    def calls(self, host: HostView) -> list[tuple[tuple[bytes, ...], CallTotals]]:
        """Return (prefixes, totals) of each service that a rank of the host calls."""
        metrics = tuple(metric for metric, _ in host_metrics.CALL_METRICS)
        return [
            (
                self._cached_prefixes(
                    (rank.run, rank.rank, call.service, "calls"),
                    metrics,
                    lambda rank=rank, call=call: host_metrics.call_labels(rank, call),  # type: ignore[misc]
                ),
                call,
            )
            for rank, call in host_metrics.calls(host)
        ]

    def _cached_prefixes(
        self, key: Hashable, metrics: tuple[Metric, ...], labels: Callable[[], host_metrics.Labels]
    ) -> tuple[bytes, ...]:
        prefixes = self._dynamic.get(key)
        if prefixes is None:
            if len(self._dynamic) >= _MAX_PREFIXES:
                self._dynamic.clear()
            pairs = labels()
            prefixes = self._dynamic[key] = tuple(self._prefix(metric, pairs) for metric in metrics)
        return prefixes

    def _prefix(self, metric: Metric, labels: host_metrics.Labels) -> bytes:
        return prefix(sample_name(metric), joined(self._instance, labels_text(labels)))

    def _make_readings(self, columns: tuple[Column, ...]) -> Readings:
        metrics = {id(column.metric): column.metric for column in columns}
        entries = {key: self._metric_cache.entry(metric) for key, metric in metrics.items()}
        ends: dict[tuple[tuple[str, ...], tuple[str, ...]], bytes] = {}  # many metrics have the labels of one GPU
        places: dict[bytes, int] = {}
        for offset, column in enumerate(columns):
            labels = column.metric.labels, column.labels
            end = ends.get(labels) or ends.setdefault(labels, self._end(*labels))
            places.setdefault(entries[id(column.metric)].start + end, offset)
        return Readings(
            declarations=[entries[id(columns[offset].metric)].declaration for offset in places.values()],
            prefixes=list(places),
            offsets=list(places.values()),
            metrics=[(entry.declaration, entry.metric) for entry in entries.values()],
            repeated=len(columns) - len(places),
        )

    def _end(self, names: tuple[str, ...], values: tuple[str, ...]) -> bytes:
        """Return the labels sorted by name, so that equal sets of labels give equal texts."""
        pairs = sorted(zip(label_names(names), values, strict=True))
        return labels_end(joined(self._instance, labels_text(pairs)))
