"""Power: what a device draws in a training, and the pauses that keep its mean below a bound."""

from msgspec import Struct

from flyball_planner.catalogue.hardware import Device
from flyball_planner.configurations.bounds import Bounds


class Pace(Struct, frozen=True):
    """How much of the time a device computes, and what it draws on average."""

    computing_share: float
    watts: float | None
    power_share: float | None  # of the printed power

    def pause(self, step_seconds: float) -> float:
        """Seconds to wait after each step."""
        return step_seconds * (1 / self.computing_share - 1)


def pace(bounds: Bounds, device: Device, busy_watts: float | None, idle_watts: float) -> Pace:
    """Computing without pauses, unless the bound on power asks for some: mean = share · busy + (1 − share) · idle."""
    if device.power_watts is None or busy_watts is None:
        return Pace(1.0, None, None)
    most = bounds.power_share.high * device.power_watts
    if busy_watts <= most or busy_watts <= idle_watts:
        return Pace(1.0, busy_watts, busy_watts / device.power_watts)
    share = max(0.05, (most - idle_watts) / (busy_watts - idle_watts))
    watts = share * busy_watts + (1 - share) * idle_watts
    return Pace(share, watts, watts / device.power_watts)
