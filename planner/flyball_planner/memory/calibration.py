"""Calibration of the memory model by a few measured runs: their common deviation is carried over."""

from collections.abc import Callable, Sequence
from math import exp, log, sqrt
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.belief import NINETY, OUTLIER
from flyball_planner.interval import Interval
from flyball_planner.memory.constants import CONSTANTS, Constants

ACTIVATION_FACTORS = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
EXTRA_INPUTS = (0.0, 1.0, 2.0)
COMMON = 0.08
"""Standard deviation of the logarithm by which all runs of a laboratory deviate together. The medians of the suites of
measured peaks deviate by 0.02 to 0.05, that of lambda-monitor by 0.10. Other users' runs may well deviate more."""
NOISE = 0.05
"""Standard deviation of single runs around their common deviation: 0.045 to 0.06 in most of these suites."""
NOISE_RUNS = 2.0  # weight of that noise, in runs, beside the runs' own scatter
SPREAD_RUNS = 3.0  # weight of the usual width of an interval, in runs
LARGEST_ERROR = 0.5  # larger errors count as this one: the run is probably described incompletely
STRAYING = 0.02  # gain that justifies one step away from the usual constants


class Observation(Struct, frozen=True):
    """A measured run: its memory, and the prediction as a function of the constants."""

    measured_bytes: float
    predict: Callable[[Constants], Interval]
    quantised: bool = False  # trained over quantised weights, whose products may hold their inputs


def calibrate(observed: Sequence[Observation], start: Constants = CONSTANTS) -> Constants:
    """Return the constants that explain the runs best. With few or contradicting runs they stay close to `start`."""
    if not observed:
        return start
    chosen = min(
        _candidates(observed, start), key=lambda each: _error(observed, each) + STRAYING * _distance(start, each)
    )
    common, _ = common_factor([log(each.measured_bytes / each.predict(chosen).middle) for each in observed])
    fitted = replace(chosen, total_factor=chosen.total_factor * exp(common))
    return replace(fitted, spread_factor=fitted.spread_factor * _spread(observed, fitted))


def common_factor(errors: Sequence[float]) -> tuple[float, float]:
    """Return the common deviation of the runs and its uncertainty, as a logarithm and its standard deviation.

    Runs that agree move the estimate nearly to where they are, a single run part of the way.
    """
    middle = median(errors)
    seen = sum(min(LARGEST_ERROR, abs(each - middle)) ** 2 for each in errors)
    noise = (NOISE_RUNS * NOISE**2 + seen) / (NOISE_RUNS + len(errors) - 1) / len(errors)
    weight = COMMON**2 / (COMMON**2 + noise)
    return weight * middle, sqrt(weight * noise)


def _candidates(observed: Sequence[Observation], start: Constants) -> list[Constants]:
    quantised = any(each.quantised for each in observed)
    return [
        replace(start, activations_factor=factor * start.activations_factor, extra_inputs=extra)
        for factor in ACTIVATION_FACTORS
        for extra in sorted({start.extra_inputs, *(EXTRA_INPUTS if quantised else ())})
    ]


def _error(observed: Sequence[Observation], constants: Constants) -> float:
    """Return the mean distance from the median ratio: the error that a single factor cannot remove."""
    ratios = [each.measured_bytes / each.predict(constants).middle for each in observed]
    common = median(ratios)
    return sum(min(LARGEST_ERROR, abs(each / common - 1)) for each in ratios) / len(ratios)


def _distance(start: Constants, other: Constants) -> float:
    strayed = abs(other.activations_factor / start.activations_factor - 1) / 0.1
    return strayed + (other.extra_inputs != start.extra_inputs)


def _spread(observed: Sequence[Observation], constants: Constants) -> float:
    """Return the factor on the usual width: how far the runs deviate after calibration, one of them being used up by
    it."""
    seen = sum(min(_deviations(each, constants), OUTLIER) ** 2 for each in observed)
    return sqrt((SPREAD_RUNS + seen) / (SPREAD_RUNS + len(observed) - 1))


def _deviations(run: Observation, constants: Constants) -> float:
    """Return the distance of a run from the middle in standard deviations of the interval."""
    predicted = run.predict(constants)
    off = run.measured_bytes - predicted.middle
    side = predicted.high - predicted.middle if off > 0 else predicted.middle - predicted.low
    return NINETY * abs(off) / side if side else 0.0
