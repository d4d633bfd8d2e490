"""Learning from the runs of one cluster: its pace, and how far its other coefficients may differ from the usual ones.

A few runs of similar layouts cannot separate coefficients that decide between other layouts. Therefore each run is
predicted from the others under several widths of the prior, and the width that predicts best is used. Runs that one
factor explains only teach the pace, which leaves the order of layouts as it was.
"""

import numpy as np
from msgspec.structs import replace

from flyball_planner.belief import Belief, Matrix, Predict, Vector, derivatives, narrow
from flyball_planner.timing.coefficients import PACE

WIDTHS = (0.02, 0.25, 1.0)
"""Factors on the standard deviations of all coefficients but the pace."""
ANY_PACE = 1.0  # deviation of the pace for the choice of a width, which only depends on differences between runs
PACE_DEVIATION = 0.1
"""Least standard deviation of the logarithm of a cluster's pace, so that it is learned first. With 0.15, random draws
of five runs predict the other runs of twelve suites equally well."""


def learn_cluster(belief: Belief, predict: Predict, measured: Vector, uncertainty: Vector | None = None) -> Belief:
    """Return the belief after measured runs of one cluster; without runs it stays unchanged.

    The middle follows the width that predicts best. The uncertainty is that of the widest prior, because other layouts
    depend on coefficients that these runs did not determine.
    """
    if not len(measured):
        return belief
    there = predict(belief.middle)
    slopes, error = derivatives(predict, belief.middle, there), np.log(measured) - there
    priors = [_prior(belief, width, slopes) for width in WIDTHS]
    unsure = np.zeros(len(measured)) if uncertainty is None else uncertainty
    fixed = np.diag(belief.scatter**2 + unsure**2) + ANY_PACE**2
    scores = [_predicted(error, slopes @ each.covariance @ slopes.T + fixed) for each in priors]
    learned = narrow(priors[int(np.argmax(scores))], predict, measured, uncertainty=unsure)
    return replace(learned, covariance=_uncertainty(priors[-1], learned, predict, unsure))


def _uncertainty(widest: Belief, learned: Belief, predict: Predict, unsure: Vector) -> Matrix:
    """Return the covariance that the runs leave of the widest prior."""
    slopes = derivatives(predict, learned.middle, predict(learned.middle))
    seen = slopes.T @ (slopes / (learned.scatter**2 + unsure**2)[:, None])
    covariance: Matrix = np.linalg.inv(seen + np.linalg.inv(widest.covariance))
    return covariance


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


def _predicted(error: Vector, covariance: Matrix) -> float:
    """Return the logarithm of the probability with which each run is predicted from the others."""
    certainty = np.linalg.inv(covariance)
    own = np.diag(certainty)
    missed = certainty @ error
    return float(np.sum(np.log(own) - missed**2 / own)) / 2
