"""Token budgets: the largest model that a machine can train compute-optimally in a given time."""

import math

from msgspec import Struct

OPTIMAL = 20.0  # tokens per parameter with the lowest loss for the compute (Hoffmann et al., 2022, approaches 1 and 2)
FLOPS = 6.0  # per parameter and token, forward and backward (Kaplan et al., 2020)
DAY = 86400.0
SPANS_SECONDS = (DAY, 7 * DAY, 30 * DAY)


class Budget(Struct, frozen=True):
    """A compute-optimal pair of model size and tokens."""

    seconds: float
    parameters: float
    tokens: float
    flops: float


def budgets(parameters: float, tokens_per_second: float) -> tuple[Budget, ...]:
    """Return the budgets of a day, a week and a month at the training speed of a model of this size."""
    return tuple(affordable(FLOPS * parameters * tokens_per_second, seconds) for seconds in SPANS_SECONDS)


def affordable(flops_per_second: float, seconds: float, tokens_per_parameter: float = OPTIMAL) -> Budget:
    """Return the largest model with its token budget: C = 6·N·D with D = r·N, so N = √(C / 6r)."""
    flops = flops_per_second * seconds
    parameters = math.sqrt(flops / (FLOPS * tokens_per_parameter))
    return Budget(seconds, parameters, tokens_per_parameter * parameters, flops)
