"""Takes snapshots of the diagnosis on the event loop: what stands, the scores, what runs do, what was lost."""

from collections.abc import Iterable, Sequence

from flyball_collector.advice.advice import Advice
from flyball_collector.diagnosis.accounts import Accounts
from flyball_collector.diagnosis.claims import Claims, at
from flyball_collector.diagnosis.conditions import Standing as StandingCondition
from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.engine import Diagnosis
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Group
from flyball_collector.diagnosis.runs.figures import RunBook
from flyball_collector.diagnosis.scores.score_table import ScoreTable, table_of
from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.diagnosis.view import View  # noqa: TC001  it stands in the annotation of an attribute
from flyball_collector.diagnosis.waste import NAMES
from flyball_collector.exporter.diagnosis.snapshot import (
    NO_SCORES,
    NO_WASTE,
    AdviceFigure,
    DiagnosisSnapshot,
    Price,
    RunFigure,
    Scores,
    Standing,
    WasteFigures,
    XidTime,
)


class DiagnosisFindings:
    """Looks at what is there when it is asked; what is the same for every question of a second is made once."""

    def __init__(self, diagnosis: Diagnosis, accounts: Accounts, price: Price | None = None) -> None:
        self._diagnosis = diagnosis
        self._accounts = accounts
        self._price = price
        self._view: View | None = None
        self._scores = NO_SCORES
        self._advice: dict[str, list[AdviceFigure]] = {}  # by host; those of runs under an empty name
        self._subjects: Subjects | None = None
        self._names: tuple[str, ...] = ()

    def of_fleet(self) -> DiagnosisSnapshot:
        """Of every host, and of runs."""
        self._look()
        return DiagnosisSnapshot(
            scores=self._scores,
            primary=_primaries(self._table(), self._names),
            standing=self._standing(self._diagnosis.conditions.standing()),
            advice=[each for of_host in self._advice.values() for each in of_host],
            runs=_runs(self._diagnosis.detectors),
            waste=self._lost(),
            xids=[XidTime(*row) for row in self._accounts.xids.all()],
            price=self._price,
        )

    def of_host(self, name: str) -> DiagnosisSnapshot:
        """Of one host alone: it costs by what the host has, not by the fleet."""
        self._look()
        row = self._subjects.places.get(Subject(name)) if self._subjects is not None else None
        rows = slice(0, 0) if row is None else slice(row, row + 1)
        table = self._table()
        primary = "" if table is None or row is None else table.primary(row)
        return DiagnosisSnapshot(
            scores=_cut(self._scores, rows),
            primary=[(name, primary)] if primary else [],
            standing=self._standing(self._diagnosis.conditions.standing_of(name)),
            advice=self._advice.get(name, []),
            waste=self._lost_of(name),
            xids=[XidTime(*row) for row in self._accounts.xids.of(name)],
        )

    def _table(self) -> ScoreTable | None:
        return table_of(self._diagnosis)

    def _look(self) -> None:
        """Once a second."""
        view = self._diagnosis.view
        if view is self._view:
            return
        self._view = view
        table = self._table()
        if table is not None and table.hosts is not self._subjects:
            self._subjects, self._names = table.hosts, tuple(subject.host for subject in table.hosts.names)
        self._scores = _scores(table, self._names)
        self._advice = {}
        for each in self._diagnosis.advisor.given:
            self._advice.setdefault(each.subject.host, []).append(_figure(each))

    def _standing(self, standing: Iterable[StandingCondition]) -> list[Standing]:
        latest = self._diagnosis.conditions.latest
        return [_with_numbers(each.event, latest(each.kind.name)) for each in standing]

    def _lost(self) -> WasteFigures:
        totals, runs = self._accounts.waste.hosts, self._accounts.waste.runs
        of_runs = [
            (run, name, float(seconds))
            for run, lost in runs.all().items()
            for name, seconds in zip(NAMES, lost, strict=True)
            if seconds > 0
        ]
        return WasteFigures(NAMES, totals.names, totals.lost.copy(), of_runs)

    def _lost_of(self, name: str) -> WasteFigures:
        totals = self._accounts.waste.hosts
        place = totals.subjects.places.get(Subject(name))
        return NO_WASTE if place is None else WasteFigures(NAMES, (name,), totals.lost[place : place + 1].copy(), ())


def _with_numbers(event: Event, claims: Claims | None) -> Standing:
    """Of a risk what it foresees now: events are told once a minute at most."""
    if event.kind.group is not Group.RISK:
        return Standing(event)
    place = claims.subjects.places.get(event.subject) if claims is not None else None
    if claims is None or place is None:
        return Standing(event, event.seconds_left, event.seconds_left_low, event.seconds_left_high, event.confidence)
    return Standing(
        event,
        at(claims.seconds_left, place),
        at(claims.seconds_left_low, place),
        at(claims.seconds_left_high, place),
        at(claims.confidence, place),
    )


def _scores(table: ScoreTable | None, names: tuple[str, ...]) -> Scores:
    return NO_SCORES if table is None else Scores(names, tuple(table.base.items()), tuple(table.scores.items()))


def _cut(scores: Scores, rows: slice) -> Scores:
    base = [(name, values[rows]) for name, values in scores.base]
    return Scores(scores.hosts[rows], base, [(name, values[rows]) for name, values in scores.bottlenecks])


def _primaries(table: ScoreTable | None, names: Sequence[str]) -> list[tuple[str, str]]:
    found = [] if table is None else [(name, table.primary(place)) for place, name in enumerate(names)]
    return [(host, primary) for host, primary in found if primary]


def _figure(advice: Advice) -> AdviceFigure:
    """What is gained beyond what there is: 0.5 is half as much again."""
    gain, subject = advice.gain, advice.subject
    low, high = (None, None) if gain is None else (gain.lower - 1, gain.upper - 1)
    return AdviceFigure(subject.host, subject.run, advice.rule, low, high)


def _runs(detectors: Iterable[Detector]) -> list[RunFigure]:
    books = [detector for detector in detectors if isinstance(detector, RunBook)]
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
        for book in books
        for run in book.figures
    ]
