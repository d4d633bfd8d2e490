"""The change of a level between two parts of a series, with its uncertainty: pure numerics.

The noise of step times is correlated, has slow waves, and now and then a long step. So the change is estimated by
generalised least squares with AR(1) noise, and the same estimate is made at earlier moments at which nothing was
changed: what it shows there is its error, whatever its cause.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SPIKE_SCALES = 5.0
_SPIKE_LEAST = math.log(1.3)
"""A report is a spike (checkpoint, evaluation, garbage collection) if it is this far from the median: so many standard
deviations, and 30 %."""

_DRIFT = 0.02
"""Standard deviation of the drift, of the logarithm, between the middles of the two parts before anything is known."""

_TRUST_IN_MODEL = 8.0
"""The variance by the model counts as much as so many earlier estimates. Tuned, as the other numbers here, on the
simulated series of tests/collector/adjustments/step_noise.py with seeds below 1,000; judged on others."""

_MOST_PLACEBOS = 24
_MOST_CORRELATED = 0.97
_Z95 = 1.6449  # of the normal distribution: 90 % lie between -1.6449 and 1.6449


@dataclass(frozen=True, slots=True)
class LevelChange:
    """The estimated change, and half the width of its interval of 90 %."""

    change: float
    half_width: float


@dataclass(frozen=True, slots=True)
class _Fit:
    change: float
    variance: float
    freedom: float


def without_spikes(values: Floats) -> NDArray[np.bool_]:
    """Return which values are usual ones."""
    away = np.abs(values - np.median(values))
    kept: NDArray[np.bool_] = away <= max(_SPIKE_SCALES * 1.4826 * float(np.median(away)), _SPIKE_LEAST)
    return kept


def level_change(before: Floats, after: Floats) -> LevelChange:
    """Return by how much the level of the later values differs. Each part needs at least three values."""
    fit = _fit(before, after)
    earlier = _earlier_changes(before, len(after))
    weight = min(_TRUST_IN_MODEL, fit.freedom)
    variance = (weight * fit.variance + float(np.sum(earlier**2))) / (weight + len(earlier))
    variance = max(variance, fit.variance / 2)
    freedom = max(2.0, fit.freedom if not len(earlier) else weight + len(earlier) / 2)
    return LevelChange(fit.change, _t95(freedom) * math.sqrt(variance))


def _earlier_changes(before: Floats, length: int) -> Floats:
    """Return the changes that the same estimate shows at earlier moments."""
    last = len(before) - length
    pace = max(1, length // 2, (last - length) // _MOST_PLACEBOS)
    moments = range(last, length - 1, -pace)
    return np.array([_fit(before[:at], before[at : at + length]).change for at in moments], dtype=np.float64)


def _fit(before: Floats, after: Floats) -> _Fit:
    """Fit a level, its change and a slope that both parts share; the noise is AR(1)."""
    values = np.concatenate([before, after])
    later = np.concatenate([np.zeros(len(before)), np.ones(len(after))])
    middles = len(values) / 2  # reports between the middles of the parts
    slope = (np.arange(len(values)) - len(before)) / middles
    design = np.column_stack([np.ones(len(values)), later, slope])
    return _solve(design, values, _correlation(design, values), len(before))


def _correlation(design: Floats, values: Floats) -> float:
    """Return the correlation of neighbouring residuals, corrected for its bias in short series (Marriott and Pope)."""
    residuals = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    power = float(residuals @ residuals)
    if power <= 0:
        return 0.0
    found = float(residuals[1:] @ residuals[:-1]) / power
    found += (1 + (design.shape[1] + 1) * max(0.0, found)) / len(values)
    return float(min(max(found, 0.0), _MOST_CORRELATED))


def _solve(design: Floats, values: Floats, correlation: float, second: int) -> _Fit:
    """Return the change by least squares of the whitened series; the second part begins at `second`."""
    starts = np.array([0, second])
    white, target = _whitened(design, correlation, starts), _whitened(values, correlation, starts)
    ordinary = target - white @ np.linalg.lstsq(white, target, rcond=None)[0]
    freedom = max(1, len(values) - design.shape[1])
    noise = max(float(ordinary @ ordinary) / freedom, 1e-12)
    belief = np.zeros((3, 3))
    belief[2, 2] = noise / _DRIFT**2
    inverse = np.linalg.inv(white.T @ white + belief)
    change = float((inverse @ (white.T @ target))[1])
    independent = min(second, len(values) - second) * (1 - correlation) / (1 + correlation)
    return _Fit(change, noise * float(inverse[1, 1]), max(2.0, 2 * independent - 2))


def _whitened(values: Floats, correlation: float, starts: NDArray[np.int64]) -> Floats:
    """Return the series without its correlation; each part begins by itself."""
    white = values.copy()
    white[1:] -= correlation * values[:-1]
    white[starts] = values[starts] * math.sqrt(1 - correlation**2)
    return white


def _t95(freedom: float) -> float:
    """Return the 95th percentile of Student's distribution (Abramowitz and Stegun, 26.7.5)."""
    z = _Z95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
