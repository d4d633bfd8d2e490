"""Computes when a temperature reaches its limit, unless the warming levels off before."""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.trend import rises, theil_sen

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CERTAIN, CERTAIN_BY_FEW = 2.0, 4.0
"""The warming still expected, as a multiple of the degrees left; the second applies to fewer than six points."""

LEAST_SHARE = 0.25
"""The lower bound of the slope and the slope before must be at least this share of the newest slope."""

SENSOR = 0.3
"""The usual error, in degrees, of a sensor that reports whole degrees."""

LEAST_SLOPE = 0.02
"""Degrees a second. Slower warming is not forecast, because room temperature changes this fast."""

FEW = 6

LEAST_WARMED = 2.0
"""Degrees of warming required over all points."""
PIECE = 6
"""Points in a piece. The slope of each piece is compared with that of the newest piece."""

NOISE = 0.5
"""The error, in degrees, of single readings: rounding by the sensor and changes of the load."""


class Onset(NamedTuple):
    """The seconds until the limit is reached, along rows; NaN if it is not reached."""

    left: Floats
    low: Floats
    high: Floats


def onset(times: Floats, margins: Floats, horizon: float | Floats) -> Onset:
    """Forecast when margins (time × row; degrees left) reach zero, unless the warming levels off before.

    A temperature approaches its final value exponentially: in each part of the time it changes less than in the part
    before. The lower bound of the slope must be near the slope, and the warming still expected from the newest part
    must be at least twice the margin.
    """
    times = times if times.ndim == 2 else np.repeat(times[:, None], margins.shape[1], axis=1)
    horizon = np.broadcast_to(horizon, margins.shape[1])
    found = Onset(*(np.full(margins.shape[1], np.nan) for _ in Onset._fields))
    rows = np.flatnonzero(_may_warm(margins))
    if len(rows):
        halves = _trend(times[:, rows], margins[:, rows], 2)
        continues = _continues(halves, margins[:, rows], horizon[rows])
        rows = rows[continues]
        halves = _Trend(*(each[continues] for each in halves))
    if len(rows):
        for whole, part in zip(found, _fit(times[:, rows], margins[:, rows], halves), strict=True):
            whole[rows] = part
    return found


def expected_warming(times: Floats, margins: Floats) -> Floats:
    """Return the degrees by which each row (time × row) will still warm if it levels off as it has done so far.

    Of two slopes of an exponential approach with `gap` seconds between them, the newer is exp(−gap / τ) of the older.
    The final value is τ times the newer slope away. The result is infinite if nothing levels off beyond noise or too
    little is known.
    """
    moments, values = (sliding_window_view(each, PIECE, axis=0) for each in (times, -margins))
    middle = moments.mean(axis=-1, keepdims=True)
    power = np.sum((moments - middle) ** 2, axis=-1)
    slopes, errors = np.sum((moments - middle) * values, axis=-1) / power, NOISE / np.sqrt(power)
    newest, older = np.maximum(slopes[-1] - errors[-1], 1e-6), slopes[:-1] - errors[:-1]
    gaps = (middle[-1] - middle[:-1])[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        rests = np.where(older > newest, newest * gaps / np.log(older / newest), np.inf)
    return np.asarray(np.fmin.reduce(rests, axis=0, initial=np.inf))


def _may_warm(margins: Floats) -> Flags:
    """Return the rows that may be fitted. This check is cheap; for the other rows `_fit` finds nothing."""
    least = max(min(8, len(margins)), len(margins) - 3)
    known = np.count_nonzero(~np.isnan(margins), axis=0) >= least
    may: Flags = known & (margins[0] - margins[-1] >= LEAST_WARMED)
    may[may] = rises(-margins[:, may], _deviations(len(margins)))
    return may


def _deviations(points: int) -> float:
    """Return the width of the bounds for 99 %, or for 95 % if there are few points."""
    return 1.96 if points < FEW else 2.576


def _continues(halves: "_Trend", margins: Floats, horizon: Floats) -> Flags:
    """Return True if the newer half warms like the older one, soon reaches the limit, and is expected to."""
    margin, late = np.maximum(margins[-1], 0.0), halves.newest
    continues = (late >= LEAST_SLOPE) & (halves.before >= LEAST_SHARE * late) & (margin <= horizon * late)
    return np.asarray(continues & (halves.rest >= _certain(len(margins)) * margin))


def _certain(points: int) -> float:
    return CERTAIN if points >= FEW else CERTAIN_BY_FEW


def _fit(times: Floats, margins: Floats, halves: "_Trend") -> Onset:
    """Fit the rows whose warming continues."""
    trend, thirds = theil_sen(times, -margins, z=_deviations(len(times))), _trend(times, margins, 3)
    late, rest = halves.newest, np.fmin(halves.rest, thirds.rest)
    margin = np.maximum(margins[-1], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left, low, high = margin / late, margin / np.fmax(trend.high, late), margin / np.fmin(trend.low, late)
        share = np.clip(margin / rest, 0, 0.99)
        high = np.where(share > 0, np.fmax(high, left * -np.log1p(-share) / share), high)  # slower as it levels off
    warms = (trend.low >= LEAST_SHARE * late) & (rest >= _certain(len(times)) * margin)
    return Onset(*(np.where(warms, values, np.nan) for values in (left, np.fmin(low, left), np.fmax(high, left))))


class _Trend(NamedTuple):
    before: Floats  # slope of the part before the newest
    newest: Floats
    rest: Floats  # degrees of warming still expected


def _trend(times: Floats, margins: Floats, parts: int) -> _Trend:
    """Compare the slopes of the last two parts of the time, and extrapolate where the warming would end.

    Noise may hide that the warming levels off. Both slopes are therefore taken one standard error to the safe side.
    """
    count = len(times)
    cuts = [count * part // parts for part in range(parts + 1)]
    last, before = slice(cuts[-2], None), slice(cuts[-3], cuts[-2] + 1)
    newest, earlier = (theil_sen(times[part], -margins[part], z=0.0) for part in (last, before))
    span = times[-1] - times[cuts[-2]]
    error = np.fmax(np.fmax(newest.spread, earlier.spread), SENSOR) * np.sqrt(12 / (count - cuts[-2])) / span
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.maximum(newest.slope - error, 0.0)
        fades = np.clip(least / (earlier.slope + error), 0.0, 1.0)
        rest = least * span * fades / (1 - fades)
    return _Trend(earlier.slope, newest.slope, rest)
