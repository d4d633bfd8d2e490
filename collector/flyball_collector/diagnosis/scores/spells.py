"""Holds bottlenecks that come and go within seconds, so that a spell of gaps is one condition and not twenty."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_MEMORY_SECONDS = 600.0
"""Time constant with which returns are forgotten."""

_SEVERAL = 0.8
"""Returns that make a spell: one within a few minutes. A bottleneck that ends for good has none."""

_HOLD_SECONDS = 150.0
"""A spell is over after this time without a gap."""


class Spells:
    """Follows one kind of bottleneck along its subjects."""

    def __init__(self) -> None:
        self._kept = SubjectArrays(on=False, returns=0.0, last_on=float("-inf"), last=float("nan"))

    def held(self, subjects: Subjects, enters: Flags, stays: Flags, now: float) -> Flags:
        """Return where the bottleneck is only interrupted: it has come back, and was there recently."""
        kept = self._kept
        kept.align(subjects)
        passed = known_or(0.0, now - kept["last"])
        back = enters & ~kept["on"] & (kept["last_on"] > -np.inf)
        returns = kept["returns"]
        if returns.any():
            returns *= np.exp(-np.maximum(passed, 0.0) / _MEMORY_SECONDS)
        returns += back
        kept["on"] = enters | (kept["on"] & stays)
        np.copyto(kept["last_on"], now, where=kept["on"])
        kept["last"][:] = now
        held: Flags = (returns >= _SEVERAL) & (now - kept["last_on"] <= _HOLD_SECONDS)
        return held
