"""Turns weighed odds into calibrated probabilities, fitted to runs with a known bottleneck and kept in a data file."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.scores.evidence import sigmoid

Floats = NDArray[np.float64]

DATA = "calibration.json"

ENOUGH = 20
"""With fewer labels of a kind, its probabilities are not fitted."""

ENOUGH_OF_EACH = 10
"""The same for the number of positive and of negative labels."""

MANY = 1000
"""From this number of labels, a monotone step function fits better than a sigmoid (Niculescu-Mizil and Caruana)."""

_LEAST_SLOPE = 0.02
_RIDGE = 0.1  # keeps the slope finite, mainly together with targets off 0 and 1
_ROUNDS = 50
_FINE = 1e-9


class Labelled(NamedTuple):
    """The weighed log-odds of one kind on a labelled run, and whether it was the bottleneck."""

    kind: str
    score: float
    right: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """The probability for given log-odds: a sigmoid, or linear interpolation between knots."""

    labels: int
    slope: float = 1.0
    offset: float = 0.0
    knots: tuple[tuple[float, float], ...] = ()

    def __call__(self, log_odds: Floats) -> Floats:
        """Return the probability for each value."""
        if self.knots:
            places, values = zip(*self.knots, strict=True)
            return np.asarray(np.interp(log_odds, places, values))
        return sigmoid(self.slope * log_odds + self.offset)


@dataclass(frozen=True, slots=True)
class Calibration:
    """A curve for each kind with enough labels."""

    curves: Mapping[str, Curve] = field(default_factory=dict)

    def knows(self, kind: str) -> bool:
        """Return True if this kind was calibrated."""
        return kind in self.curves

    def probability(self, kind: str, log_odds: Floats) -> Floats:
        """Return the calibrated probability, or the uncalibrated one if there is no curve."""
        curve = self.curves.get(kind)
        return sigmoid(log_odds) if curve is None else curve(log_odds)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Name what a calibration was fitted to. A reader can check that nothing that it is scored on is among it."""

    seeds: tuple[str, ...]  # of the recordings
    generators: tuple[str, ...]
    episodes: int


def fit(labelled: Iterable[Labelled]) -> Calibration:
    """Fit a curve for each kind with enough labels."""
    by_kind: dict[str, list[Labelled]] = {}
    for one in labelled:
        by_kind.setdefault(one.kind, []).append(one)
    return Calibration({kind: _fit(found) for kind, found in sorted(by_kind.items()) if _is_enough(found)})


def _is_enough(found: Sequence[Labelled]) -> bool:
    right = sum(one.right for one in found)
    return len(found) >= ENOUGH and min(right, len(found) - right) >= ENOUGH_OF_EACH


def _fit(labelled: Sequence[Labelled]) -> Curve:
    scores = np.array([one.score for one in labelled])
    right = np.array([one.right for one in labelled])
    return _isotonic(scores, right) if len(labelled) >= MANY else _platt(scores, right)


def _platt(scores: Floats, right: NDArray[np.bool_]) -> Curve:
    """Fit Platt's sigmoid, with targets off 0 and 1 as few labels require (Platt 1999; Lin, Lin, Weng 2007)."""
    yes, no = int(right.sum()), int((~right).sum())
    targets = np.where(right, (yes + 1) / (yes + 2), 1 / (no + 2))
    line, lost = np.array([_LEAST_SLOPE, math.log((yes + 1) / (no + 1))]), math.inf
    for _ in range(_ROUNDS):
        step = _newton(line, scores, targets)
        while (now := _loss(line - step, scores, targets)) > lost and np.abs(step).max() > _FINE:
            step /= 2  # cleanly separated labels would make it diverge
        line, lost = line - step, now
        if np.abs(step).max() < _FINE:
            break
    slope, offset = float(line[0]), float(line[1])
    if slope < _LEAST_SLOPE:  # more evidence must not lower the probability
        slope, offset = 0.0, math.log((yes + 1) / (no + 1))
    return Curve(len(scores), round(slope, 6), round(offset, 6))


def _newton(line: Floats, scores: Floats, targets: Floats) -> Floats:
    """Return one Newton step of slope and offset; the ridge keeps the slope small."""
    found = sigmoid(line[0] * scores + line[1])
    weights, wrong = found * (1 - found) + 1e-9, found - targets
    hessian = np.array([
        [np.sum(weights * scores**2) + _RIDGE, np.sum(weights * scores)],
        [np.sum(weights * scores), np.sum(weights) + 1e-6],
    ])  # fmt: skip
    gradient = np.array([np.sum(wrong * scores) + _RIDGE * (line[0] - _LEAST_SLOPE), np.sum(wrong)])
    return np.asarray(np.linalg.solve(hessian, gradient))


def _loss(line: Floats, scores: Floats, targets: Floats) -> float:
    """Return the loss that the Newton steps minimise."""
    odds = line[0] * scores + line[1]
    return float(np.sum(np.logaddexp(0.0, odds) - targets * odds) + _RIDGE * (line[0] - _LEAST_SLOPE) ** 2 / 2)


def _isotonic(scores: Floats, right: NDArray[np.bool_]) -> Curve:
    """Pool adjacent violators; the middle of each pool is a knot."""
    pools: list[list[float]] = []  # sum of scores, sum of positive labels, count
    for place in np.argsort(scores, kind="stable"):
        pools.append([float(scores[place]), float(right[place]), 1.0])
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    knots = tuple((round(total / count, 6), round((yes + 1) / (count + 2), 6)) for total, yes, count in pools)
    rising = [knots[0]]
    for place, value in knots[1:]:
        if place > rising[-1][0]:
            rising.append((place, max(value, rising[-1][1])))
    return Curve(len(scores), knots=tuple(rising))


def write(calibration: Calibration, path: Path, provenance: Provenance) -> None:
    """Write the data file."""
    curves = {kind: _plain(curve) for kind, curve in calibration.curves.items()}
    path.write_text(json.dumps({"fitted_to": asdict(provenance), "curves": curves}, indent=1) + "\n")


def read(text: str) -> Calibration:
    """Read the content of a data file."""
    curves: dict[str, Any] = json.loads(text)["curves"]
    return Calibration({
        kind: Curve(
            found["labels"],
            found.get("slope", 1.0),
            found.get("offset", 0.0),
            tuple((place, value) for place, value in found.get("knots", ())),
        )
        for kind, found in curves.items()
    })  # fmt: skip


@cache
def shipped() -> Calibration:
    """Return the calibration that comes with the package."""
    return read(files("flyball_collector.diagnosis.scores").joinpath(DATA).read_text())


def _plain(curve: Curve) -> dict[str, Any]:
    if curve.knots:
        return {"labels": curve.labels, "knots": [list(knot) for knot in curve.knots]}
    return {"labels": curve.labels, "slope": curve.slope, "offset": curve.offset}
