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
"""A temperature has warmed by this multiple of the degrees left, so that a fit reaches beyond what was seen by less."""

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
    """Fit margins (time × row; degrees left, NaN is unknown) at times (time × row)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        whole = np.all(np.isnan(margins) | (margins == np.round(margins)), axis=0)
        own = np.hypot(np.fmax(_scatter(margins), LEAST_SCATTER), np.where(whole, ROUNDING, 0.0))
        fits, misfit = _fits(now - times, -margins, np.where(whole, _repeated(margins, own), own))
        fitting = misfit <= MISFIT * own
        early = np.where(whole, EARLY_WHOLE, EARLY_TENTHS)
        found = _times(fits, early)
        enough = fitting & (np.count_nonzero(~np.isnan(margins), axis=0) >= LEAST_POINTS)
        risen = np.fmax.reduce(margins, axis=0) - margins[-1]
        found = found._replace(reaches=np.where(risen >= RISEN * margins[-1], found.reaches, 0.0))
        found = found._replace(low=(1 - MODEL) * found.low, high=(1 + MODEL) * found.high)
        return Approach(*(np.where(enough, each, np.nan) for each in found))


def _scatter(margins: Floats) -> Floats:
    """Return the standard deviation of single readings, by the median second difference: a jump does not count."""
    return np.asarray(1.4826 / np.sqrt(6) * medians(np.abs(np.diff(margins, n=2, axis=0)).T))


def _repeated(margins: Floats, own: Floats) -> Floats:
    """Return the error of single whole degrees as if it were independent from reading to reading."""
    moved = np.fmax.reduce(margins, axis=0) - np.fmin.reduce(margins, axis=0) + 1
    repeats = np.where(own < 2 * ROUNDING, np.maximum(len(margins) / moved, 1.0), 1.0)
    return np.asarray(np.hypot(own, ROUNDING * np.sqrt(repeats)))


def _fits(ages: Floats, values: Floats, spread: Floats) -> tuple[_Fits, Floats]:
    """Fit every time constant. The second result is the scatter around the best of them."""
    known = ~np.isnan(values)
    points = np.sum(known, axis=0)
    basis = -np.expm1(np.minimum(ages / TIME_CONSTANTS[:, None, None], LONGEST_AGE))  # 0 now, more negative before
    basis = np.where(known, basis, 0.0)
    values = np.where(known, values, 0.0)
    mean, value = basis.sum(axis=1) / points, values.sum(axis=0) / points
    away = np.where(known, basis - mean[:, None, :], 0.0)
    rise = np.where(known, values - value, 0.0)
    power = np.sum(away**2, axis=1)
    still = np.sum(away * rise, axis=1) / power
    rest = np.sum((rise - away * still[:, None, :]) ** 2, axis=1)
    best = rest.min(axis=0)
    scatter = np.fmax(spread**2, best / np.maximum(points - 3, 1))
    weight = PRIOR[:, None] * np.exp(-(rest - best) / 2 / scatter)
    fits = _Fits(weight / weight.sum(axis=0), value - mean * still, still, np.sqrt(scatter / power), mean)
    return fits, np.asarray(np.sqrt(best / np.maximum(points - 3, 1)))


def _times(fits: _Fits, early: Floats) -> Approach:
    """Weigh the times at which the fits reach the limit."""
    rows = fits.weight.shape[1]
    step = np.exp(-(STEPS**2) / 2)
    weight = (fits.weight[:, None, :] * (step / step.sum())[None, :, None]).reshape(-1, rows)
    change = STEPS[None, :, None] * fits.error[:, None, :]
    still = (fits.still[:, None, :] + change).reshape(-1, rows)
    newest = (fits.newest[:, None, :] - fits.mean[:, None, :] * change).reshape(-1, rows)
    constant = np.repeat(TIME_CONSTANTS, len(STEPS))[:, None]
    exact, sooner = (_reached(constant, newest + ahead, still) for ahead in (0.0, early))
    reaches = np.sum(np.where(np.isfinite(exact), weight, 0.0), axis=0)
    return Approach(
        reaches, _quantile(exact, weight, 0.5), _quantile(sooner, weight, BOUND), _quantile(exact, weight, 1 - BOUND)
    )


def _reached(constant: Floats, newest: Floats, still: Floats) -> Floats:
    """Return the seconds until the limit, infinite if it is not reached."""
    rest = newest + still
    time = constant * np.log(still / rest)
    return np.where(newest >= 0, 0.0, np.where((still > 0) & (rest > 0), time, np.inf))


def _quantile(times: Floats, weight: Floats, share: float) -> Floats:
    """Return a weighted quantile along the first axis."""
    order = np.argsort(times, axis=0)
    total = np.cumsum(np.take_along_axis(weight, order, axis=0), axis=0)
    at = np.minimum(np.sum(total < share, axis=0), len(times) - 1)
    return np.asarray(np.take_along_axis(times, np.take_along_axis(order, at[None], axis=0), axis=0)[0])
