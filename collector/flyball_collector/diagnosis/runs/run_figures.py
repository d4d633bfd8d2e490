"""Computes the figures of each run for metrics and pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from flyball_collector.diagnosis.cadence import Cadence, is_small_fleet
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.runs.remaining_time import RunProgress
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.runs.shares import input_share, waiting_share
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.view import View

EVERY_SECONDS = 10
FINE_SECONDS = 2
"""The same for a small fleet, so that a short run has a remaining time too."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The figures of one run; `None` is unknown."""

    run: str
    ranks: int
    step_median_seconds: float | None
    slowest_step_seconds: float | None
    remaining_seconds: float | None
    remaining_low_seconds: float | None
    remaining_high_seconds: float | None
    data_wait_ratio: float | None
    communication_ratio: float | None


class RunFigureTable:
    """Computes the figures of all runs every few seconds. It makes no claims."""

    name = "run_figures"
    kinds: Sequence[EventKind] = ()
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, runs: Runs) -> None:
        self.figures: tuple[RunFigures, ...] = ()  # a few seconds old at most
        self._runs = runs
        self._progress = RunProgress()
        self._cadence = Cadence(EVERY_SECONDS, 3, always=True)
        self._fine = Cadence(FINE_SECONDS, always=True)

    def observe(self, view: View) -> Iterable[Claims]:
        if not (self._fine if is_small_fleet(view) else self._cadence).due(view):
            return ()
        runs = self._runs.of(view)
        if not len(runs.keys):
            self.figures = ()
            return ()
        self._progress.mark(runs)
        left = self._progress.remaining(runs, view.now)
        step = runs.ranks.mean("step_seconds")
        columns = (runs.median(step), runs.quantile(step, 1.0), left.seconds, left.low, left.high)
        shares = (input_share(runs), waiting_share(runs))
        known = [[None if np.isnan(value) else value for value in column.tolist()] for column in (*columns, *shares)]
        names = [subject.run for subject in runs.runs.names]
        self.figures = tuple(map(RunFigures, names, runs.sizes.tolist(), *known))
        return ()
