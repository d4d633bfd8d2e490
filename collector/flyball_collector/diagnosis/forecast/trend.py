"""Robust trends of many series at once: Theil–Sen slopes with bounds that autocorrelation widens.

Theil (1950) and Sen (1968, J. Am. Stat. Assoc. 63): the median of all slopes between two points, with bounds from
Kendall's rank statistic. Neighbouring residuals that resemble each other carry less information than their number
says; the variance grows by (1 + r) / (1 − r) for it (first-order correction after Bayley and Hammersley, 1946).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.unknown import known_or

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trend:
    """Arrays along the series: slopes a second. A bound is NaN where there are too few points to have one."""

    slope: Floats
    low: Floats
    high: Floats
    points: Places  # known ones
    spread: Floats  # median absolute residual, scaled to a standard deviation


def theil_sen(times: Floats, values: Floats, *, z: float = 2.576, correlated: bool = False) -> Trend:
    """Trends of `values` (time × series; NaN is unknown) at rising times, the same for all or time × series.

    `z`: how many standard deviations wide the bounds are. `correlated`: widen them by the residuals' autocorrelation.
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
    """Whether the lower bound of each trend's slope is above zero: counted, which costs a fraction of the slopes."""
    earlier, later = _pairs(len(values))
    points: Places = np.sum(~np.isnan(values), axis=0, dtype=np.int64)
    falls = np.count_nonzero(values[later] <= values[earlier], axis=0)
    bound = (points * (points - 1) // 2 - z * np.sqrt(points * (points - 1) * (2 * points + 5) / 18)) / 2
    return np.asarray((falls <= np.floor(bound)) & (bound >= 0) & (points > 1))


def walk(values: Floats) -> Floats:
    """How far a random walk would go, as a rule, by steps like those of each series (time × series)."""
    steps = np.diff(values, axis=0)
    known = np.maximum(np.sum(~np.isnan(steps), axis=0), 2)
    rest = known_or(0.0, steps - np.nansum(steps, axis=0) / known)
    return np.asarray(np.sqrt(np.sum(rest**2, axis=0) / (known - 1) * known))


@lru_cache(maxsize=64)
def _pairs(count: int) -> tuple[Places, Places]:
    earlier, later = np.triu_indices(count, k=1)
    return earlier.astype(np.int64), later.astype(np.int64)


def _pick(ordered: Floats, index: Places, count: Places) -> Floats:
    """The element at each column's index; NaN where there is none."""
    inside = (index >= 0) & (index < count)
    if not len(ordered):
        return np.full(len(count), np.nan)
    picked = np.take_along_axis(ordered, np.where(inside, index, 0)[None, :], axis=0)[0]
    return np.where(inside, picked, np.nan)


def _median(values: Floats) -> Floats:
    """Along time, without the warning for columns that are wholly unknown."""
    ordered = np.sort(values, axis=0)
    known: Places = np.sum(~np.isnan(values), axis=0, dtype=np.int64)
    return (_pick(ordered, (known - 1) // 2, known) + _pick(ordered, known // 2, known)) / 2


def _residuals(times: Floats, values: Floats, slope: Floats) -> Floats:
    rest = values - (times - times[-1]) * slope
    return np.asarray(rest - _median(rest))


def _inflation(residuals: Floats, points: Places) -> Floats:
    """By how much the variance of Kendall's statistic grows; the estimate of a short series is too small by about
    (1 + 4 r) / n (Kendall, 1954), which is given back."""
    both = np.where(np.isnan(residuals), 0.0, residuals)
    power = np.sum(both * both, axis=0)
    lagged = np.sum(both[1:] * both[:-1], axis=0)
    r = np.divide(lagged, power, out=np.zeros_like(power), where=power > 0)
    r += (1 + 4 * r) / np.maximum(points, 4)
    r = np.clip(r, 0.0, 0.95)
    return np.asarray((1 + r) / (1 - r))
