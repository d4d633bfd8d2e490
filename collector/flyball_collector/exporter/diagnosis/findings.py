"""Takes snapshots of the diagnosis on the event loop: what stands, the scores, what runs do, what was lost."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims, at
from flyball_collector.diagnosis.conditions import Standing as StandingCondition
from flyball_collector.diagnosis.engine import Diagnosis
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Group
from flyball_collector.diagnosis.waste import NAMES, WasteLedger
from flyball_collector.diagnosis.xids import XidTimes
from flyball_collector.exporter.diagnosis.snapshot import (
    NO_SCORES,
    AdviceFigure,
    DiagnosisSnapshot,
    Price,
    RunFigure,
    Scores,
    Standing,
    WasteFigures,
    XidTime,
)


def no_scores() -> Scores:
    """Where nothing is scored."""
    return NO_SCORES


def nothing() -> Sequence[tuple[str, str]]:
    """Where nothing bounds anything."""
    return ()


def no_advice() -> Iterable[AdviceFigure]:
    """Where nobody advises."""
    return ()


def no_runs() -> Iterable[RunFigure]:
    """Where nothing runs."""
    return ()


class DiagnosisFindings:
    """Looks at what is there when it is asked; copies what the next second would change."""

    def __init__(
        self,
        diagnosis: Diagnosis,
        *,
        waste: WasteLedger | None = None,
        xids: XidTimes | None = None,
        price: Price | None = None,
        scores: Callable[[], Scores] = no_scores,
        primary: Callable[[], Sequence[tuple[str, str]]] = nothing,
        advice: Callable[[], Iterable[AdviceFigure]] = no_advice,
        runs: Callable[[], Iterable[RunFigure]] = no_runs,
    ) -> None:
        self._diagnosis = diagnosis
        self._waste = waste or WasteLedger()
        self._xids = xids or XidTimes()
        self._price = price
        self._scores = scores
        self._primary = primary
        self._advice = advice
        self._runs = runs

    def of_fleet(self) -> DiagnosisSnapshot:
        """Of every host, and of runs."""
        return DiagnosisSnapshot(
            scores=self._scores(),
            primary=self._primary(),
            standing=self._standing(self._diagnosis.conditions.standing()),
            advice=list(self._advice()),
            runs=list(self._runs()),
            waste=self._lost(),
            xids=[XidTime(*row) for row in self._xids.all()],
            price=self._price,
        )

    def of_host(self, name: str) -> DiagnosisSnapshot:
        """Of one host alone: it costs by what the host has, not by the fleet."""
        return DiagnosisSnapshot(
            scores=_row_of_scores(self._scores(), name),
            primary=[pair for pair in self._primary() if pair[0] == name],
            standing=self._standing(self._diagnosis.conditions.standing_of(name)),
            advice=[each for each in self._advice() if each.host == name],
            waste=_row_of_waste(self._lost(), name),
            xids=[XidTime(*row) for row in self._xids.of(name)],
        )

    def _standing(self, standing: Iterable[StandingCondition]) -> list[Standing]:
        latest = self._diagnosis.conditions.latest
        return [_with_numbers(each.event, latest(each.kind.name)) for each in standing]

    def _lost(self) -> WasteFigures:
        hosts = self._waste.hosts
        runs = [
            (run, name, float(seconds))
            for run, lost in self._waste.runs.all().items()
            for name, seconds in zip(NAMES, lost, strict=True)
            if seconds > 0
        ]
        return WasteFigures(NAMES, hosts.names, hosts.lost.copy(), runs)


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


def _row_of_scores(scores: Scores, name: str) -> Scores:
    row = [place for place, host in enumerate(scores.hosts) if host == name]
    base = [(label, values[row]) for label, values in scores.base]
    return Scores([name] * len(row), base, [(label, values[row]) for label, values in scores.bottlenecks])


def _row_of_waste(waste: WasteFigures, name: str) -> WasteFigures:
    row = [place for place, host in enumerate(waste.hosts) if host == name]
    return WasteFigures(waste.causes, [name] * len(row), waste.seconds[np.array(row, dtype=np.int64)], ())
