"""How often a detector looks: each second at a small fleet, every few seconds at a large one, not all at once."""

import math

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.view import View

FEW = 1024
"""So many ranks and GPUs together cost little enough to be looked at each second."""


def few(view: View) -> bool:
    """Whether everything may be looked at each second."""
    return len(view.gpus) + len(view.ranks) <= FEW


class Cadence:
    """Turns of `seconds`, by the view's time; detectors with other phases have other seconds."""

    def __init__(self, seconds: int, phase: int = 0, *, always: bool = False) -> None:
        """`always`: also at a small fleet."""
        self._seconds = seconds
        self._phase = phase
        self._always = always
        self._turn = -math.inf

    def due(self, view: View) -> bool:
        """Whether it is this detector's turn."""
        if not self._always and few(view):
            return True
        turn = (view.now + self._phase) // self._seconds
        due = turn != self._turn
        self._turn = turn
        return due


class Parts:
    """A share of the subjects each second, so that all have had their turn within `seconds`; few have it always."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._last: int | None = None

    def turn(self, view: View, count: int) -> NDArray[np.bool_]:
        """Along so many subjects: whose turn it is, of this second and of those that nobody looked at."""
        second, last = int(view.now), self._last
        self._last = second
        passed = self._seconds if last is None or second < last else min(second - last, self._seconds)
        if few(view) or passed == self._seconds:
            return np.ones(count, dtype=np.bool_)
        turns = (second - np.arange(passed)) % self._seconds
        whose: NDArray[np.bool_] = np.isin(np.arange(count) * self._seconds // max(count, 1), turns)
        return whose
