"""Detects what takes the time of a run's steps: collectives, unequal work, single very long steps.

These shares change slowly and cost time for each report, so they are computed every few seconds.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.cadence import Cadence, RoundRobin
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.runs.level_shifts import deviation, medians
from flyball_collector.diagnosis.runs.run_view import Runs, RunView
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

EVERY_SECONDS = 15
_LEAVE = 0.8
_REPORTS = 64
_LEAST = 32  # reports
_OUTLIER = 3.0  # times the usual
_OUTLIER_SPREADS = 5.0
_SEVERAL = 3


def waiting_share(runs: RunView) -> Floats:
    """Return for each run the share of the step in which even the rank that waits least waits for collectives.

    The other ranks also wait for that rank; this is not caused by the network.
    """
    step = runs.ranks.mean("step_seconds")
    return runs.quantile(runs.ranks.mean("waiting_seconds") / np.where(step > 0, step, np.nan), 0.0)


def input_share(runs: RunView) -> Floats:
    """Return for each run the median share of the step in which its ranks wait for input."""
    step = runs.ranks.mean("step_seconds")
    return runs.median(runs.ranks.mean("data_wait_seconds") / np.where(step > 0, step, np.nan))


class SharesDetector:
    """Reports `bottleneck_communication`, `load_imbalance` and `step_outliers`."""

    name = "shares"
    kinds = (BY_NAME["bottleneck_communication"], BY_NAME["load_imbalance"], BY_NAME["step_outliers"])
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, settings: RunSettings, runs: Runs) -> None:
        self._settings = settings
        self._runs = runs
        self._cadence = Cadence(EVERY_SECONDS, 3)
        self._parts = RoundRobin(EVERY_SECONDS)
        self._kept = SubjectArrays(excess=float("nan"))  # share of the time that single slow steps take

    def observe(self, view: View) -> Iterable[Claims]:
        runs = self._runs.of(view)
        if not len(runs.keys):
            return ()
        self._kept.align(runs.subjects)
        places = np.flatnonzero(self._parts.select(view, len(runs.keys)))
        self._kept["excess"][places] = _excess(runs.ranks.ring("step_seconds", _REPORTS, places))
        if not self._cadence.due(view):
            return ()
        return (self._communication(runs), self._imbalance(runs), self._outliers(runs))

    def _communication(self, runs: RunView) -> Claims:
        share = waiting_share(runs)
        entry = self._settings.communication_ratio
        return Claims(
            kind=self.kinds[0],
            subjects=runs.runs,
            enters=(share >= entry) & (runs.sizes >= 2),
            stays=(share >= _LEAVE * entry) & (runs.sizes >= 2),
            known=~np.isnan(share),
            confidence=np.where(runs.sizes >= 3, 0.75, 0.6),
            level=np.clip(share, 0, 1),
            because=lambda place: (
                f"all ranks wait for collectives: even the one that waits least {100 * share[place]:.0f} % of the step"
            ),
            evidence={"waiting_ratio": share},
        )

    def _imbalance(self, runs: RunView) -> Claims:
        """Compare means over the latest reports: unequal work that evens out is harmless."""
        work = runs.ranks.mean("tokens")
        if np.isnan(work).all():
            work = runs.ranks.mean("samples")
        work = np.where(runs.ranks.counts >= _LEAST, work, np.nan)
        low, high = runs.quantile(work, 0.0), runs.quantile(work, 1.0)
        middle = runs.median(work)
        spread = (high - low) / np.where(middle > 0, middle, np.nan)
        entry = self._settings.imbalance_ratio
        return Claims(
            kind=self.kinds[1],
            subjects=runs.runs,
            enters=spread >= entry,
            stays=spread >= _LEAVE * entry,
            known=~np.isnan(spread) & (runs.known(work) >= 2),
            confidence=np.full(len(runs.runs), 0.7),
            because=lambda place: f"the ranks' work per step differs by {100 * spread[place]:.0f} % of its median",
            evidence={"work_spread_ratio": spread},
        )

    def _outliers(self, runs: RunView) -> Claims:
        share = runs.median(self._kept["excess"])
        entry = self._settings.outlier_share_ratio
        return Claims(
            kind=self.kinds[2],
            subjects=runs.runs,
            enters=share >= entry,
            stays=share >= _LEAVE * entry,
            known=~np.isnan(share),
            confidence=np.full(len(runs.runs), 0.8),
            because=lambda place: (
                f"steps of at least three times the usual length take {100 * share[place]:.0f} % of the time"
            ),
            evidence={"excess_ratio": share},
        )


def _excess(reports: NDArray[np.float32]) -> Floats:
    """Return for each rank the share of the time that its outliers add, not how many there are.

    Outliers exceed the median by several spreads and are several times as long.
    """
    steps = np.ascontiguousarray(reports.T)
    known = np.count_nonzero(~np.isnan(steps), axis=1)
    middle = medians(steps)
    excess = np.where(known >= _LEAST, 0.0, np.nan)
    some = np.flatnonzero(
        (known >= _LEAST) & (np.count_nonzero(steps > _OUTLIER * middle[:, None], axis=1) >= _SEVERAL)
    )
    steps, middle = steps[some], middle[some]
    limit = np.maximum(middle + _OUTLIER_SPREADS * deviation(steps), _OUTLIER * middle)
    out = steps > limit[:, None]
    added = np.where(out, steps - middle[:, None], 0).sum(axis=1) / np.maximum(np.nansum(steps, axis=1), 1e-9)
    excess[some] = np.where(np.count_nonzero(out, axis=1) >= _SEVERAL, added, 0.0)
    return excess
