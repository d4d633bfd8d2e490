"""Writes the diagnosis for Prometheus: hosts, then runs. Each line is made once and kept while it is valid."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from flyball_collector.adjustments.shown.tally import AdjustmentFigures
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.exporter.catalogue import header, sample_name
from flyball_collector.exporter.diagnosis import metrics as m
from flyball_collector.exporter.diagnosis.active_lines import ActiveLines, GroupLines, is_shown, limited
from flyball_collector.exporter.diagnosis.snapshot import ConditionText, DiagnosisSnapshot, ExportedCondition, RunFigure
from flyball_collector.exporter.escape import joined, labels_text
from flyball_collector.exporter.host_series import labels_end, prefix, start
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.exporter.piece_writer import PieceWriter
from flyball_proto.metric import Metric

MAX_OF_HOST = 64
"""Maximum pieces of advice, and of driver errors, for a host."""

MAX_RUNS = 1024
"""Maximum number of runs, by name."""

MAX_LABEL = 200
"""Maximum characters of a label value."""

_T = TypeVar("_T")
Labels = tuple[tuple[str, str], ...]
Row = tuple[str, Labels, float | None]
"""The host or an empty name; labels; a value."""

_RUN_VALUES: tuple[tuple[Metric, Callable[[RunFigure], float | None]], ...] = (
    (m.RUN_STARTED, lambda run: run.started),
    (m.RUN_GPUS, lambda run: run.gpus),
    (m.RUN_RANKS, lambda run: run.ranks),
    (m.RUN_MEDIAN, lambda run: run.median_seconds),
    (m.RUN_SLOWEST, lambda run: run.slowest_seconds),
    (m.RUN_LEFT, lambda run: run.left),
    (m.RUN_LEFT_LOW, lambda run: run.left_low),
    (m.RUN_LEFT_HIGH, lambda run: run.left_high),
    (m.RUN_CHECKPOINT, lambda run: run.last_checkpoint),
    (m.RUN_FLOPS, lambda run: run.flops_per_token),
    (m.RUN_PEAK_FLOPS, lambda run: run.peak_flops),
)
_RISK_VALUES: tuple[tuple[Metric, Callable[[ExportedCondition], float | None]], ...] = (
    (m.RISK_LEFT, lambda active: active.left),
    (m.RISK_LEFT_LOW, lambda active: active.left_low),
    (m.RISK_LEFT_HIGH, lambda active: active.left_high),
    (m.RISK_PROBABILITY, lambda active: active.probability),
    (m.RISK_FORECAST_TIME, lambda active: active.forecast_at),
)


class DiagnosisWriter:
    """Renders snapshots of the diagnosis. Only one thread may use it at a time. `series` is of the newest rendering."""

    def __init__(self, *, instance: bool = True) -> None:
        self._pieces = PieceWriter()
        self._instance = instance  # label each line with its host
        self._columns: dict[tuple[str, str], tuple[Sequence[str], list[bytes]]] = {}  # along hosts
        self._instances: tuple[Sequence[str], list[str]] = ((), [])
        self._lines: dict[Hashable, bytes] = {}  # of the newest rendering
        self._active_lines = ActiveLines(lambda each: self._prefix(m.ACTIVE, each.subject.host, _condition(each)))

    @property
    def series(self) -> int:
        """Return the number of lines without HELP and TYPE."""
        return self._pieces.series

    def render(
        self,
        snapshot: DiagnosisSnapshot,
        format_: ExpositionFormat,
        *,
        known: Collection[str],
        reporting: Collection[str],
        runs: bool = True,
    ) -> Iterator[bytes]:
        """Yield lines of `known` hosts, readings of `reporting` ones, and runs, in pieces like the fleet's."""
        self._pieces.begin()
        before, self._lines = self._lines, {}
        shown = self._active_lines.groups(snapshot.active, known, reporting, runs=runs)
        yield from self._hosts(snapshot, shown, format_, known, reporting)
        yield from self._active(shown, format_)
        wanted = frozenset(reporting) | frozenset([""] if runs else [])  # a run has no host
        texts = limited(each for each in snapshot.texts if is_shown(each, known, wanted))
        yield from self._family(m.INFO, [(each.subject.host, _info(each), 1) for each in texts], before, format_)
        for metric, rows in self._rows(snapshot, shown, reporting, runs=runs):
            yield from self._family(metric, rows, before, format_)

    def _hosts(
        self,
        snapshot: DiagnosisSnapshot,
        shown: Sequence[GroupLines],
        format_: ExpositionFormat,
        known: Collection[str],
        reporting: Collection[str],
    ) -> Iterator[bytes]:
        """Yield families for which many hosts have the same series."""
        scores, waste = snapshot.scores, snapshot.waste
        yield from self._along(m.BASE_SCORE, "resource", scores.hosts, scores.base, reporting, format_)
        yield from self._along(m.SCORE, "bottleneck", scores.hosts, scores.bottlenecks, reporting, format_)
        yield from self._along(m.CONFIDENCE, "bottleneck", scores.hosts, scores.confidences, reporting, format_)
        names = tuple(known)
        yield from self._along(m.COUNT, "severity", names, _counts(shown, names), known, format_)
        lost = [(cause, waste.seconds[:, place]) for place, cause in enumerate(waste.causes)]
        spent = [(cause, np.where(seconds > 0, seconds, np.nan)) for cause, seconds in lost]
        yield from self._along(m.WASTED, "cause", waste.hosts, spent, reporting, format_)

    def _active(self, shown: Sequence[GroupLines], format_: ExpositionFormat) -> Iterator[bytes]:
        lines = list(dict.fromkeys(chain.from_iterable(of_group.lines for of_group in shown)))
        yield from self._pieces.family(m.ACTIVE.name, _head(m.ACTIVE, format_), lines, np.ones(len(lines)))

    def _rows(
        self, snapshot: DiagnosisSnapshot, shown: Sequence[GroupLines], reporting: Collection[str], *, runs: bool
    ) -> Iterator[tuple[Metric, Iterable[Row]]]:
        """Yield families for which most hosts have no series."""
        yield m.PRIMARY, [(host, (("bottleneck", name),), 1) for host, name in snapshot.primary if host in reporting]
        risks = [each for of_group in shown for each in of_group.risks]
        risks += limited(each for each in snapshot.held_risks if each.subject.host in reporting)
        for metric, of_risk in _RISK_VALUES:
            yield metric, [(each.subject.host, _risk(each), of_risk(each)) for each in risks]
        advice = [each for each in snapshot.advice if each.host in reporting or (runs and not each.host)]
        listed = list(_limited(advice, lambda each: each.host))
        yield m.ADVICE, [(each.host, (("rule", each.rule), ("run", each.run)), 1) for each in listed]
        yield m.ADVICE_LOW, [(each.host, (("rule", each.rule), ("run", each.run)), each.gain_low) for each in listed]
        yield m.ADVICE_HIGH, [(each.host, (("rule", each.rule), ("run", each.run)), each.gain_high) for each in listed]
        xids = _limited([each for each in snapshot.xids if each.host in reporting], lambda each: each.host)
        yield m.XID_TIME, [(xid.host, (("gpu", xid.gpu), ("code", str(xid.code))), xid.seconds) for xid in xids]
        if runs:
            yield from self._runs(snapshot)

    @staticmethod
    def _runs(snapshot: DiagnosisSnapshot) -> Iterator[tuple[Metric, Iterable[Row]]]:
        figures = sorted(snapshot.runs, key=lambda figure: figure.run)[:MAX_RUNS]
        described = [figure for figure in figures if figure.source]
        yield m.RUN_INFO, [("", (("run", run.run), ("source", run.source), ("user", run.user)), 1) for run in described]
        for metric, of_run in _RUN_VALUES:
            yield metric, [("", (("run", figure.run),), of_run(figure)) for figure in figures]
        lost = sorted(snapshot.waste.runs)
        names = set(sorted({run for run, _, _ in lost})[:MAX_RUNS])
        yield m.RUN_WASTED, [("", (("run", run), ("cause", cause)), s) for run, cause, s in lost if run in names]
        yield from _adjustments(snapshot.adjustments)
        if snapshot.price is not None:
            yield m.PRICE, [("", (("currency", snapshot.price.currency),), snapshot.price.amount)]

    def _along(
        self,
        metric: Metric,
        label: str,
        hosts: Sequence[str],
        columns: Iterable[tuple[str, NDArray[np.float64]]],
        wanted: Collection[str],
        format_: ExpositionFormat,
    ) -> Iterator[bytes]:
        """Yield a family with a label of few values, each along the hosts."""
        head = _head(metric, format_)
        places = np.flatnonzero(np.fromiter((host in wanted for host in hosts), dtype=bool, count=len(hosts)))
        rows = places.tolist()
        for value, numbers in columns:
            prefixes = self._column(metric, label, value, hosts)
            shown = [prefixes[row] for row in rows]
            for piece in self._pieces.family((metric.name, value), head, shown, _finite(numbers[places])):
                yield piece
                head = b""

    def _column(self, metric: Metric, label: str, value: str, hosts: Sequence[str]) -> list[bytes]:
        """Return prefixes along hosts. They are made again when hosts change."""
        of, prefixes = self._columns.get((metric.name, value), ((), []))
        if of is not hosts and of != hosts:
            begin, text = start(sample_name(metric)), _text(((label, value),))
            prefixes = [begin + labels_end(joined(instance, text)) for instance in self._instances_of(hosts)]
        self._columns[metric.name, value] = hosts, prefixes
        return prefixes

    def _instances_of(self, hosts: Sequence[str]) -> list[str]:
        """Return the label `instance` along hosts, made once for all columns."""
        of, texts = self._instances
        if of is not hosts:
            texts = [self._instance_of(host) for host in hosts]
        self._instances = hosts, texts
        return texts

    def _family(
        self, metric: Metric, rows: Iterable[Row], before: dict[Hashable, bytes], format_: ExpositionFormat
    ) -> Iterator[bytes]:
        """Yield a family of single lines. Equal lines after shortening are written once."""
        found: dict[bytes, float | None] = {}
        for host, labels, value in rows:
            key = (metric.name, host, labels)
            line = before.get(key) or self._prefix(metric, host, labels)
            self._lines[key] = line
            found.setdefault(line, value)
        values = np.array(list(found.values()), dtype=np.float64)
        yield from self._pieces.family(metric.name, _head(metric, format_), list(found), _finite(values))

    def _prefix(self, metric: Metric, host: str, labels: Labels) -> bytes:
        return prefix(sample_name(metric), joined(self._instance_of(host), _text(labels)))

    def _instance_of(self, host: str) -> str:
        return labels_text([("instance", host)]) if self._instance else ""


def _adjustments(figures: AdjustmentFigures) -> Iterator[tuple[Metric, Iterable[Row]]]:
    def labels(run: str, lever: str) -> Labels:
        return (("run", run), ("lever", lever))

    ended = [("", (*labels(each.run, each.lever), ("outcome", each.outcome)), each.number) for each in figures.ended]
    yield m.ADJUSTMENTS, ended
    yield m.ADJUSTMENT_GAIN, [("", labels(each.run, each.lever), each.gain) for each in figures.gains]
    yield m.ADJUSTMENTS_IN_PROGRESS, [("", (("state", state),), count) for state, count in figures.in_progress]


def _limited(rows: Iterable[_T], key: Callable[[_T], Hashable]) -> Iterator[_T]:
    counts: Counter[Hashable] = Counter()
    for row in rows:
        of = key(row)
        counts[of] += 1
        if counts[of] <= MAX_OF_HOST:
            yield row


def _counts(shown: Iterable[GroupLines], hosts: Sequence[str]) -> list[tuple[str, NDArray[np.float64]]]:
    places = {host: place for place, host in enumerate(hosts)}
    counts = np.zeros((len(Severity), len(hosts)))
    for (host, severity), count in chain.from_iterable(of_group.counts.items() for of_group in shown):
        place = places.get(host)
        if place is not None:
            counts[severity, place] += count
    return [(severity.word, counts[severity]) for severity in Severity]


def _condition(active: ExportedCondition) -> Labels:
    return (("kind", active.kind.name), ("severity", active.severity.word), *_subject(active.subject, active.gpu_index))


def _risk(active: ExportedCondition) -> Labels:
    return (("risk", active.kind.name), *_subject(active.subject, active.gpu_index))


def _info(text: ConditionText) -> Labels:
    kind, severity = text.kind.name, text.severity.word
    subject = _subject(text.subject, text.gpu_index)
    return (
        ("kind", kind),
        ("severity", severity),
        *subject,
        ("because", text.because),
        ("confidence", text.confidence),
    )


def _subject(subject: Subject, gpu_index: int | None) -> Labels:
    rank = str(subject.rank) if subject.rank is not None else ""
    index = str(gpu_index) if gpu_index is not None and subject.gpu else ""
    return (
        ("gpu", subject.gpu),
        ("index", index),
        ("resource", subject.resource),
        ("run", subject.run),
        ("rank", rank),
    )


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(values), values, np.nan)


def _text(labels: Labels) -> str:
    return labels_text((name, value[:MAX_LABEL]) for name, value in labels)


def _head(metric: Metric, format_: ExpositionFormat) -> bytes:
    return header(sample_name(metric), metric.kind, metric.help, (), format_)
