"""The claims of a detector: its findings about one kind of condition for all subjects at one moment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.kinds import EventKind, Severity
from flyball_collector.diagnosis.subject import Subjects

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

Evidence = Mapping[str, Floats]
"""The numbers behind a claim, by names that include the unit. NaN is unknown."""


def _no_text(_: int) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Arrays along `subjects`.

    `enters`: the entry level is reached. `stays`: the value is above the exit level (`enters` implies `stays`).
    `known`: there was enough data to decide; where it is false, the condition stays as it was. `because` is called only
    for conditions that are reported.
    """

    kind: EventKind
    subjects: Subjects
    enters: Flags
    stays: Flags
    confidence: Floats  # 0 … 1
    known: Flags | None = None  # None: everywhere
    level: Floats | None = None  # 0 … 1: the share of the time or of the resource; ranks bottlenecks
    severity: NDArray[np.int8] | None = None  # a `Severity` for each subject; None: the kind's severity
    seconds_left: Floats | None = None  # NaN: no forecast
    seconds_left_low: Floats | None = None
    seconds_left_high: Floats | None = None
    because: Callable[[int], str] = _no_text  # describes the finding for the subject at this position, with numbers
    evidence: Evidence = field(default_factory=dict)

    def severity_of(self, place: int) -> Severity:
        """Return the severity for the subject at this position."""
        return Severity(int(self.severity[place])) if self.severity is not None else self.kind.severity


def at(values: Floats | None, place: int) -> float | None:
    """Return one value of an optional array; `None` is unknown."""
    if values is None:
        return None
    value = float(values[place])
    return value if np.isfinite(value) else None
