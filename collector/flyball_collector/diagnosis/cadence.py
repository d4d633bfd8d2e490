"""The schedule of detectors: every second for a small fleet, every few seconds for a large one, spread over time."""

import math

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.view import View

FEW = 1024
"""With at most this many ranks and GPUs together, everything is evaluated every second."""


def is_small_fleet(view: View) -> bool:
    """Return True if the fleet is small enough to evaluate everything every second."""
    return len(view.gpus) + len(view.ranks) <= FEW


class Cadence:
    """Periods of `seconds` by the view's time. Detectors with different phases run in different seconds."""

    def __init__(self, seconds: int, phase: int = 0, *, always: bool = False) -> None:
        """Set the period. With `always`, the period applies to small fleets too."""
        self._seconds = seconds
        self._phase = phase
        self._always = always
        self._period = -math.inf

    def due(self, view: View) -> bool:
        """Return True once in each period; for a small fleet, return True every time."""
        if not self._always and is_small_fleet(view):
            return True
        period = (view.now + self._phase) // self._seconds
        due = period != self._period
        self._period = period
        return due


class RoundRobin:
    """Divides subjects into shares, one for each second, so that each is evaluated once in `seconds`.

    A small fleet is evaluated as a whole every second.
    """

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._last: int | None = None

    def select(self, view: View, count: int) -> NDArray[np.bool_]:
        """Return a mask over `count` subjects: the share of this second and of the seconds that were skipped."""
        second, last = int(view.now), self._last
        self._last = second
        passed = self._seconds if last is None or second < last else min(second - last, self._seconds)
        if is_small_fleet(view) or passed == self._seconds:
            return np.ones(count, dtype=np.bool_)
        shares = (second - np.arange(passed)) % self._seconds
        selected: NDArray[np.bool_] = np.isin(np.arange(count) * self._seconds // max(count, 1), shares)
        return selected
