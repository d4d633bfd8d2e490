"""Fits straight growth that began from a rest, and measures how straight it is and when it reaches the capacity.

The growth is cut into pieces of equal length. Their rates show what a single slope hides: whether it bends (a warm-up
slows down before it levels off) and whether it comes unevenly (a job that loads in pieces may stop after each of
them). Both are compared with what the scatter of the readings alone would do.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

PIECES, FINE_PIECES = 5, 10
"""Pieces of a growth whose rates are compared; the fine ones only show whether it comes evenly."""

FOOT = 8
"""The first of so many equal parts of a growth is left out of the fit: its beginning is known only roughly."""

RISEN = 0.05
"""A growth begins at the last reading that is not above the lowest one by more than this share of the rise …"""

RISEN_SPREADS = 2.0
"""… or this many spreads of the readings."""

REST, REST_SHARE = 3, 6
"""Points before the growth that show a rest: this many, and one for so many of the growth's own."""

REST_RANGE, REST_SPREADS = 0.12, 4.0
"""Readings rest while they stay this close to the beginning: a share of the rise, and spreads of the readings."""

WIDTH = 3.0
"""Standard errors in each bound of the slope. Student's t for a handful of points is wider than the normal one."""

STEEPER = 1.15
"""A growth may have been so much steeper at its beginning than its line. What it rose beyond that was a jump before the
growth, which does not show when it ends: a service that collects its garbage at another level than before, for
example. Chosen on one seed of simulated days and judged on two others (docs/evidence/diagnosis.md), as are `behind` and
`behind_spreads` of the rules.
"""

MODEL = 0.04
"""The error of a slope, as a share of it, that remains on a line that only looks straight."""


class StraightFit(NamedTuple):
    """Holds the findings along rows."""

    points: Places  # readings of the growth
    rested: Flags  # it began from a rest
    base: Floats  # use at its beginning
    gain: Floats  # without a jump at its beginning
    room: Floats  # left of the capacity, by the fitted line
    expected: Floats  # use, by the fitted line
    spread: Floats  # of single readings
    span: Floats  # seconds
    slope: Floats  # share of the capacity a second
    slope_low: Floats
    slope_high: Floats
    left: Floats  # seconds
    bend: Floats  # rate at the end, relative to the mean: 1 is straight, a warm-up is below
    bend_error: Floats
    uneven: Floats  # scatter of the rates of pieces beyond that of the readings, relative to their mean
    uneven_fine: Floats  # the same of finer pieces; NaN if there are too few readings
    ragged: Floats  # the same of single steps, squared: 2 if each is drawn again, 0 if only the readings scatter


class _Line(NamedTuple):
    points: Floats
    time: Floats  # mean
    value: Floats  # mean
    slope: Floats
    power: Floats  # sum of squared distances of the times


class _Pieces(NamedTuple):
    rates: Floats  # piece × row
    mean: Floats
    error: Floats  # of one rate, by the scatter of the readings
    away: Floats  # root mean square distance of the pieces' means from the line


def straight_fit(times: Floats, values: Floats, now: float) -> StraightFit:
    """Fit each row of `values` (time × row, NaN is unknown) from where its newest growth began, as seen from `now`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = _spread(values)
        begin = _begin(values, spread)
        index = np.arange(len(values))[:, None]
        known = ~np.isnan(values)
        points = _points(values, begin)
        foot = begin + (len(values) - begin) // FOOT
        used = known & (index >= foot)
        line = _line(times, values, used)
        pieces = [_pieces(times, values, used, foot, spread, line, count) for count in (PIECES, FINE_PIECES)]
        found = _found(times, values, begin, spread, line, pieces[0], now)
        fine, ragged = _uneven(pieces[1]), _ragged(times, values, used)
        return found._replace(points=points, uneven_fine=fine, ragged=ragged)


def may_have_grown(values: Floats, points: int) -> Flags:
    """Return the rows whose newest growth may have more than so many readings. It costs little beside a fit.

    The second check takes the scatter of the readings into account as the fit does, the first one leaves it out.
    """
    found = _points(values, _begin(values, np.zeros(values.shape[1]))) > points
    some = values[:, found]
    found[found] = _points(some, _begin(some, _spread(some))) > points
    return found


def _points(values: Floats, begin: Places) -> Places:
    """Return the number of known readings from the beginning on."""
    known = ~np.isnan(values)
    return np.asarray(np.count_nonzero(known & (np.arange(len(values))[:, None] >= begin), axis=0), dtype=np.int64)


def _spread(values: Floats) -> Floats:
    """Return the standard deviation of single readings, by second differences, which ignore any steady growth."""
    bends = np.abs(np.diff(values, n=2, axis=0))
    return np.asarray(1.4826 / np.sqrt(6) * _medians(bends))


def _medians(values: Floats) -> Floats:
    """Return the median of the known values along time."""
    ordered = np.sort(values, axis=0)
    known = np.count_nonzero(~np.isnan(values), axis=0)
    columns = np.arange(values.shape[1])
    middle = (
        ordered[np.maximum(known - 1, 0) // 2, columns] + ordered[np.minimum(known // 2, len(values) - 1), columns]
    ) / 2
    return np.where(known > 0, middle, 0.0)


def _begin(values: Floats, spread: Floats) -> Places:
    """Return the index of the last reading that had not risen yet."""
    lowest, newest = np.fmin.reduce(values, axis=0), _newest(values)
    low = values <= lowest + np.fmax(RISEN * (newest - lowest), RISEN_SPREADS * spread)
    return np.asarray(len(values) - 1 - np.argmax(low[::-1], axis=0), dtype=np.int64)


def _newest(values: Floats) -> Floats:
    known = ~np.isnan(values[::-1])
    return np.asarray(values[len(values) - 1 - np.argmax(known, axis=0), np.arange(values.shape[1])])


def _line(times: Floats, values: Floats, used: Flags) -> _Line:
    """Fit a line by least squares to the readings in use."""
    points = np.sum(used, axis=0).astype(np.float64)
    time, value = (np.sum(np.where(used, each, 0.0), axis=0) / points for each in (times, values))
    away = np.where(used, times - time, 0.0)
    power = np.sum(away**2, axis=0)
    slope = np.sum(away * np.where(used, values - value, 0.0), axis=0) / power
    return _Line(points, time, value, slope, power)


def _pieces(
    times: Floats, values: Floats, used: Flags, foot: Places, spread: Floats, line: _Line, count: int
) -> _Pieces:
    """Return the rates between neighbouring pieces of equal length."""
    index = np.arange(len(values))[:, None]
    number = (index - foot) * count // np.maximum(len(values) - foot, 1)
    counts, middles, means = (np.empty((count, values.shape[1])) for _ in range(3))
    for piece in range(count):
        inside = used & (number == piece)
        counts[piece] = np.sum(inside, axis=0)
        middles[piece] = np.sum(np.where(inside, times, 0.0), axis=0) / counts[piece]
        means[piece] = np.sum(np.where(inside, values, 0.0), axis=0) / counts[piece]
    waits = np.diff(middles, axis=0)
    mean = (means[-1] - means[0]) / (middles[-1] - middles[0])
    error = spread * np.sqrt(2 * count / line.points) / np.mean(waits, axis=0)
    away = means - (line.value + line.slope * (middles - line.time))
    return _Pieces(np.diff(means, axis=0) / waits, mean, error, np.sqrt(np.mean(away**2, axis=0)))


def _uneven(pieces: _Pieces) -> Floats:
    """Return the scatter of the rates that the scatter of the readings does not explain, relative to their mean."""
    scatter = np.mean((pieces.rates / pieces.mean - 1) ** 2, axis=0) - (pieces.error / pieces.mean) ** 2
    return np.asarray(np.sqrt(np.maximum(scatter, 0.0)))


def _ragged(times: Floats, values: Floats, used: Flags) -> Floats:
    """Return the variance of single steps that the scatter of the readings does not explain, relative to their mean.

    Scatter of readings makes a step smaller after a larger one: what neighbouring steps do against each other is taken
    out of their variance.
    """
    rates = np.where(used[1:] & used[:-1], np.diff(values, axis=0) / np.diff(times, axis=0), np.nan)
    known = np.count_nonzero(~np.isnan(rates), axis=0)
    mean = np.nansum(rates, axis=0) / known
    away = rates - mean
    variance = np.nansum(away**2, axis=0) / known
    together = np.nansum(away[1:] * away[:-1], axis=0) / known
    return np.asarray((variance + 2 * together) / mean**2)


def _found(
    times: Floats, values: Floats, begin: Places, spread: Floats, line: _Line, pieces: _Pieces, now: float
) -> StraightFit:
    """Put together the fit of the growth and its end."""
    columns = np.arange(values.shape[1])
    base = values[begin, columns]
    noise = np.fmax(spread, pieces.away * np.sqrt(line.points / PIECES))  # scatter that does not average out counts
    expected = line.value + line.slope * (now - line.time)
    room = np.maximum(1 - expected, 0.0)
    error = WIDTH * noise / np.sqrt(line.power) + MODEL * line.slope
    span = now - times[begin, columns]
    gain = np.fmin(1 - room - base, STEEPER * line.slope * span)
    places = np.arange(PIECES - 1) - (PIECES - 2) / 2
    turn = places @ pieces.rates / np.sum(places**2)
    unknown = np.full(values.shape[1], np.nan)
    return StraightFit(
        points=begin, rested=_rested(values, begin, base, gain, spread), base=base, gain=gain, room=room,
        expected=expected, spread=spread, span=span, slope=line.slope, slope_low=line.slope - error,
        slope_high=line.slope + error, left=room / line.slope,
        bend=1 + turn * (PIECES - 1) / 2 / pieces.mean, bend_error=pieces.error / pieces.mean,
        uneven=_uneven(pieces), uneven_fine=unknown, ragged=unknown,
    )  # fmt: skip


def _rested(values: Floats, begin: Places, base: Floats, gain: Floats, spread: Floats) -> Flags:
    """Return True if the readings before the growth were near its beginning."""
    index = np.arange(len(values))[:, None]
    wanted = np.maximum((len(values) - begin) // REST_SHARE, REST)
    before = (index < begin) & (index >= begin - wanted)
    near = np.abs(values - base) <= np.fmax(REST_RANGE * gain, REST_SPREADS * spread)
    enough = np.count_nonzero(before & near, axis=0) >= np.minimum(wanted, REST)
    return np.asarray(enough & ~np.any(before & ~near & ~np.isnan(values), axis=0))
