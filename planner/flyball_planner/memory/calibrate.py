"""Narrows the memory model by a few measured runs: what they agree on beyond the prediction is carried over."""

from collections.abc import Callable, Sequence
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.interval import Interval
from flyball_planner.memory.constants import CONSTANTS, Constants

ACTIVATION_FACTORS = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
COPIES = (0.0, 0.5, 1.0, 1.5, 2.0)
LEAST_SPREAD = 0.7  # five runs do not tell how the next model errs
TRUST = 5.0  # runs that weigh as much as the model does before any is seen
LARGEST_ERROR = 0.5  # a run that is farther off than this teaches no more: something about it is not told
STRAYING = 0.02  # what a step away from the usual choice must gain


class Observation(Struct, frozen=True):
    """A measured run: what it took, and how constants would have predicted it."""

    measured_bytes: float
    predict: Callable[[Constants], Interval]


def calibrate(observed: Sequence[Observation], start: Constants = CONSTANTS) -> Constants:
    """The constants that explain some runs best, drawn towards those of `start` as far as the runs are few."""
    if not observed:
        return start
    chosen = min(_candidates(start), key=lambda each: _error(observed, each) + STRAYING * _distance(start, each))
    ratio = median(each.measured_bytes / each.predict(chosen).middle for each in observed)
    weight = 2 * len(observed) / (2 * len(observed) + TRUST)
    fitted = replace(chosen, whole_factor=chosen.whole_factor * ratio**weight)
    return replace(fitted, spread_factor=_spread(observed, fitted))


def _candidates(start: Constants) -> list[Constants]:
    return [
        replace(start, activations_factor=factor * start.activations_factor, quantised_copies=copies)
        for factor in ACTIVATION_FACTORS
        for copies in {*COPIES, start.quantised_copies}
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
    """So wide that the runs which were seen lie within, but not far below the usual width."""
    needed = LEAST_SPREAD
    for each in observed:
        told = each.predict(constants)
        off = each.measured_bytes - told.middle
        side = told.high - told.middle if off > 0 else told.middle - told.low
        needed = max(needed, abs(off) / side if side else 1.0)
    return min(needed, 1.5)
