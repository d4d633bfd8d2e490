"""The scatter between suites: how much the pace of whole suites differs from what the others predict.

The scatter within a suite does not show it, so it is estimated from suites that were left out of the fit.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from flyball_planner.belief import Belief, Matrix, Vector

WIDEST = 0.5
GRID = 501  # steps of a thousandth


class LeftOut(Struct, frozen=True):
    """The errors of a fit to the other suites in a suite: the sums that the estimate needs."""

    name: str
    certainty: float  # 1ᵀ A⁻¹ 1, where A is the covariance of the rows without the pace
    pull: float  # 1ᵀ A⁻¹ of the errors


def left_out(name: str, belief: Belief, slopes: Matrix, error: Vector, most_runs: float) -> LeftOut:
    """Compare a suite with the belief fitted to the others; `error` is the logarithm of measured over predicted.

    More than `most_runs` rows of one suite count as so many, because the runs of one sweep are not independent.
    """
    repeated = max(1.0, len(error) / most_runs)
    covariance = slopes @ belief.covariance @ slopes.T + np.eye(len(error)) * belief.scatter**2 * repeated
    solved = np.linalg.solve(covariance, np.column_stack([np.ones(len(error)), error]))
    return LeftOut(name, *(float(each) for each in solved.sum(axis=0)))


def pace_deviation(suites: Sequence[LeftOut]) -> float:
    """Return the expected standard deviation of the logarithm of a suite's pace, if all values are likely at first.

    The expected value rather than the most likely one, because few suites cannot exclude a scatter.
    """
    grid = np.linspace(0.0, WIDEST, GRID)
    variance = grid**2
    twice = np.zeros(GRID)  # the logarithm of the likelihood
    for each in suites:
        seen = 1 + variance * each.certainty
        twice += variance * each.pull**2 / seen - np.log(seen)
    likelihood = np.exp((twice - twice.max()) / 2)
    return float(np.sum(grid * likelihood) / np.sum(likelihood))
