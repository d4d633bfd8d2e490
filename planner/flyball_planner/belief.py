"""A belief about a model's coefficients that measurements narrow.

It is Gaussian in the logarithms because errors are factors. It serves any prediction: step times and memory peaks.
"""

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Predict = Callable[[Vector], Vector]
"""Maps the logarithms of the coefficients to the logarithms of the runs' results."""

NINETY = 1.645  # standard deviations on each side that hold 90 % of a normal distribution
STEP = 1e-4  # step of a logarithm for derivatives
LARGEST_MOVE = 0.7  # of a logarithm per iteration, a factor of two, so that a curve is not overshot
ITERATIONS = 20
ROUNDS = 2  # first with the prior scatter, then with the runs' own
SETTLED = 1e-3  # of a logarithm: predictions move by at most 0.1 %
SCATTER_RUNS = 6.0  # weight of the prior scatter, in runs
OUTLIER = 2.5  # standard deviations beyond which a run counts less (Huber)


class Belief(Struct, frozen=True):
    """The coefficients with their uncertainty, and the scatter of runs around the predictions."""

    names: tuple[str, ...]
    middle: Vector  # logarithms
    covariance: Matrix
    scatter: float  # standard deviation of a logarithm
    runs: int = 0  # that narrowed it

    @property
    def deviations(self) -> Vector:
        """Return the standard deviation of each coefficient's logarithm."""
        return np.sqrt(np.diag(self.covariance))


def predict_interval(belief: Belief, predict: Predict) -> tuple[Vector, Vector, Vector]:
    """Return low, middle and high of a 90 % interval for each run, in the runs' unit."""
    middle = predict(belief.middle)
    return interval(belief, middle, derivatives(predict, belief.middle, middle))


def interval(belief: Belief, middle: Vector, slopes: Matrix) -> tuple[Vector, Vector, Vector]:
    """Return the same from the logarithms of the middle and their derivatives by each coefficient."""
    spread = np.einsum("ij,jk,ik->i", slopes, belief.covariance, slopes)
    reach = (_student(SCATTER_RUNS) if belief.runs else NINETY) * np.sqrt(spread + belief.scatter**2)
    return np.exp(middle - reach), np.exp(middle), np.exp(middle + reach)


def narrow(
    belief: Belief,
    predict: Predict,
    measured: Vector,
    start: Vector | None = None,
    uncertainty: Vector | None = None,
    rounds: int = ROUNDS,
) -> Belief:
    """Return the belief after some measured runs; without runs it stays unchanged.

    `start` is where the search begins. `uncertainty` adds a standard deviation to runs that are described poorly. Runs
    that agree move the belief nearly to where they are; a single run or contradicting ones move it part of the way.
    """
    if not len(measured):
        return belief
    truth = np.log(measured)
    unsure = np.zeros(len(measured)) if uncertainty is None else uncertainty
    point, scatter = belief.middle if start is None else start, belief.scatter
    for _ in range(rounds):
        point, covariance = _settled(belief, predict, truth, point, np.hypot(scatter, unsure))
        spent = float(np.sum(1 - np.diag(covariance) / np.diag(belief.covariance)))
        error = (truth - predict(point)) * scatter / np.hypot(scatter, unsure)
        scatter = _scatter(belief.scatter, error, spent)
    return replace(belief, middle=point, covariance=covariance, scatter=scatter, runs=belief.runs + len(measured))


def _settled(belief: Belief, predict: Predict, truth: Vector, point: Vector, scatters: Vector) -> tuple[Vector, Matrix]:
    """Balance the prior belief and the measured runs, given each run's scatter (Gauss–Newton)."""
    certainty = np.linalg.inv(belief.covariance)
    for _ in range(ITERATIONS):
        guess = predict(point)
        slopes = derivatives(predict, point, guess)
        error = truth - guess
        weights = _weights(error, scatters)
        hessian = slopes.T @ (slopes * weights[:, None]) + certainty
        pull = slopes.T @ (weights * error) + certainty @ (belief.middle - point)
        move = np.clip(np.linalg.solve(hessian, pull), -LARGEST_MOVE, LARGEST_MOVE)
        point = point + move
        if np.abs(move).max() < SETTLED:
            break
    return point, np.linalg.inv(hessian)


def derivatives(predict: Predict, point: Vector, there: Vector) -> Matrix:
    """Return the derivatives of each prediction by each coefficient: runs × coefficients."""
    moved = [predict(point + STEP * direction) for direction in np.eye(len(point))]
    slopes: Matrix = (np.stack(moved, axis=1) - there[:, None]) / STEP
    return slopes


def _weights(error: Vector, scatters: Vector) -> Vector:
    """Weight runs by their error, so that one outlier does not dominate the others."""
    weights: Vector = np.minimum(1.0, OUTLIER * scatters / np.maximum(np.abs(error), 1e-12)) / scatters**2
    return weights


def _scatter(before: float, error: Vector, spent: float) -> float:
    """Return the scatter of the runs, given how many of them were used up by fitting the coefficients."""
    seen = float(np.sum(np.minimum(np.abs(error), 2 * OUTLIER * before) ** 2))
    free = max(0.0, len(error) - spent)
    return float(np.sqrt((SCATTER_RUNS * before**2 + seen) / (SCATTER_RUNS + free)))


def _student(freedom: float) -> float:
    """Return how many deviations hold 90 % if the deviation comes from few runs: Student's t, expanded in 1/freedom."""
    return NINETY + (NINETY**3 + NINETY) / (4 * freedom)
