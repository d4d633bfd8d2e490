"""The series of one host: everything of their lines but the value, made once and kept while it holds."""

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from flyball_collector.exporter import about
from flyball_collector.exporter.catalogue import Declaration, sample_name
from flyball_collector.exporter.escape import joined, label_names, labels_text
from flyball_collector.fleet.snapshot import HostView
from flyball_proto.layout import Column
from flyball_proto.metric import Metric

_REMEMBERED = 4 * (about.MAX_PROCESSES + 256)
"""Prefixes of processes and ranks kept a host; they are made anew beyond."""


class Readings(NamedTuple):
    """A host's columns, grouped by nothing yet: one entry a series in each list."""

    declarations: list[Declaration]
    prefixes: list[bytes]
    offsets: list[int]  # place of the column in the host's layout
    metrics: list[tuple[Declaration, Metric]]  # each declaration with the metric that speaks for it
    repeated: int  # columns left out, for another has the same name and labels


class Word(NamedTuple):
    """A metric as lines of all hosts begin with it."""

    metric: Metric
    declaration: Declaration
    start: bytes


class Vocabulary:
    """The metrics that hosts use: equal declarations are one object, and each metric is looked into once."""

    def __init__(self) -> None:
        self._words: dict[int, Word] = {}  # by identity: a metric's own hash costs as much as a line
        self._declarations: dict[Declaration, Declaration] = {}

    def word(self, metric: Metric) -> Word:
        """What there is to know of a metric."""
        word = self._words.get(id(metric))
        if word is None:
            declaration = Declaration.of(metric)
            declaration = self._declarations.setdefault(declaration, declaration)
            word = self._words[id(metric)] = Word(metric, declaration, start(declaration.name))
        return word

    def forget_but(self, readings: Iterable[Readings]) -> None:
        """Let go of what no host uses any more."""
        used = {id(metric): declaration for of_host in readings for declaration, metric in of_host.metrics}
        self._words = {key: word for key, word in self._words.items() if key in used}
        self._declarations = {declaration: declaration for declaration in used.values()}


def start(name: str) -> bytes:
    """A line up to its labels. It begins with the line feed that ends the line before."""
    return f"\n{name}".encode()


def labels_end(labels: str) -> bytes:
    """From there to the value."""
    return f"{{{labels}}} ".encode() if labels else b" "


def prefix(name: str, labels: str) -> bytes:
    """A line up to its value."""
    return start(name) + labels_end(labels)


class HostSeries:
    """Prefixes of a host's lines. `instance` is the host's name in the whole fleet's page, empty in its own."""

    def __init__(self, instance: str, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._instance = labels_text([("instance", instance)])
        self._layout: int | None = None
        self._readings = Readings([], [], [], [], 0)
        self._infos: dict[str, list[bytes]] = {}
        self._infos_of: tuple[object, ...] = ()
        self._dynamic: dict[Hashable, tuple[bytes, ...]] = {}
        self._tenancy: object = None
        self.states = tuple(self._prefix(metric, ()) for metric, _ in about.STATE_METRICS)

    def readings(self, host: HostView) -> Readings:
        """Its columns."""
        digest = host.layout.digest if host.layout is not None else None
        if digest != self._layout:
            columns = host.layout.layout.columns if host.layout is not None else ()
            self._readings, self._layout = self._make_readings(columns), digest
        return self._readings

    def infos(self, host: HostView) -> dict[str, list[bytes]]:
        """Its whole lines of value 1, by the metric's name."""
        source = (host.agent_version, host.inventory, host.unavailable)
        if any(new is not old for new, old in zip(source, self._infos_of or (self,) * 3, strict=True)):
            lines: dict[str, list[bytes]] = {}
            for info in about.infos(host):
                lines.setdefault(info.metric.name, []).append(self._prefix(info.metric, info.labels) + b"1")
            self._infos = {name: list(dict.fromkeys(found)) for name, found in lines.items()}
            self._infos_of = source
        return self._infos

    def processes(self, host: HostView) -> list[tuple[tuple[bytes, ...], float | None, float | None]]:
        """(prefixes of memory and busy, memory, busy) of each process on its GPUs."""
        if host.tenancy is not self._tenancy:
            self._dynamic.clear()
            self._tenancy = host.tenancy
        found: dict[bytes, tuple[tuple[bytes, ...], float | None, float | None]] = {}
        for process in about.processes(host):
            prefixes = self._remember(
                (process.gpu, process.pid),
                about.PROCESS_METRICS,
                lambda process=process: about.process_labels(process, host.tenancy),  # type: ignore[misc]  # bound now
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
        """The prefixes of each rank's metrics, in the order of the host's steps."""
        metrics = tuple(metric for metric, _ in about.RUN_METRICS)
        return [
            self._remember((totals.run, totals.rank, "rank"), metrics, lambda totals=totals: about.rank_labels(totals))  # type: ignore[misc]  # bound now
            for totals in host.steps
        ]

    def _remember(
        self, key: Hashable, metrics: tuple[Metric, ...], labels: Callable[[], about.Labels]
    ) -> tuple[bytes, ...]:
        prefixes = self._dynamic.get(key)
        if prefixes is None:
            if len(self._dynamic) >= _REMEMBERED:
                self._dynamic.clear()
            pairs = labels()
            prefixes = self._dynamic[key] = tuple(self._prefix(metric, pairs) for metric in metrics)
        return prefixes

    def _prefix(self, metric: Metric, labels: about.Labels) -> bytes:
        return prefix(sample_name(metric), joined(self._instance, labels_text(labels)))

    def _make_readings(self, columns: tuple[Column, ...]) -> Readings:
        metrics = {id(column.metric): column.metric for column in columns}
        words = {key: self._vocabulary.word(metric) for key, metric in metrics.items()}
        ends: dict[tuple[tuple[str, ...], tuple[str, ...]], bytes] = {}  # many metrics have the labels of one GPU
        places: dict[bytes, int] = {}
        for offset, column in enumerate(columns):
            labels = column.metric.labels, column.labels
            end = ends.get(labels) or ends.setdefault(labels, self._end(*labels))
            places.setdefault(words[id(column.metric)].start + end, offset)
        return Readings(
            declarations=[words[id(columns[offset].metric)].declaration for offset in places.values()],
            prefixes=list(places),
            offsets=list(places.values()),
            metrics=[(word.declaration, word.metric) for word in words.values()],
            repeated=len(columns) - len(places),
        )

    def _end(self, names: tuple[str, ...], values: tuple[str, ...]) -> bytes:
        """The labels sorted by name: equal sets of labels look equal."""
        pairs = sorted(zip(label_names(names), values, strict=True))
        return labels_end(joined(self._instance, labels_text(pairs)))
