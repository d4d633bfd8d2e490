"""Token budgets: what a model should be trained on, and what a machine can afford in a given time."""

import math

from msgspec import Struct

from flyball_planner.catalogue.hardware import Device

OPTIMAL = 20.0  # tokens a parameter at which loss is lowest for its compute (Hoffmann et al., 2022, approach 1 and 2)
FLOPS = 6.0  # a parameter and token, forward and backward (Kaplan et al., 2020)


class Budget(Struct, frozen=True):
    """A compute-optimal pair."""

    parameters: float
    tokens: float
    flops: float


def tokens_for(parameters: float, tokens_a_parameter: float = OPTIMAL) -> float:
    """What a model of this size should see."""
    return parameters * tokens_a_parameter


def affordable(
    device: Device, devices: int, seconds: float, utilisation: float, tokens_a_parameter: float = OPTIMAL
) -> Budget:
    """The largest model that can be trained to its budget: C = 6·N·D with D = r·N, so N = √(C / 6r)."""
    flops = seconds * devices * utilisation * max(device.flops_per_second.values())
    parameters = math.sqrt(flops / (FLOPS * tokens_a_parameter))
    return Budget(parameters, tokens_a_parameter * parameters, flops)
