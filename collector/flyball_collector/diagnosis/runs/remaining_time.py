"""Estimates the remaining time of runs from their progress by the clock, including pauses to evaluate and save."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_MARKS = 64
_FIRST_SPACING = 2.0  # seconds between marks; doubles each time all marks are used
_LEAST = 5  # marks
_CLOCK_SECONDS = 5.0  # a clock that goes further back belongs to another start; pauses are reported within a second
_PAUSED_SECONDS = 5.0  # a paused rank reports its pause each second
_SURE = 1.645  # standard deviations of a 90 % interval


@dataclass(frozen=True, slots=True)
class RemainingTime:
    """The remaining seconds along runs; NaN if the number of steps and samples is unknown or too little was seen.

    It is NaN too while an adjustment pauses the run, because its end depends on when it goes on.
    """

    seconds: Floats
    low: Floats
    high: Floats


class RunProgress:
    """Marks of (time, step) for each run, from its first to its newest, evenly spaced."""

    def __init__(self) -> None:
        unknown = ((_MARKS,), float("nan"))
        self._kept = SubjectArrays(
            times=unknown, steps=unknown, used=0, spacing=_FIRST_SPACING, attempt=0.0,
            paused=0.0, paused_at=float("-inf"),
        )  # fmt: skip

    def mark(self, runs: RunView) -> None:
        """Note the current progress of each run."""
        self._kept.align(runs.runs)
        step, at = runs.quantile(runs.ranks.column("step"), 1.0), _worked_until(runs)
        used = self._kept["used"]
        last = np.maximum(used - 1, 0)
        places = np.arange(len(used))
        last_step, last_at = self._kept["steps"][places, last], self._kept["times"][places, last]
        attempt = runs.quantile(runs.ranks.column("attempt"), 1.0)
        restarted = (used > 0) & (
            (step < last_step) | (at < last_at - _CLOCK_SECONDS) | (attempt != self._kept["attempt"])
        )
        self._kept["attempt"][:] = attempt
        used[restarted], self._kept["spacing"][restarted] = 0, _FIRST_SPACING
        paused, reported = _paused(runs), runs.quantile(runs.ranks.column("at"), 1.0)
        grown = paused > self._kept["paused"]
        self._kept["paused_at"][grown], self._kept["paused"][:] = reported[grown], paused
        due = (used == 0) | ((step > last_step) & (at - last_at >= self._kept["spacing"]))
        self._thin(np.flatnonzero(due & (used >= _MARKS)))
        some = np.flatnonzero(due)
        slots = used[some]
        self._kept["times"][some, slots], self._kept["steps"][some, slots] = at[some], step[some]
        used[some] += 1

    def _thin(self, places: NDArray[np.int64]) -> None:
        for name in ("times", "steps"):
            self._kept[name][places, : _MARKS // 2] = self._kept[name][places, ::2]
        self._kept["used"][places] = _MARKS // 2
        self._kept["spacing"][places] *= 2

    def remaining(self, runs: RunView, now: float) -> RemainingTime:
        """Estimate the time left from the later half of the marks.

        The interval covers the whole run's rate and noise.
        """
        times, steps, used = self._kept["times"], self._kept["steps"], self._kept["used"]
        number = np.arange(_MARKS - 1)[None]
        inside = number < (used - 1)[:, None]
        passed, done = np.diff(times, axis=1), np.diff(steps, axis=1)
        late = inside & (number >= ((used - 1) // 2)[:, None])
        mean, whole = _mean_step(passed, done, late), _mean_step(passed, done, inside)
        newest = np.maximum(used - 1, 0)
        at_step = steps[np.arange(len(used)), newest]
        left = np.maximum(total_steps(runs) - at_step, 0.0)
        passed_since = np.maximum(now - _paused(runs) - times[np.arange(len(used)), newest], 0.0)
        seconds = left * mean - passed_since
        noise = left * _uncertainty(passed, done, inside, mean, left)
        drift = left * (whole - mean)
        known = (used >= _LEAST) & ~(now - self._kept["paused_at"] < _PAUSED_SECONDS)
        return RemainingTime(
            np.where(known, np.maximum(seconds, 0), np.nan),
            np.where(known, np.maximum(seconds + np.minimum(drift, 0) - noise, 0), np.nan),
            np.where(known, np.maximum(seconds + np.maximum(drift, 0) + noise, 0), np.nan),
        )


def _worked_until(runs: RunView) -> Floats:
    """Return the time of the newest report, without the time for which adjustments have paused the run."""
    return runs.quantile(runs.ranks.column("at"), 1.0) - _paused(runs)


def _paused(runs: RunView) -> Floats:
    """Return the seconds for which adjustments have paused each run."""
    paused: Floats = runs.quantile(known_or(0.0, runs.ranks.column("paused_seconds")), 1.0)
    return paused


def total_steps(runs: RunView) -> Floats:
    """Return the total number of steps. If only the number of samples is known, it follows from those of a step."""
    if np.isnan(runs.total_samples).all():
        return runs.total_steps
    samples, steps = runs.ranks.column("samples"), runs.ranks.column("steps")
    of_step = np.divide(samples, steps, out=np.full(len(steps), np.nan), where=steps > 0)
    of_step = runs.sum(of_step)
    total = np.divide(runs.total_samples, of_step, out=np.full(len(of_step), np.nan), where=of_step > 0)
    return np.where(np.isnan(runs.total_steps), total, runs.total_steps)


def _mean_step(passed: Floats, done: Floats, of: Flags) -> Floats:
    """Return the mean seconds of a step."""
    steps = np.where(of, done, 0).sum(axis=1)
    seconds = np.where(of, passed, 0).sum(axis=1)
    found = np.full(len(steps), np.nan)
    np.divide(seconds, steps, out=found, where=steps > 0)
    return found


def _uncertainty(passed: Floats, done: Floats, of: Flags, mean: Floats, left: Floats) -> Floats:
    """Return the uncertainty of the mean seconds of a step for the rest of the run, from the segments seen so far."""
    count = of.sum(axis=1)
    rates = np.where(of & (done > 0), passed / np.where(done > 0, done, 1.0), mean[:, None])
    variance = np.where(of, (rates - mean[:, None]) ** 2, 0).sum(axis=1) / np.maximum(count - 1, 1)
    mean_done = np.where(of, done, 0).sum(axis=1) / np.maximum(count, 1)
    ahead = np.maximum(left / np.maximum(mean_done, 1e-9), 1.0)  # remaining segments
    found: Floats = _SURE * np.sqrt(variance * (2.0 / np.maximum(count, 1) + 1.0 / ahead))
    return found
