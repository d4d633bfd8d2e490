"""The scores of one second along hosts, for display. They always exist, whatever was raised."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.scores.base_scores import base_primary
from flyball_collector.diagnosis.scores.primary_bottleneck import NONE, PrimaryBottleneck, Raised, active_by_host
from flyball_collector.diagnosis.subject import Subjects

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The scores along `hosts`; NaN is unknown. Bottlenecks are named without `bottleneck_`.

    A score is the share of the time or of the resource, multiplied by the probability of the bottleneck. For GPUs, it
    is that of the host's worst GPU.
    """

    hosts: Subjects
    base: Mapping[str, Floats]
    scores: Mapping[str, Floats]
    probabilities: Mapping[str, Floats]
    primaries: NDArray[np.int64] | None = None  # positions in `scores`; None before conditions were evaluated
    raised: NDArray[np.bool_] | None = None  # host × score: active for the host or one of its GPUs

    def base_primary(self, place: int) -> tuple[str, float]:
        """Return the largest base score of a host and its value, which is its confidence."""
        return base_primary(self.base, place)

    def primary(self, place: int) -> str:
        """Return the primary bottleneck of a host, or an empty string."""
        chosen = NONE if self.primaries is None else int(self.primaries[place])
        return "" if chosen == NONE else tuple(self.scores)[chosen]

    def confidences(self) -> list[tuple[str, Floats]]:
        """Return the probabilities of active bottlenecks; NaN for others."""
        if self.raised is None:
            return []
        return [
            (name, np.where(self.raised[:, column], self.probabilities[name], np.nan))
            for column, name in enumerate(self.scores)
        ]


class ScoreSource(Protocol):
    """The part of a diagnosis that `table_of` needs."""

    @property
    def scores(self) -> ScoreTable | None:
        """The scores of the last second."""


def table_of(diagnosis: ScoreSource) -> ScoreTable | None:
    """Return the scores of the last second, of the same moment as the conditions; None before the first."""
    return diagnosis.scores


def with_primaries(
    detectors: Iterable[Detector], raised: Raised, primary: PrimaryBottleneck, now: float
) -> ScoreTable | None:
    """Return the newest scores, with the primary bottlenecks among the active ones."""
    tables = (getattr(detector, "table", None) for detector in detectors)
    table = next((table for table in tables if isinstance(table, ScoreTable)), None)
    if table is None:
        return None
    active = active_by_host(tuple(table.scores), table.hosts, raised)
    scores = np.column_stack([*table.scores.values()]) if table.scores else np.zeros((len(table.hosts), 0))
    return replace(table, primaries=primary.choose(table.hosts, active, scores, now), raised=active)
