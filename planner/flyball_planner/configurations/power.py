"""Power of a device during training, and pauses that keep its mean below a bound."""

from msgspec import Struct

from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.configurations.bounds import Bounds


class DutyCycle(Struct, frozen=True):
    """The share of time in which a device computes, and its mean power."""

    computing_share: float
    watts: float | None
    power_share: float | None  # of the nominal power

    def pause(self, step_seconds: float) -> float:
        """Return the seconds to wait after each step."""
        return step_seconds * (1 / self.computing_share - 1)


def duty_cycle(bounds: Bounds, device: ComputeDevice, busy_watts: float | None, idle_watts: float) -> DutyCycle:
    """Return full use, or pauses that meet the bound on power: mean = share · busy + (1 − share) · idle."""
    if device.power_watts is None or busy_watts is None:
        return DutyCycle(1.0, None, None)
    most = bounds.power_share.high * device.power_watts
    if busy_watts <= most or busy_watts <= idle_watts:
        return DutyCycle(1.0, busy_watts, busy_watts / device.power_watts)
    share = max(0.05, (most - idle_watts) / (busy_watts - idle_watts))
    watts = share * busy_watts + (1 - share) * idle_watts
    return DutyCycle(share, watts, watts / device.power_watts)
