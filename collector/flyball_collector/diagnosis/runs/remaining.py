"""How long a run will still take: from how its steps went by the clock, stops for evaluation and saving included."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.runs.run_view import RunView

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_MARKS = 64
_FIRST_SPACING = 10.0  # seconds between marks; doubles whenever they are full
_LEAST = 5  # marks
_SURE = 1.645  # standard deviations: nine of ten


@dataclass(frozen=True, slots=True)
class Remaining:
    """Along runs, in seconds; NaN where the number of steps is not told or too little was seen."""

    seconds: Floats
    low: Floats
    high: Floats


class Progress:
    """Marks of (time, step) of every run, from its first to its newest, evenly thinned."""

    def __init__(self) -> None:
        unknown = ((_MARKS,), float("nan"))
        self._kept = Kept(times=unknown, steps=unknown, used=0, spacing=_FIRST_SPACING)

    def mark(self, runs: RunView) -> None:
        """Note how far each run is."""
        self._kept.align(runs.runs)
        step, at = runs.quantile(runs.ranks.column("step"), 1.0), runs.quantile(runs.ranks.column("at"), 1.0)
        used = self._kept["used"]
        last = np.maximum(used - 1, 0)
        places = np.arange(len(used))
        last_step, last_at = self._kept["steps"][places, last], self._kept["times"][places, last]
        again = (used > 0) & ((step < last_step) | (at < last_at))  # begun anew, from a checkpoint
        used[again], self._kept["spacing"][again] = 0, _FIRST_SPACING
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

    def remaining(self, runs: RunView, now: float) -> Remaining:
        """What is left, by the pace of the later half; the interval spans the pace of the whole and its own noise."""
        times, steps, used = self._kept["times"], self._kept["steps"], self._kept["used"]
        number = np.arange(_MARKS - 1)[None]
        inside = number < (used - 1)[:, None]
        passed, done = np.diff(times, axis=1), np.diff(steps, axis=1)
        late = inside & (number >= ((used - 1) // 2)[:, None])
        pace, whole = _pace(passed, done, late), _pace(passed, done, inside)
        newest = np.maximum(used - 1, 0)
        at_step = steps[np.arange(len(used)), newest]
        left = np.maximum(runs.total_steps - at_step, 0.0)
        seconds = left * pace - (now - times[np.arange(len(used)), newest])
        noise = left * _uncertainty(passed, done, inside, pace, left)
        drift = left * (whole - pace)
        known = used >= _LEAST
        return Remaining(
            np.where(known, np.maximum(seconds, 0), np.nan),
            np.where(known, np.maximum(seconds + np.minimum(drift, 0) - noise, 0), np.nan),
            np.where(known, np.maximum(seconds + np.maximum(drift, 0) + noise, 0), np.nan),
        )


def _pace(passed: Floats, done: Floats, of: Flags) -> Floats:
    """Seconds a step."""
    steps = np.where(of, done, 0).sum(axis=1)
    seconds = np.where(of, passed, 0).sum(axis=1)
    found = np.full(len(steps), np.nan)
    np.divide(seconds, steps, out=found, where=steps > 0)
    return found


def _uncertainty(passed: Floats, done: Floats, of: Flags, pace: Floats, left: Floats) -> Floats:
    """Of the mean pace of what is left, in seconds a step: by how much the segments seen differ."""
    count = of.sum(axis=1)
    rates = np.where(of & (done > 0), passed / np.where(done > 0, done, 1.0), pace[:, None])
    variance = np.where(of, (rates - pace[:, None]) ** 2, 0).sum(axis=1) / np.maximum(count - 1, 1)
    mean_done = np.where(of, done, 0).sum(axis=1) / np.maximum(count, 1)
    ahead = np.maximum(left / np.maximum(mean_done, 1e-9), 1.0)  # segments that are left
    found: Floats = _SURE * np.sqrt(variance * (2.0 / np.maximum(count, 1) + 1.0 / ahead))
    return found
