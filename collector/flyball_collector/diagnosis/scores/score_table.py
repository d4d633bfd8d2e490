"""The scores of one second, along hosts, for whoever shows them: always there, whatever was raised."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.scores.base import base_primary
from flyball_collector.diagnosis.scores.primary import NONE, Primary, Raised, stand_by_host
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
    primaries: NDArray[np.int64] | None = None  # places in `scores`; none before conditions were weighed
    raised: NDArray[np.bool_] | None = None  # host × score: whether it stands for the host or a GPU of it

    def base_primary(self, place: int) -> tuple[str, float]:
        """The largest base score of a host, and its value, which is its confidence."""
        return base_primary(self.base, place)

    def primary(self, place: int) -> str:
        """The primary bottleneck of a host; empty: none."""
        chosen = NONE if self.primaries is None else int(self.primaries[place])
        return "" if chosen == NONE else tuple(self.scores)[chosen]

    def confidences(self) -> list[tuple[str, Floats]]:
        """How probable each bottleneck is where it stands; NaN elsewhere."""
        if self.raised is None:
            return []
        return [
            (name, np.where(self.raised[:, column], self.probabilities[name], np.nan))
            for column, name in enumerate(self.scores)
        ]


class Asks(Protocol):
    """A diagnosis, as far as this needs it."""

    @property
    def scores(self) -> ScoreTable | None:
        """Of its last look."""


def table_of(diagnosis: Asks) -> ScoreTable | None:
    """The scores of its last look, of the same moment as its conditions; nothing before the first."""
    return diagnosis.scores


def weigh_primaries(detectors: Iterable[Detector], raised: Raised, primary: Primary, now: float) -> ScoreTable | None:
    """The newest scores, with what is primary of that which stands."""
    tables = (getattr(detector, "table", None) for detector in detectors)
    table = next((table for table in tables if isinstance(table, ScoreTable)), None)
    if table is None:
        return None
    active = stand_by_host(tuple(table.scores), table.hosts, raised)
    scores = np.column_stack([*table.scores.values()]) if table.scores else np.zeros((len(table.hosts), 0))
    return replace(table, primaries=primary.choose(table.hosts, active, scores, now), raised=active)
