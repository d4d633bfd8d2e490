"""Errors of predictions: their size and direction, the coverage of intervals, and the ranking."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.interval import Interval


class Errors(Struct, frozen=True):
    """Errors relative to the measurements; nothing without rows."""

    median_ape: float | None = None
    mean_ape: float | None = None
    bias: float | None = None
    coverage90: float | None = None
    width90: float | None = None
    rank_correlation: float | None = None


def errors(predicted: Sequence[Interval], measured: Sequence[float]) -> Errors:
    """Return all errors."""
    if not measured:
        return Errors()
    truth = np.array(measured)
    middle = np.array([each.middle for each in predicted])
    relative = middle / truth - 1
    return Errors(
        median_ape=float(np.median(np.abs(relative))),
        mean_ape=float(np.mean(np.abs(relative))),
        bias=float(np.mean(relative)),
        coverage90=float(np.mean([each.holds(value) for each, value in zip(predicted, measured, strict=True)])),
        width90=float(np.median([each.width for each in predicted])),
        rank_correlation=rank_correlation(middle, truth),
    )


def rank_correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return Spearman's correlation; nothing if one of both is constant."""
    ranks = _ranks(first), _ranks(second)
    if len(first) < 2 or any(each.std() == 0 for each in ranks):
        return None
    return float(np.corrcoef(*ranks)[0, 1])


def baseline_error(scales: Sequence[float], measured: Sequence[float]) -> float | None:
    """Return the median error of one constant times a scale such as the card's memory, fitted on the same rows.

    This baseline is stronger than the planner's situation, because it has seen the rows that it is judged by.
    """
    if not measured:
        return None
    ratios = np.array(measured) / np.array(scales)
    return float(np.median(np.abs(np.median(ratios) / ratios - 1)))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    mean_rank: NDArray[np.float64] = (ends - (sizes - 1) / 2)[group]  # ties get their mean
    return mean_rank
