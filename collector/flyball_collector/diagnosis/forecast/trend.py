"""Robust trends of many series at once: Theil–Sen slopes with bounds that allow for autocorrelation.

Theil (1950) and Sen (1968, J. Am. Stat. Assoc. 63): the median of all slopes between two points, with bounds from
Kendall's rank statistic. Similar neighbouring residuals carry less information than their number
suggests: the variance grows by (1 + r) / (1 − r) (first-order correction after Bayley and Hammersley, 1946).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.unknown_values import known_or

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trend:
    """Slopes a second, along the series. A bound is NaN if there are too few points."""

    slope: Floats
    low: Floats
    high: Floats
    points: Places  # number of known points
    spread: Floats  # median absolute residual, scaled to a standard deviation


def theil_sen(times: Floats, values: Floats, *, z: float = 2.576, correlated: bool = False) -> Trend:
    """Fit trends to `values` (time × series; NaN is unknown) at ascending times, common to all or time × series.

    `z`: width of the bounds in standard deviations. `correlated`: widen them by the autocorrelation of the residuals.
    """
    times = times if times.ndim == 2 else times[:, None]
    earlier, later = _pairs(len(times))
    points: Places = np.sum(~np.isnan(values), axis=0, dtype=np.int64)
    slopes = values[later]
    slopes -= values[earlier]
    slopes /= times[later] - times[earlier]
    slopes.sort(axis=0)  # NaN last
    count = points * (points - 1) // 2
    slope = (_pick(slopes, (count - 1) // 2, count) + _pick(slopes, count // 2, count)) / 2
    residuals = _residuals(times, values, slope)
    spread = 1.4826 * _median(np.abs(residuals))
    inflation = _inflation(residuals, points) if correlated else np.ones(len(points))
    width = z * np.sqrt(inflation * points * (points - 1) * (2 * points + 5) / 18)
    low = _pick(slopes, np.floor((count - width) / 2).astype(np.int64), count)
    high = _pick(slopes, np.ceil((count + width) / 2).astype(np.int64) - 1, count)
    return Trend(slope, low, high, points, spread)


def rises(values: Floats, z: float = 2.576) -> NDArray[np.bool_]:
    """Return True if the lower bound of the slope is above zero. Counting is much cheaper than computing slopes."""
    earlier, later = _pairs(len(values))
    points: Places = np.sum(~np.isnan(values), axis=0, dtype=np.int64)
    falls = np.count_nonzero(values[later] <= values[earlier], axis=0)
    bound = (points * (points - 1) // 2 - z * np.sqrt(points * (points - 1) * (2 * points + 5) / 18)) / 2
    return np.asarray((falls <= np.floor(bound)) & (bound >= 0) & (points > 1))


def walk(values: Floats) -> Floats:
    """Return how far a random walk with the same steps as each series (time × series) would typically go."""
    steps = np.diff(values, axis=0)
    known = np.maximum(np.sum(~np.isnan(steps), axis=0), 2)
    rest = known_or(0.0, steps - np.nansum(steps, axis=0) / known)
    return np.asarray(np.sqrt(np.sum(rest**2, axis=0) / (known - 1) * known))


@lru_cache(maxsize=64)
def _pairs(count: int) -> tuple[Places, Places]:
    earlier, later = np.triu_indices(count, k=1)
    return earlier.astype(np.int64), later.astype(np.int64)


def _pick(ordered: Floats, index: Places, count: Places) -> Floats:
    """Return the element at each column's index; NaN if there is none."""
    inside = (index >= 0) & (index < count)
    if not len(ordered):
        return np.full(len(count), np.nan)
    picked = np.take_along_axis(ordered, np.where(inside, index, 0)[None, :], axis=0)[0]
    return np.where(inside, picked, np.nan)


def _median(values: Floats) -> Floats:
    """Return the median along time, without NumPy's warning for columns without known values."""
    ordered = np.sort(values, axis=0)
    known: Places = np.sum(~np.isnan(values), axis=0, dtype=np.int64)
    return (_pick(ordered, (known - 1) // 2, known) + _pick(ordered, known // 2, known)) / 2


def _residuals(times: Floats, values: Floats, slope: Floats) -> Floats:
    rest = values - (times - times[-1]) * slope
    return np.asarray(rest - _median(rest))


def _inflation(residuals: Floats, points: Places) -> Floats:
    """Return the factor by which the variance of Kendall's statistic grows.

    The estimate of a short series is too small by about (1 + 4 r) / n (Kendall, 1954); this is corrected.
    """
    both = np.where(np.isnan(residuals), 0.0, residuals)
    power = np.sum(both * both, axis=0)
    lagged = np.sum(both[1:] * both[:-1], axis=0)
    r = np.divide(lagged, power, out=np.zeros_like(power), where=power > 0)
    r += (1 + 4 * r) / np.maximum(points, 4)
    r = np.clip(r, 0.0, 0.95)
    return np.asarray((1 + r) / (1 - r))
