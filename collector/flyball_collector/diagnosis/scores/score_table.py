"""The scores of one second, along hosts, for whoever shows them: always there, whatever was raised."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.scores.base import base_primary
from flyball_collector.diagnosis.scores.primary import NONE
from flyball_collector.diagnosis.subject import Subjects

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Arrays along `hosts`; NaN is unknown. Bottlenecks are named without `bottleneck_`.

    A score is the share of the time or of the resource times how probable the bottleneck is; of GPUs the host's worst.
    """

    hosts: Subjects
    base: Mapping[str, Floats]
    scores: Mapping[str, Floats]
    probabilities: Mapping[str, Floats]
    primaries: NDArray[np.int64]  # places in `scores`

    def base_primary(self, place: int) -> tuple[str, float]:
        """The largest base score of a host, and its value, which is its confidence."""
        return base_primary(self.base, place)

    def primary(self, place: int) -> str:
        """The primary bottleneck of a host; empty: none."""
        chosen = int(self.primaries[place])
        return "" if chosen == NONE else tuple(self.scores)[chosen]


class Asks(Protocol):
    """A diagnosis, as far as this needs it."""

    @property
    def detectors(self) -> Iterable[Detector]:
        """Whom it asks."""


def table_of(diagnosis: Asks) -> ScoreTable | None:
    """The scores of its last look; nothing before the first."""
    tables = (getattr(detector, "table", None) for detector in diagnosis.detectors)
    return next((table for table in tables if isinstance(table, ScoreTable)), None)
