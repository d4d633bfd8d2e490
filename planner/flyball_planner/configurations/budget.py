"""Token budgets: the largest model that a machine trains to its best in a given time, and on how many tokens."""

import math

from msgspec import Struct

OPTIMAL = 20.0  # tokens a parameter at which loss is lowest for its compute (Hoffmann et al., 2022, approach 1 and 2)
FLOPS = 6.0  # a parameter and token, forward and backward (Kaplan et al., 2020)
DAY = 86400.0
SPANS_SECONDS = (DAY, 7 * DAY, 30 * DAY)


class Budget(Struct, frozen=True):
    """A compute-optimal pair."""

    seconds: float
    parameters: float
    tokens: float
    flops: float


def budgets(parameters: float, tokens_per_second: float) -> tuple[Budget, ...]:
    """For a day, a week and a month, at the speed at which a model of this size is trained."""
    return tuple(affordable(FLOPS * parameters * tokens_per_second, seconds) for seconds in SPANS_SECONDS)


def affordable(flops_per_second: float, seconds: float, tokens_a_parameter: float = OPTIMAL) -> Budget:
    """The largest model that can be trained to its budget: C = 6·N·D with D = r·N, so N = √(C / 6r)."""
    flops = flops_per_second * seconds
    parameters = math.sqrt(flops / (FLOPS * tokens_a_parameter))
    return Budget(seconds, parameters, tokens_a_parameter * parameters, flops)
