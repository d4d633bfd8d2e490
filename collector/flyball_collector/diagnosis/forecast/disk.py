"""Forecasts full file systems from the space and inodes of each mount."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.fill_forecast import RINGS, FillForecast, FillForecaster
from flyball_collector.diagnosis.forecast.fill_rules import FillRules
from flyball_collector.diagnosis.forecast.history import History
from flyball_collector.diagnosis.forecast.joined_subjects import source_of
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.number_format import share, time_left
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

RULES = FillRules(covered=1.5, level=0.8, horizon_seconds=86_400.0, novel=0.5)
"""Disks have no warm-up. Checkpoints that are written and deleted again stay below the previous maximum."""

CRITICAL_SECONDS = 4 * 3600.0  # as in the node mixin of Prometheus
LEAVE = 1.2
"""The exit level, as a multiple of the space left on entry."""

HOLD_SECONDS = 900.0
"""How long a forecast is kept after its last confirmation."""

_TINY = 64 * 1024**2
"""Smaller file systems, such as boot partitions and images, are full by design."""


class DiskFull:
    """Reports file systems above a level, and applies the memory forecast to disks, up to a day ahead."""

    name = "disk_full"
    kinds = (BY_NAME["disk_full"],)
    needs: Sequence[str] = ("filesystem_used_ratio",)

    def __init__(self, settings: ForecastSettings) -> None:
        self._warning, self._critical = settings.disk_warning_ratio, settings.disk_critical_ratio
        self._history = History(RINGS)
        self._forecaster = FillForecaster(self._history, RULES)
        self._kept = SubjectArrays(until=-np.inf, speed=np.nan, low=np.nan, high=np.nan)

    def observe(self, view: View) -> Iterable[Claims]:
        """Evaluate each mount."""
        mounts = view.resources("filesystem_used_ratio")
        before = self._kept.align(mounts)
        if before is not None:
            self._history.rearrange(source_of(mounts, before))
        use = self._use(view, mounts)
        self._history.add(view.now, use)
        found = self._forecaster.judge(use, view.now)
        self._remember(found, use, view.now)
        yield self._claims(use, found, view.now)

    def _use(self, view: View, mounts: Subjects) -> Floats:
        """Return the scarcer of space and inodes; unknown for file systems that are read-only or tiny."""
        used = view.resource("filesystem_used_ratio")
        inodes, free = self._like(view, "filesystem_inodes", mounts), self._like(view, "filesystem_inodes_free", mounts)
        with np.errstate(divide="ignore", invalid="ignore"):
            used = np.fmax(used, np.where(inodes > 0, 1 - free / inodes, np.nan))
        ignored = self._like(view, "filesystem_read_only", mounts) == 1
        ignored |= self._like(view, "filesystem_total_bytes", mounts) < _TINY
        return np.where(ignored, np.nan, used)

    def _like(self, view: View, metric: str, mounts: Subjects) -> Floats:
        """Return another metric for the same mounts."""
        subjects = view.resources(metric)
        if subjects is mounts or subjects.names == mounts.names:
            return view.resource(metric)
        source = source_of(mounts, subjects)
        return np.where(source >= 0, np.append(view.resource(metric), np.nan)[source], np.nan)

    def _remember(self, found: FillForecast, use: Floats, now: float) -> None:
        new, kept = found.enters, self._kept
        room = np.maximum(1 - use, 0.0)
        kept["until"][new] = now + HOLD_SECONDS
        with np.errstate(divide="ignore", invalid="ignore"):
            kept["speed"][new] = (room / found.left)[new]
            kept["low"][new], kept["high"][new] = (room / found.left_high)[new], (room / found.left_low)[new]

    def _claims(self, use: Floats, found: FillForecast, now: float) -> Claims:
        kept, left_share = self._kept, 1 - use
        grows = kept["until"] >= now
        room = np.where(grows, np.maximum(left_share, 0.0), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            left, low, high = room / kept["speed"], room / kept["high"], room / kept["low"]
        critical = (left_share < self._critical) | (left <= CRITICAL_SECONDS)
        full = left_share < self._warning

        def because(place: int) -> str:
            text = f"{share(left_share[place])} of space or inodes left"
            if not np.isfinite(left[place]):
                return text
            return f"{text}; at this rate full in {time_left(left[place], low[place], high[place])}"

        return Claims(
            kind=self.kinds[0], subjects=kept.subjects, enters=full | found.enters,
            stays=(left_share < LEAVE * self._warning) | grows, confidence=np.where(full, 1.0, 0.7),
            known=~np.isnan(use), level=use,
            severity=np.where(critical, Severity.CRITICAL, Severity.WARNING).astype(np.int8),
            seconds_left=left, seconds_left_low=low, seconds_left_high=high, because=because,
            evidence={"used_ratio": use, "growth_ratio_per_second": np.where(grows, kept["speed"], np.nan)},
        )  # fmt: skip
