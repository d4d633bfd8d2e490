"""How often a detector looks: each second at a small fleet, every few seconds at a large one, not all at once."""

import math

from flyball_collector.diagnosis.view import View

FEW = 1024
"""So many ranks and GPUs together cost little enough to be looked at each second."""


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
        if not self._always and len(view.gpus) + len(view.ranks) <= FEW:
            return True
        turn = (view.now + self._phase) // self._seconds
        due = turn != self._turn
        self._turn = turn
        return due
