"""A model's coefficients as a belief that measurements narrow: Gaussian in their logarithms, since errors are factors.

Nothing here knows what is predicted: a step's seconds and a peak of memory are calibrated alike.
"""

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Predict = Callable[[Vector], Vector]
"""From the logarithms of the coefficients to the logarithms of what some runs will show."""

NINETY = 1.645  # standard deviations on each side that hold 90 % of a normal distribution
STEP = 1e-4  # of a logarithm, for derivatives
LARGEST_MOVE = 0.7  # of a logarithm in one iteration: at most twofold, so that a bend is not overrun
ITERATIONS = 20
ROUNDS = 2  # first with the scatter that is believed before, then with what the runs themselves show
SETTLED = 1e-3  # of a logarithm: no prediction moves by more than a tenth of a percent
SCATTER_RUNS = 6.0  # as many runs as the scatter that is believed before counts for
OUTLIER = 2.5  # deviations beyond which a run counts less (Huber)


class Belief(Struct, frozen=True):
    """Where the coefficients are thought to be, how surely, and how far runs scatter around what they give."""

    names: tuple[str, ...]
    middle: Vector  # logarithms
    covariance: Matrix
    scatter: float  # standard deviation of a logarithm
    runs: int = 0  # that it was narrowed by

    @property
    def deviations(self) -> Vector:
        """Of each coefficient's logarithm."""
        return np.sqrt(np.diag(self.covariance))


def predict_interval(belief: Belief, predict: Predict) -> tuple[Vector, Vector, Vector]:
    """Low, middle and high of a 90 % interval for each run, in the runs' own unit."""
    middle = predict(belief.middle)
    return interval(belief, middle, derivatives(predict, belief.middle, middle))


def interval(belief: Belief, middle: Vector, slopes: Matrix) -> tuple[Vector, Vector, Vector]:
    """The same where the middle's logarithms and how they move with each coefficient are known."""
    spread = np.einsum("ij,jk,ik->i", slopes, belief.covariance, slopes)
    reach = (_student(SCATTER_RUNS) if belief.runs else NINETY) * np.sqrt(spread + belief.scatter**2)
    return np.exp(middle - reach), np.exp(middle), np.exp(middle + reach)


def narrow(
    belief: Belief,
    predict: Predict,
    measured: Vector,
    start: Vector | None = None,
    doubts: Vector | None = None,
    rounds: int = ROUNDS,
) -> Belief:
    """The belief after some runs were measured; with none it stays as it was.

    The search may start nearer; a run of which little is known may be doubted by a deviation of its own. Runs that
    agree carry the belief nearly all the way to where they lie, a single one or contradicting ones part of it.
    """
    if not len(measured):
        return belief
    truth = np.log(measured)
    unsure = np.zeros(len(measured)) if doubts is None else doubts
    point, scatter = belief.middle if start is None else start, belief.scatter
    for _ in range(rounds):
        point, covariance = _settled(belief, predict, truth, point, np.hypot(scatter, unsure))
        spent = float(np.sum(1 - np.diag(covariance) / np.diag(belief.covariance)))
        error = (truth - predict(point)) * scatter / np.hypot(scatter, unsure)
        scatter = _scatter(belief.scatter, error, spent)
    return replace(belief, middle=point, covariance=covariance, scatter=scatter, runs=belief.runs + len(measured))


def _settled(belief: Belief, predict: Predict, truth: Vector, point: Vector, scatters: Vector) -> tuple[Vector, Matrix]:
    """Where what was believed and what runs show balance, given how far each run scatters (Gauss and Newton)."""
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
    """How each prediction moves with each coefficient: runs × coefficients."""
    moved = [predict(point + STEP * direction) for direction in np.eye(len(point))]
    slopes: Matrix = (np.stack(moved, axis=1) - there[:, None]) / STEP
    return slopes


def _weights(error: Vector, scatters: Vector) -> Vector:
    """Of runs, by how far they lie off: one strange run must not carry the others away."""
    weights: Vector = np.minimum(1.0, OUTLIER * scatters / np.maximum(np.abs(error), 1e-12)) / scatters**2
    return weights


def _scatter(before: float, error: Vector, spent: float) -> float:
    """What runs lie off, where so many of them were spent on finding the coefficients."""
    seen = float(np.sum(np.minimum(np.abs(error), 2 * OUTLIER * before) ** 2))
    free = max(0.0, len(error) - spent)
    return float(np.sqrt((SCATTER_RUNS * before**2 + seen) / (SCATTER_RUNS + free)))


def _student(freedom: float) -> float:
    """Deviations that hold 90 % where the deviation itself comes from few runs: Student's t, expanded in 1/freedom."""
    return NINETY + (NINETY**3 + NINETY) / (4 * freedom)
