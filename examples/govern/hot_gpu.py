"""A simulated GPU that heats up with its load and slows down at its limit."""

import math
from dataclasses import dataclass

AMBIENT_CELSIUS = 30.0
SLOWDOWN_CELSIUS = 92.0  # of an H100, as the stand-in library reports it
RELEASE_CELSIUS = 80.0
"""A GPU that has slowed down runs at full clocks again below this temperature. NVIDIA does not publish it; assumed."""

IDLE_WATTS, BUSY_WATTS = 90.0, 610.0
SLOWED_SPEED, SLOWED_POWER = 0.4, 0.6
"""Speed and dynamic power while slowed down. The clocks fall "by a factor of 2 or more" according to the documentation
of NVML (nvmlClocksEventReasonHwThermalSlowdown); power falls less, because memory and leakage do not follow the core
clock."""

SECONDS = 60.0
"""Time constant of the heat sink: tens of seconds are usual for air coolers."""

HEALTHY_CELSIUS, FAILED_CELSIUS = 66.0, 100.0
"""Temperature under full load in the end, with fans and with failed fans."""


@dataclass(slots=True)
class HotGpu:
    """The state of one GPU."""

    temperature: float = HEALTHY_CELSIUS
    slowed: bool = False
    power: float = BUSY_WATTS
    slowed_seconds: float = 0.0
    hottest: float = HEALTHY_CELSIUS

    @property
    def speed(self) -> float:
        """Return the factor of its speed."""
        return SLOWED_SPEED if self.slowed else 1.0

    def advance(self, busy_seconds: float, seconds: float, *, failed: bool) -> None:
        """Advance its temperature. For a part of the time it was busy."""
        load = min(1.0, busy_seconds / seconds) * (SLOWED_POWER if self.slowed else 1.0)
        self.power = IDLE_WATTS + (BUSY_WATTS - IDLE_WATTS) * load
        highest = FAILED_CELSIUS if failed else HEALTHY_CELSIUS
        final = AMBIENT_CELSIUS + (highest - AMBIENT_CELSIUS) * self.power / BUSY_WATTS
        self.temperature += (final - self.temperature) * (1 - math.exp(-seconds / SECONDS))
        self.hottest = max(self.hottest, self.temperature)
        if self.slowed:
            self.slowed_seconds += seconds
        self.slowed = self.temperature >= (RELEASE_CELSIUS if self.slowed else SLOWDOWN_CELSIUS)
