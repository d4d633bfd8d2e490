"""The belief about a device's coefficients before any of its runs was measured."""

from msgspec.structs import replace

from flyball_planner.belief import Belief
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.timing.best_rates import achieved
from flyball_planner.timing.coefficients import fitted


def believed(device: ComputeDevice, left_out: str = "") -> Belief:
    """Return the fitted belief; products are less certain on a device whose best rate was not measured.

    `left_out` is a suite that is judged.
    """
    common = fitted(left_out)
    deviation = 0.0 if device.efficiency is not None else achieved(device).deviation
    if not deviation:
        return common
    covariance = common.covariance.copy()
    place = common.names.index("matmul")
    covariance[place, place] += deviation**2
    return replace(common, covariance=covariance)
