"""When the degrees that are left will be used up, if the warming does not come to rest before."""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.trend import rises, theil_sen

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SURELY, SURELY_BY_FEW = 2.0, 4.0
"""What the warming still promises, as a multiple of the degrees left; by fewer points than six."""

SURE_SHARE = 0.25
"""Of the newest slope: as much the lower bound and the slope before must be at least."""

SENSOR = 0.3
"""Degrees by which a sensor that tells whole ones is off, as a rule."""

CLEARLY = 0.02
"""Degrees a second below which nothing is forecast: room temperature moves that fast."""

FEW = 6

LEAST_WARMED = 2.0
"""Degrees over all that is looked at."""


PIECE = 6
"""Points whose slope is compared with that of the newest as many."""

NOISE = 0.5
"""Degrees by which single readings are off: what a sensor's whole degrees hide, and what the load does."""


class Onset(NamedTuple):
    """Along rows: the seconds until the limit is met; NaN where it is not."""

    left: Floats
    low: Floats
    high: Floats


def onset(times: Floats, margins: Floats, horizon: float | Floats) -> Onset:
    """When margins (time × row; degrees left) reach zero, if an approach to a rest does not end before.

    Temperatures approach a rest exponentially: in each part of the time they go less far than in the part before. The
    slope's lower bound must be near the slope, and what the newest part still promises must cover the margin twice.
    """
    times = times if times.ndim == 2 else np.repeat(times[:, None], margins.shape[1], axis=1)
    horizon = np.broadcast_to(horizon, margins.shape[1])
    found = Onset(*(np.full(margins.shape[1], np.nan) for _ in Onset._fields))
    rows = np.flatnonzero(_may_warm(margins))
    if len(rows):
        halves = _promise(times[:, rows], margins[:, rows], 2)
        going_on = _goes_on(halves, margins[:, rows], horizon[rows])
        rows = rows[going_on]
        halves = _Promise(*(each[going_on] for each in halves))
    if len(rows):
        for whole, part in zip(found, _fit(times[:, rows], margins[:, rows], halves), strict=True):
            whole[rows] = part
    return found


def to_come(times: Floats, margins: Floats) -> Floats:
    """Degrees by which each row (time × row) will yet warm, if it goes on to fade as it did since its steepest piece.

    Of two slopes of an approach to a rest, `gap` seconds apart, the newer is exp(−gap / τ) of the older, and the rest
    is τ times the newer one away. Infinite where nothing fades beyond noise, or too little is known.
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
    """What does not cost a fit: without it `_fit` finds nothing."""
    least = max(min(8, len(margins)), len(margins) - 3)
    known = np.count_nonzero(~np.isnan(margins), axis=0) >= least
    may: Flags = known & (margins[0] - margins[-1] >= LEAST_WARMED)
    may[may] = rises(-margins[:, may], _sure(len(margins)))
    return may


def _sure(points: int) -> float:
    """At 99 %; of a few points no bound is surer than 95 %."""
    return 1.96 if points < FEW else 2.576


def _goes_on(halves: "_Promise", margins: Floats, horizon: Floats) -> Flags:
    """The newer half warms as the older did, soon enough, and promises what is left."""
    margin, late = np.maximum(margins[-1], 0.0), halves.newest
    goes_on = (late >= CLEARLY) & (halves.before >= SURE_SHARE * late) & (margin <= horizon * late)
    return np.asarray(goes_on & (halves.rest >= _surely(len(margins)) * margin))


def _surely(points: int) -> float:
    return SURELY if points >= FEW else SURELY_BY_FEW


def _fit(times: Floats, margins: Floats, halves: "_Promise") -> Onset:
    """Of those that go on."""
    trend, thirds = theil_sen(times, -margins, z=_sure(len(times))), _promise(times, margins, 3)
    late, rest = halves.newest, np.fmin(halves.rest, thirds.rest)
    margin = np.maximum(margins[-1], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left, low, high = margin / late, margin / np.fmax(trend.high, late), margin / np.fmin(trend.low, late)
        share = np.clip(margin / rest, 0, 0.99)
        high = np.where(share > 0, np.fmax(high, left * -np.log1p(-share) / share), high)  # slower towards a rest
    warms = (trend.low >= SURE_SHARE * late) & (rest >= _surely(len(times)) * margin)
    return Onset(*(np.where(warms, values, np.nan) for values in (left, np.fmin(low, left), np.fmax(high, left))))


class _Promise(NamedTuple):
    before: Floats  # slope of the part before the newest
    newest: Floats
    rest: Floats  # degrees that all parts to come add up to


def _promise(times: Floats, margins: Floats, parts: int) -> _Promise:
    """How the warming fades from one part of the time to the next, and where that would end.

    Noise might hide a fading: both slopes are taken a standard error to its side.
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
    return _Promise(earlier.slope, newest.slope, rest)
