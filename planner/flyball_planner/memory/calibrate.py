"""Narrows the memory model by a few measured runs: what they agree on beyond the prediction is carried over."""

from collections.abc import Callable, Sequence
from math import exp, log, sqrt
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.calibration.belief import NINETY, OUTLIER
from flyball_planner.interval import Interval
from flyball_planner.memory.constants import CONSTANTS, Constants

ACTIVATION_FACTORS = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
COPIES = (0.0, 0.5, 1.0, 1.5, 2.0)
COMMON = 0.08
"""Deviation of a logarithm by which all runs of a laboratory lie off together: the medians of the suites of measured
peaks lie 0.02 to 0.05 off, that of lambda-monitor 0.10; what others measure may well lie farther off than those."""
NOISE = 0.05
"""The same by which each of them lies off what they have in common: 0.045 to 0.06 in most of these suites."""
NOISE_RUNS = 2.0  # as many runs as that noise counts for beside what the runs themselves show
SPREAD_RUNS = 3.0  # and as many as the usual width of an interval does
LARGEST_ERROR = 0.5  # a run that is farther off than this teaches no more: something about it is not told
STRAYING = 0.02  # what a step away from the usual choice must gain


class Observation(Struct, frozen=True):
    """A measured run: what it took, and how constants would have predicted it."""

    measured_bytes: float
    predict: Callable[[Constants], Interval]
    quantised: bool = False  # it trained over 4-bit weights; elsewhere copies of their outputs are none


def calibrate(observed: Sequence[Observation], start: Constants = CONSTANTS) -> Constants:
    """The constants that explain some runs best, drawn towards those of `start` as far as the runs are few or differ
    among each other."""
    if not observed:
        return start
    chosen = min(
        _candidates(observed, start), key=lambda each: _error(observed, each) + STRAYING * _distance(start, each)
    )
    common, _ = common_factor([log(each.measured_bytes / each.predict(chosen).middle) for each in observed])
    fitted = replace(chosen, whole_factor=chosen.whole_factor * exp(common))
    return replace(fitted, spread_factor=fitted.spread_factor * _spread(observed, fitted))


def common_factor(errors: Sequence[float]) -> tuple[float, float]:
    """What runs have in common, and how uncertain that is: a logarithm and its deviation.

    Runs that agree carry the estimate nearly all the way to where they lie, a single one part of it.
    """
    middle = median(errors)
    seen = sum(min(LARGEST_ERROR, abs(each - middle)) ** 2 for each in errors)
    noise = (NOISE_RUNS * NOISE**2 + seen) / (NOISE_RUNS + len(errors) - 1) / len(errors)
    weight = COMMON**2 / (COMMON**2 + noise)
    return weight * middle, sqrt(weight * noise)


def _candidates(observed: Sequence[Observation], start: Constants) -> list[Constants]:
    copied = any(each.quantised for each in observed)
    return [
        replace(start, activations_factor=factor * start.activations_factor, quantised_copies=copies)
        for factor in ACTIVATION_FACTORS
        for copies in sorted({start.quantised_copies, *(COPIES if copied else ())})
    ]


def _error(observed: Sequence[Observation], constants: Constants) -> float:
    """Mean distance from the median ratio: what one factor over everything would not mend."""
    ratios = [each.measured_bytes / each.predict(constants).middle for each in observed]
    common = median(ratios)
    return sum(min(LARGEST_ERROR, abs(each / common - 1)) for each in ratios) / len(ratios)


def _distance(start: Constants, other: Constants) -> float:
    strayed = abs(other.activations_factor / start.activations_factor - 1) / 0.1
    return strayed + (other.quantised_copies != start.quantised_copies)


def _spread(observed: Sequence[Observation], constants: Constants) -> float:
    """Times the usual width: as far as runs lie off even after calibration; one of them went into its factor."""
    seen = sum(min(_deviations(each, constants), OUTLIER) ** 2 for each in observed)
    return sqrt((SPREAD_RUNS + seen) / (SPREAD_RUNS + len(observed) - 1))


def _deviations(run: Observation, constants: Constants) -> float:
    """How many of the interval's standard deviations a run lies off its middle."""
    told = run.predict(constants)
    off = run.measured_bytes - told.middle
    side = told.high - told.middle if off > 0 else told.middle - told.low
    return NINETY * abs(off) / side if side else 0.0
