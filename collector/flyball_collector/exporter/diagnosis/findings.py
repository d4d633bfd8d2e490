"""Takes snapshots of the diagnosis on the event loop: conditions, scores, runs and waste."""

from collections.abc import Callable, Collection, Iterable, Sequence

from flyball_collector.adjustments.shown.tally import AdjustmentFigures
from flyball_collector.advice.advice import Advice
from flyball_collector.diagnosis.active_conditions import ActiveCondition
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import BOTTLENECKS, BY_NAME, Group
from flyball_collector.diagnosis.scores.score_table import ScoreTable, table_of
from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.diagnosis.view import View  # noqa: TC001  used in the annotation of an attribute
from flyball_collector.diagnosis.waste import NAMES
from flyball_collector.engine.accounts import Accounts
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.recent_risks import Forecast
from flyball_collector.exporter.diagnosis.condition_texts import ConditionTexts
from flyball_collector.exporter.diagnosis.run_figures import run_figures
from flyball_collector.exporter.diagnosis.snapshot import (
    NO_SCORES,
    NO_WASTE,
    AdviceFigure,
    ConditionText,
    DiagnosisSnapshot,
    ExportedCondition,
    Price,
    RunFigure,
    Scores,
    WasteFigures,
    XidTime,
)


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
        self._texts = ConditionTexts(self._current)

    def of_fleet(self) -> DiagnosisSnapshot:
        """Return the results of all hosts and runs."""
        self._update()
        return DiagnosisSnapshot(
            scores=self._scores,
            primary=_primaries(self._table(), self._names),
            active=[group for kind in self._diagnosis.conditions.active_by_kind() if (group := self._group(*kind))],
            held_risks=self._held_risks(lambda _: True),
            texts=self._all_texts(),
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
        every = self._diagnosis.conditions.active()
        self._texts.keep_only([*every, *self._ended_risks()])
        active = [each for each in every if not each.event.subject.host]
        return DiagnosisSnapshot(
            active=[self._active(active)],
            texts=self._texts.of(active, self._now()),
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
            held_risks=self._held_risks(lambda subject: subject.host == name),
            texts=self._texts.of([*conditions, *self._ended_risks(lambda subject: subject.host == name)], self._now()),
            events=[self._diagnosis.conditions.current(each) for each in conditions],
            advice=self._advice.get(name, []),
            waste=self._waste_of(name),
            xids=[XidTime(*row) for row in self._accounts.xids.of(name)],
        )

    def _runs(self) -> list[RunFigure]:
        checkpoints = self._diagnosis.advisor.newest_checkpoints()
        return run_figures(self._diagnosis.detectors, self._diagnosis.view, checkpoints)

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
        return [self._risk(each) if each.kind.group is Group.RISK else _exported(each.event) for each in active]

    def _risk(self, active: ActiveCondition) -> ExportedCondition:
        """Return a risk with its present forecast, or with the newest one if it was raised a moment ago."""
        conditions, kind = self._diagnosis.conditions, active.kind.name
        current, claims = conditions.current(active), conditions.latest(kind)
        if current.seconds_left is None:
            held = self._accounts.risks.of(kind, active.subject, self._now())
            return _exported(current)._replace(probability=current.confidence) if held is None else _held(held)
        measured = claims is not None and active.subject in claims.subjects.places
        return _exported(current)._replace(
            left=current.seconds_left,
            left_low=current.seconds_left_low,
            left_high=current.seconds_left_high,
            probability=current.confidence,
            forecast_at=self._now() if measured else current.time_ns / 1e9,
        )

    def _held_risks(self, is_wanted: Callable[[Subject], bool]) -> list[ExportedCondition]:
        """Return the risks that were raised a moment ago and have ended."""
        return [_held(held) for held in self._accounts.risks.ended(self._now(), is_wanted)]

    def _all_texts(self) -> list[ConditionText]:
        active = [*self._diagnosis.conditions.active(), *self._ended_risks()]
        self._texts.keep_only(active)
        return self._texts.of(active, self._now())

    def _ended_risks(self, is_wanted: Callable[[Subject], bool] = lambda _: True) -> list[ActiveCondition]:
        """Return conditions whose forecast is held after their end: an alert may still fire."""
        return [ActiveCondition(held.event) for held in self._accounts.risks.ended(self._now(), is_wanted)]

    def _current(self, condition: ActiveCondition) -> Event:
        """Return a condition with its present values, or with its last ones if it has ended."""
        conditions = self._diagnosis.conditions
        active = conditions.find(condition.kind.name, condition.subject) is condition
        return conditions.current(condition) if active else condition.event

    def _now(self) -> float:
        """Return the time of the newest second of the diagnosis."""
        return self._diagnosis.view.now if self._diagnosis.view is not None else 0.0

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


def _exported(event: Event) -> ExportedCondition:
    return ExportedCondition(event.kind, event.severity, event.subject, gpu_index=event.gpu_index)


def _held(held: Forecast) -> ExportedCondition:
    return _exported(held.event)._replace(
        left=held.left,
        left_low=held.low,
        left_high=held.high,
        probability=held.event.confidence,
        forecast_at=held.at,
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
