"""Learning from the runs of one cluster: its pace, and how far its other coefficients may differ from the usual ones.

A few runs may mislead as well as teach. So each run is predicted from the others, and the belief moves only as far as
they predict it better than the usual belief does. Runs that contradict each other teach nothing but their scatter. Runs
that one factor explains only teach the pace, which leaves the order of layouts as it was.
"""

from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.belief import Belief, Matrix, Predict, Vector, derivatives, narrow
from flyball_planner.timing.coefficients import PACE

WIDTHS = (0.02, 1.0)
"""Factors on the standard deviations of all coefficients but the pace; the first of equally good ones is used."""
SHARES = np.linspace(1.0, 0.0, 11)
"""Shares of the learned move that are tried; the first of equally good ones is used."""
PACE_DEVIATION = 0.1
"""Least standard deviation of the logarithm of a cluster's pace, so that it is learned first. With 0.15, random draws
of five runs predict the other runs of twelve suites equally well."""
PARTS = 12  # the largest number of parts into which runs are divided, each of which the others predict


class GivenRuns(Struct, frozen=True):
    """Measured runs, as they deviate from the usual belief and depend on its coefficients."""

    error: Vector  # logarithms of measured over predicted
    slopes: Matrix  # runs × coefficients
    unsure: Vector  # additional standard deviation of runs that are described poorly


def learn_cluster(belief: Belief, predict: Predict, measured: Vector, uncertainty: Vector | None = None) -> Belief:
    """Return the belief after measured runs of one cluster; without runs it stays unchanged.

    The middle follows what predicts each run best from the others. The uncertainty is that of the widest prior, because
    other layouts depend on coefficients that these runs did not determine.
    """
    if not len(measured):
        return belief
    there = predict(belief.middle)
    unsure = np.zeros(len(measured)) if uncertainty is None else uncertainty
    runs = GivenRuns(np.log(measured) - there, derivatives(predict, belief.middle, there), unsure)
    priors = [_prior(belief, width, runs.slopes) for width in WIDTHS]
    left = np.array([_left_over(runs, _by_others(prior, runs), belief.scatter) for prior in priors])
    width, share = np.unravel_index(np.argmin(left), left.shape)
    learned = narrow(priors[width], predict, measured, uncertainty=unsure)
    middle = belief.middle + SHARES[share] * (learned.middle - belief.middle)
    return replace(learned, middle=middle, covariance=_uncertainty(priors[-1], learned, predict, unsure))


def _prior(belief: Belief, width: float, slopes: Matrix) -> Belief:
    """Narrow all coefficients but the pace, which takes over what they had in common for these runs."""
    pace = belief.names.index(PACE)
    factors = np.full(len(belief.names), width)
    factors[pace] = 1.0
    covariance = belief.covariance * np.outer(factors, factors)
    common = slopes.mean(axis=0)
    lost = common @ (belief.covariance - covariance) @ common
    covariance[pace, pace] = max(covariance[pace, pace], PACE_DEVIATION**2) + lost
    return replace(belief, covariance=covariance)


def _by_others(prior: Belief, runs: GivenRuns) -> Vector:
    """Return each run's error as the other runs predict it, linearised; that of a single run is its own."""
    parts = min(PARTS, len(runs.error))
    if parts == 1:
        return runs.error
    places, expected = np.arange(len(runs.error)), np.zeros(len(runs.error))
    for part in range(parts):
        own = places % parts == part
        others = partial(_moved, runs.slopes[~own], prior.middle)
        taught = narrow(prior, others, np.exp(runs.error[~own]), uncertainty=runs.unsure[~own])
        expected[own] = _moved(runs.slopes[own], prior.middle, taught.middle)
    return expected


def _moved(slopes: Matrix, middle: Vector, point: Vector) -> Vector:
    moved: Vector = slopes @ (point - middle)
    return moved


def _left_over(runs: GivenRuns, expected: Vector, scatter: float) -> Vector:
    """Return for each share of the expected errors what it leaves, in which outliers count by their logarithm."""
    left = (runs.error - SHARES[:, None] * expected) / np.hypot(scatter, runs.unsure)
    total: Vector = np.log1p(left**2).sum(axis=1)
    return total


def _uncertainty(widest: Belief, learned: Belief, predict: Predict, unsure: Vector) -> Matrix:
    """Return the covariance that the runs leave of the widest prior."""
    slopes = derivatives(predict, learned.middle, predict(learned.middle))
    seen = slopes.T @ (slopes / (learned.scatter**2 + unsure**2)[:, None])
    covariance: Matrix = np.linalg.inv(seen + np.linalg.inv(widest.covariance))
    return covariance
