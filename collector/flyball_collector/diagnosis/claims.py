"""What one detector says of one kind of condition at one moment, over all its subjects at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.kinds import EventKind, Severity
from flyball_collector.diagnosis.subject import Subjects

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

Evidence = Mapping[str, Floats]
"""Numbers behind a claim, by names with units; NaN is unknown."""


def _without_words(_: int) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Arrays along `subjects`.

    `enters`: the level at which the condition begins is reached; `stays`: the lower level at which it ends is not yet
    left (where `enters` is true, `stays` counts as true). `known`: there was enough data to say so; where it is false
    the condition stands as it was. `because` is called only for those that are told.
    """

    kind: EventKind
    subjects: Subjects
    enters: Flags
    stays: Flags
    confidence: Floats  # 0 … 1
    known: Flags | None = None  # None: everywhere
    level: Floats | None = None  # 0 … 1: how much of the time or of the resource; ranks bottlenecks
    severity: NDArray[np.int8] | None = None  # a `Severity` each; None: the kind's
    seconds_left: Floats | None = None  # NaN: no such time
    seconds_left_low: Floats | None = None
    seconds_left_high: Floats | None = None
    because: Callable[[int], str] = _without_words  # words for the subject at this place, with numbers
    evidence: Evidence = field(default_factory=dict)

    def severity_of(self, place: int) -> Severity:
        """How bad it is for this subject."""
        return Severity(int(self.severity[place])) if self.severity is not None else self.kind.severity


def at(values: Floats | None, place: int) -> float | None:
    """One value of an optional array; `None` is unknown."""
    if values is None:
        return None
    value = float(values[place])
    return value if np.isfinite(value) else None
