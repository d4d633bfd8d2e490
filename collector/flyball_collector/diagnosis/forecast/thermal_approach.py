"""Fits the exponential approach of a temperature to its rest, with the uncertainty of where that is.

A heat sink under constant power approaches its final temperature exponentially. For each of a range of time constants
(and for a steady rise, which never rests) the two other unknowns are fitted by least squares. How well each of them
fits gives its weight, and the scatter of the readings the uncertainty of its rest. So a rise that has not yet bent
leaves many rests open, those below the limit among them: then nothing is forecast.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.level_shifts import medians

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

STEADY = 5000.0
TIME_CONSTANTS = np.append(np.geomspace(8.0, 640.0, 36), STEADY)
"""Seconds: heat sinks of fans and of water. The last one is a steady rise. Neighbours differ by an eighth, so that one
of them fits however little the readings scatter."""

PRIOR = np.append(np.ones(36), 9.0)
"""Weights before any reading: a cooler that fails makes a steady rise."""

STEPS = np.array([-2.4, -1.6, -0.8, 0.0, 0.8, 1.6, 2.4])
"""Standard errors at which each fit is tried."""

_CONSTANTS = np.repeat(TIME_CONSTANTS, len(STEPS))
"""The time constant of each fit, with its steps."""

LIKELY = 0.5
"""Below this probability that the limit is reached, the median time to it is infinite."""

LEAST_SCATTER = 0.2
"""Least scatter of readings in degrees: loads and fans change."""

ROUNDING = 0.29
"""Standard deviation of the rounding, in steps of the sensor, where readings scatter less than a step. It does not
average out: each reading repeats the error of the one before until the temperature has moved on by a step."""

EARLY_WHOLE, EARLY_TENTHS = 0.6, 0.2
"""By so many degrees below the limit a reading may already be at it, by rounding and scatter."""

LEAST_POINTS = 8

LONGEST_AGE = 6.0
"""Readings older than this multiple of a time constant carry no information about its approach."""

MISFIT = 1.5
"""Residuals above this multiple of the scatter are not those of an exponential approach: the load has changed."""

RISEN = 1.2
"""A temperature has warmed by this multiple of the degrees left, so that a fit reaches less far than what was seen …"""

RISEN_FAR, FAR_SECONDS = 1.8, 30.0
"""… and by this one if the limit is further away in time: a heat sink may show its rest only after half a minute."""

MODEL = 0.1
"""The error of the time left, as a share of it, that remains: a board has more than one time constant."""

BOUND = 0.04
"""Share of the weights outside each bound of the time left."""


class Approach(NamedTuple):
    """Holds what is known about when the limit is reached, along rows."""

    reaches: Floats  # probability that the rest is above the limit
    left: Floats  # seconds, the median
    low: Floats
    high: Floats


class _Fits(NamedTuple):
    """Fits of each time constant (constant × row)."""

    weight: Floats
    newest: Floats  # degrees above the limit, now
    still: Floats  # degrees of warming to come
    error: Floats  # of `still`
    mean: Floats  # of the basis; ties `newest` to `still`


def approach(times: Floats, margins: Floats, now: float) -> Approach:
    """Fit margins (time × row; degrees left, NaN is unknown) at times (time × row).

    The times left are known only where the limit is more likely reached than not.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        known = ~np.isnan(margins)
        whole = np.all(~known | (margins == np.round(margins)), axis=0)
        own = np.hypot(np.fmax(_scatter(margins), LEAST_SCATTER), np.where(whole, ROUNDING, 0.0))
        fits, misfit = _fits(now - times, -margins, known, np.where(whole, _repeated(margins, own), own))
        enough = (misfit <= MISFIT * own) & (np.count_nonzero(known, axis=0) >= LEAST_POINTS)
        found = Approach(np.where(enough, 0.0, np.nan), *(np.full(len(enough), np.nan) for _ in range(3)))
        warmed = np.fmax.reduce(margins, axis=0) - margins[-1]
        risen = enough & (warmed >= RISEN * margins[-1])
        over = risen & _is_over(fits)
        for into, reached in zip(found, (1.0, 0.0, 0.0, 0.0), strict=True):
            into[over] = reached
        rows = np.flatnonzero(risen & ~over)
        for into, part in zip(found, _times(_Fits(*(each[:, rows] for each in fits)), whole[rows]), strict=True):
            into[rows] = part
        found.reaches[(warmed < RISEN_FAR * margins[-1]) & (found.left > FAR_SECONDS)] = 0.0
        return found._replace(low=(1 - MODEL) * found.low, high=(1 + MODEL) * found.high)


def _scatter(margins: Floats) -> Floats:
    """Return the standard deviation of single readings, by the median second difference: a jump does not count."""
    return np.asarray(1.4826 / np.sqrt(6) * medians(np.abs(np.diff(margins, n=2, axis=0)).T))


def _repeated(margins: Floats, own: Floats) -> Floats:
    """Return the error of single whole degrees as if it were independent from reading to reading."""
    moved = np.fmax.reduce(margins, axis=0) - np.fmin.reduce(margins, axis=0) + 1
    repeats = np.where(own < 2 * ROUNDING, np.maximum(len(margins) / moved, 1.0), 1.0)
    return np.asarray(np.hypot(own, ROUNDING * np.sqrt(repeats)))


def _fits(ages: Floats, values: Floats, known: Flags, spread: Floats) -> tuple[_Fits, Floats]:
    """Fit every time constant. The second result is the scatter around the best of them."""
    points = np.count_nonzero(known, axis=0)
    value = np.where(known, values, 0.0).sum(axis=0) / points
    rise = np.where(known, values - value, 0.0)
    total, squares, together = _sums(ages, known, rise)
    mean = total / points
    power = squares - mean * total
    still = together / power
    rest = np.maximum(np.sum(rise**2, axis=0) - together * still, 0.0)
    best = rest.min(axis=0)
    scatter = np.fmax(spread**2, best / np.maximum(points - 3, 1))
    weight = PRIOR[:, None] * np.exp(-(rest - best) / 2 / scatter)
    fits = _Fits(weight / weight.sum(axis=0), value - mean * still, still, np.sqrt(scatter / power), mean)
    return fits, np.asarray(np.sqrt(best / np.maximum(points - 3, 1)))


def _sums(ages: Floats, known: Flags, rise: Floats) -> Floats:
    """Return the sums over time of the basis, of its squares and of its products with the rise (3 × constant × row).

    Rows whose readings came at the same times, which are nearly all, have the same basis. So the sums are products of
    matrices.
    """
    ages, there = np.where(known, ages, 0.0), known.astype(np.float64)
    sums = np.empty((3, len(TIME_CONSTANTS), ages.shape[1]))
    rows = np.argsort(ages.sum(axis=0))
    while len(rows):
        usual = ages[:, rows[len(rows) // 2]]
        alike = np.all((ages[:, rows] == usual[:, None]) | ~known[:, rows], axis=0)
        basis = -np.expm1(np.minimum(usual / TIME_CONSTANTS[:, None], LONGEST_AGE))  # 0 now, more negative before
        some, rows = rows[alike], rows[~alike]
        sums[0][:, some], sums[1][:, some] = basis @ there[:, some], basis**2 @ there[:, some]
        sums[2][:, some] = basis @ rise[:, some]
    return sums


def _is_over(fits: _Fits) -> Flags:
    """Return the rows that are beyond the limit by every fit."""
    return np.asarray(np.all(fits.newest >= STEPS[-1] * fits.error * np.abs(fits.mean), axis=0))


def _times(fits: _Fits, whole: Flags) -> Approach:
    """Weigh the times at which the fits reach the limit (row × fit). They are known where it is likely reached."""
    rows = fits.weight.shape[1]
    step = np.exp(-(STEPS**2) / 2)
    change = fits.error.T[:, :, None] * STEPS
    weight = (fits.weight.T[:, :, None] * (step / step.sum())).reshape(rows, len(_CONSTANTS))
    still = (fits.still.T[:, :, None] + change).reshape(rows, len(_CONSTANTS))
    newest = (fits.newest.T[:, :, None] - fits.mean.T[:, :, None] * change).reshape(rows, len(_CONSTANTS))
    reaches = np.sum(np.where(_will_reach(newest, still), weight, 0.0), axis=1)
    found = Approach(reaches, *(np.full(rows, np.nan) for _ in range(3)))
    some = np.flatnonzero(reaches >= LIKELY)
    weight, newest, still = weight[some], newest[some], still[some]
    early = np.where(whole[some], EARLY_WHOLE, EARLY_TENTHS)[:, None]
    found.left[some], found.high[some] = _quantiles(_reached(newest, still), weight, (0.5, 1 - BOUND))
    (found.low[some],) = _quantiles(_reached(newest + early, still), weight, (BOUND,))
    return found


def _will_reach(newest: Floats, still: Floats) -> Flags:
    return np.asarray((newest >= 0) | ((still > 0) & (newest + still > 0)))


def _reached(newest: Floats, still: Floats) -> Floats:
    """Return the seconds until the limit (row × fit), infinite if it is not reached."""
    time = _CONSTANTS * np.log(still / (newest + still))
    return np.where(newest >= 0, 0.0, np.where(_will_reach(newest, still), time, np.inf))


def _quantiles(times: Floats, weight: Floats, shares: tuple[float, ...]) -> list[Floats]:
    """Return weighted quantiles along the last axis."""
    order = np.argsort(times, axis=1)
    total = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    rows = np.arange(len(times))
    at = (np.minimum(np.count_nonzero(total < share, axis=1), times.shape[1] - 1) for share in shares)
    return [times[rows, order[rows, place]] for place in at]
