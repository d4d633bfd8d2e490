"""Arrays along subjects that follow hosts and GPUs as they come and go."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects, subjects

Array = NDArray[Any]


class Row(NamedTuple):
    """Several values of each subject that are adjacent in memory, for arrays that are read subject by subject."""

    length: int
    fill: float


Fill = float | bool | Row | tuple[tuple[int, ...], float]


class SubjectArrays:
    """Named arrays along one order of subjects. A new subject gets the fill value.

    The type of the fill is the type of the array: `nan` or another float, a bool, or an int. A tuple `(shape, fill)`
    keeps an array of that shape for each subject; one column of it along the subjects is adjacent in memory, or, of a
    `Row`, the values of one subject.
    """

    def __init__(self, **fills: Fill) -> None:
        self._fills = fills
        self.subjects: Subjects = subjects(())
        self._arrays: dict[str, Array] = {name: _filled(fill, 0) for name, fill in fills.items()}

    def align(self, to: Subjects) -> Subjects | None:
        """Move the values to a new order of subjects. Return the old order, or None if it is the same."""
        before = self.subjects
        if before is to:
            return None
        ours, theirs = to.shared_with(before)
        for name, old in self._arrays.items():
            new = _filled(self._fills[name], len(to))
            new[ours] = old[theirs]
            self._arrays[name] = new
        self.subjects = to
        return before

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __setitem__(self, name: str, values: Array) -> None:
        self._arrays[name][...] = values


def _filled(fill: Fill, count: int) -> Array:
    if isinstance(fill, Row):
        return np.full((count, fill.length), fill.fill)
    shape, value = fill if isinstance(fill, tuple) else ((), fill)
    kind = np.bool_ if isinstance(value, bool) else np.int64 if isinstance(value, int) else np.float64
    return np.full((count, *shape), value, dtype=kind, order="F")
