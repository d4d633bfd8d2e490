"""Takes snapshots of the diagnosis on the event loop: conditions, scores, runs and waste."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from flyball_collector.adjustments.tally import AdjustmentFigures
from flyball_collector.advice.advice import Advice
from flyball_collector.diagnosis.claims import Claims, at
from flyball_collector.diagnosis.conditions import ActiveCondition, with_current_values
from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import BOTTLENECKS, BY_NAME, Group
from flyball_collector.diagnosis.runs.run_figures import RunFigureTable
from flyball_collector.diagnosis.scores.score_table import ScoreTable, table_of
from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.diagnosis.view import View  # noqa: TC001  used in the annotation of an attribute
from flyball_collector.diagnosis.waste import NAMES
from flyball_collector.engine.accounts import Accounts
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.exporter.diagnosis.snapshot import (
    NO_SCORES,
    NO_WASTE,
    AdviceFigure,
    DiagnosisSnapshot,
    ExportedCondition,
    Price,
    RunFigure,
    Scores,
    WasteFigures,
    XidTime,
)
from flyball_collector.fleet.runs import FleetRun, live_runs


class DiagnosisFindings:
    """Reads the diagnosis on request. Parts that are the same for all requests of a second are made once."""

    def __init__(self, diagnosis: Diagnosis, accounts: Accounts, price: Price | None = None) -> None:
        self.adjustments: Callable[[], AdjustmentFigures] = AdjustmentFigures  # none, unless the collector allows them
        self._diagnosis = diagnosis
        self._accounts = accounts
        self._price = price
        self._seen: tuple[View | None, ScoreTable | None] = (None, None)
        self._scores = NO_SCORES
        self._advice: dict[str, list[AdviceFigure]] = {}  # by host; those of runs under an empty name
        self._groups: dict[str, tuple[int, list[ExportedCondition]]] = {}  # by kind, with its revision
        self._subjects: Subjects | None = None
        self._names: tuple[str, ...] = ()

    def of_fleet(self) -> DiagnosisSnapshot:
        """Return the results of all hosts and runs."""
        self._update()
        return DiagnosisSnapshot(
            scores=self._scores,
            primary=_primaries(self._table(), self._names),
            active=[group for kind in self._diagnosis.conditions.active_by_kind() if (group := self._group(*kind))],
            advice=[each for of_host in self._advice.values() for each in of_host],
            runs=self._runs(),
            waste=self._waste(),
            xids=[XidTime(*row) for row in self._accounts.xids.all()],
            price=self._price,
            adjustments=self.adjustments(),
        )

    def of_runs(self) -> DiagnosisSnapshot:
        """Return the results of runs. The cost depends on active conditions, not on the size of the fleet."""
        self._update()
        active = [each for each in self._diagnosis.conditions.active() if not each.event.subject.host]
        return DiagnosisSnapshot(
            active=[self._active(active)],
            advice=self._advice.get("", []),
            runs=self._runs(),
            waste=NO_WASTE._replace(runs=self._waste_of_runs()),
            price=self._price,
            adjustments=self.adjustments(),
        )

    def of_host(self, name: str) -> DiagnosisSnapshot:
        """Return the results of one host. The cost depends on the host, not on the size of the fleet."""
        self._update()
        row = self._subjects.places.get(Subject(name)) if self._subjects is not None else None
        rows = slice(0, 0) if row is None else slice(row, row + 1)
        table = self._table()
        primary = "" if table is None or row is None else table.primary(row)
        conditions = self._diagnosis.conditions.active_of(name)
        active = self._active(conditions)
        return DiagnosisSnapshot(
            scores=_rows_of(self._scores, rows),
            primary=[(name, primary)] if primary else [],
            explained=self._explained(name, row),
            active=[active],
            events=[
                self._with_current_values(each.event, numbers) for each, numbers in zip(conditions, active, strict=True)
            ],
            advice=self._advice.get(name, []),
            waste=self._waste_of(name),
            xids=[XidTime(*row) for row in self._accounts.xids.of(name)],
        )

    def _runs(self) -> list[RunFigure]:
        """Return the runs that report steps, and those that only have processes."""
        figures = {figure.run: figure for figure in _figures(self._diagnosis.detectors)}
        view = self._diagnosis.view
        for run in live_runs(view.seen_runs()) if view is not None else ():
            figures[run.run] = _with_processes(figures.get(run.run, RunFigure(run.run)), run)
        return list(figures.values())

    def _table(self) -> ScoreTable | None:
        return table_of(self._diagnosis)

    def _update(self) -> None:
        """Update the cached parts once a second."""
        view, table = self._diagnosis.view, self._table()
        if view is self._seen[0] and table is self._seen[1]:
            return
        self._seen = view, table
        if table is not None and table.hosts is not self._subjects:
            self._subjects, self._names = table.hosts, tuple(subject.host for subject in table.hosts.names)
        self._scores = _scores(table, self._names)
        self._advice = {}
        for each in self._diagnosis.advisor.current:
            self._advice.setdefault(each.subject.host, []).append(_figure(each))

    def _group(self, kind: str, revision: int, active: Collection[ActiveCondition]) -> list[ExportedCondition]:
        """Return the active conditions of a kind. They are cached, because few of them change in a second."""
        known, group = self._groups.get(kind, (-1, []))
        if known != revision or BY_NAME[kind].group is Group.RISK:
            group = self._active(active)
            self._groups[kind] = revision, group
        return group

    def _active(self, active: Iterable[ActiveCondition]) -> list[ExportedCondition]:
        latest = self._diagnosis.conditions.latest
        return [_with_numbers(each.event, latest(each.kind.name)) for each in active]

    def _with_current_values(self, event: Event, active: ExportedCondition) -> Event:
        """Return a condition with its current values instead of those of its event, to match the scores."""
        view = self._diagnosis.view
        if active.left is not None:
            left, low, high = active.left, active.left_low, active.left_high
            event = replace(event, seconds_left=left, seconds_left_low=low, seconds_left_high=high)
        claims = self._diagnosis.conditions.latest(event.kind.name)
        if event.kind.group is not Group.BOTTLENECK or claims is None or view is None:
            return event
        place = claims.subjects.places.get(event.subject)
        current = claims.subjects is view.hosts or claims.subjects is view.gpus  # else hosts are changing
        if place is None or not current or (claims.known is not None and not claims.known[place]):
            return event
        return with_current_values(event, claims, place)

    def _explained(self, host: str, row: int | None) -> list[tuple[str, str]]:
        """Return bottlenecks that are not raised because an active condition explains them."""
        conditions = self._diagnosis.conditions
        kinds = {each.kind.name for each in conditions.active_of(host)}
        found = []
        for kind in BOTTLENECKS if kinds and row is not None else ():
            because = next((name for name in kind.explained_by if name in kinds), None)
            claims = conditions.latest(kind.name)
            if because is None or claims is None or kind.name in kinds:
                continue
            if bool((claims.enters & (claims.subjects.hosts == row)).any()):
                found.append((kind.name.removeprefix("bottleneck_"), because))
        return found

    def _waste(self) -> WasteFigures:
        totals = self._accounts.waste.hosts
        return WasteFigures(NAMES, totals.names, totals.lost.copy(), self._waste_of_runs())

    def _waste_of_runs(self) -> list[tuple[str, str, float]]:
        return [
            (run, name, float(seconds))
            for run, lost in self._accounts.waste.runs.all().items()
            for name, seconds in zip(NAMES, lost, strict=True)
            if seconds > 0
        ]

    def _waste_of(self, name: str) -> WasteFigures:
        totals = self._accounts.waste.hosts
        place = totals.subjects.places.get(Subject(name))
        return NO_WASTE if place is None else WasteFigures(NAMES, (name,), totals.lost[place : place + 1].copy(), ())


def _with_numbers(event: Event, claims: Claims | None) -> ExportedCondition:
    """Add the current forecast to a risk, because events are emitted at most once a minute."""
    active = ExportedCondition(event.kind, event.severity, event.subject)
    if event.kind.group is not Group.RISK:
        return active
    place = claims.subjects.places.get(event.subject) if claims is not None else None
    if claims is None or place is None:
        left, low, high = event.seconds_left, event.seconds_left_low, event.seconds_left_high
        return ExportedCondition(*active[:3], left, low, high, event.confidence)
    return ExportedCondition(
        *active[:3],
        at(claims.seconds_left, place),
        at(claims.seconds_left_low, place),
        at(claims.seconds_left_high, place),
        at(claims.confidence, place),
    )


def _scores(table: ScoreTable | None, names: tuple[str, ...]) -> Scores:
    if table is None:
        return NO_SCORES
    return Scores(names, tuple(table.base.items()), tuple(table.scores.items()), tuple(table.confidences()))


def _rows_of(scores: Scores, rows: slice) -> Scores:
    base, bottlenecks, confidences = (
        [(name, values[rows]) for name, values in family]
        for family in (scores.base, scores.bottlenecks, scores.confidences)
    )
    return Scores(scores.hosts[rows], base, bottlenecks, confidences)


def _primaries(table: ScoreTable | None, names: Sequence[str]) -> list[tuple[str, str]]:
    found = [] if table is None else [(name, table.primary(place)) for place, name in enumerate(names)]
    return [(host, primary) for host, primary in found if primary]


def _figure(advice: Advice) -> AdviceFigure:
    """Return the gain as a share of the current throughput: 0.5 is half as much again."""
    gain, subject = advice.gain, advice.subject
    low, high = (None, None) if gain is None else (gain.lower - 1, gain.upper - 1)
    return AdviceFigure(subject.host, subject.run, advice.rule, low, high)


def _figures(detectors: Iterable[Detector]) -> list[RunFigure]:
    """Return the figures of runs that report steps."""
    tables = [detector for detector in detectors if isinstance(detector, RunFigureTable)]
    return [
        RunFigure(
            run.run,
            run.ranks,
            run.step_median_seconds,
            run.slowest_step_seconds,
            run.remaining_seconds,
            run.remaining_low_seconds,
            run.remaining_high_seconds,
        )
        for table in tables
        for run in table.figures
    ]


def _with_processes(figure: RunFigure, run: FleetRun) -> RunFigure:
    return figure._replace(
        ranks=figure.ranks or run.ranks,
        gpus=run.gpus,
        started=run.started_ns / 1e9,
        source=run.source,
        user=run.users[0] if len(run.users) == 1 else "",
    )
