"""The thresholds of the rules of adjustments, each with the one at which its inverse begins. No others decide."""

from typing import NamedTuple


class Band(NamedTuple):
    """A change begins at `enter`, its inverse at `leave`. Between them nothing happens."""

    enter: float
    leave: float


MEMORY = Band(0.90, 0.75)
"""Share of a GPU's memory. Ten percent stay free: the allocator's blocks never fit exactly, and other libraries
allocate beside it."""

HEAT = Band(3.0, 8.0)
"""Degrees below the temperature at which clocks begin to fall. The clocks fall within 3 °C of it at changing load; with
8 °C below it a training can go on at full speed."""

THROTTLE_MARGIN = 4.0
"""Degrees of margin that must remain by prediction after a release: one more than where throttling begins."""

SERVICE = Band(0.20, 0.10)
"""Share of the steps' time in calls to a service."""

CORES = 1.0
"""Loader workers for each core, at most."""

HOST_MEMORY_FREE = 0.20
"""Share of the host's memory that must be available before workers or prefetch are added."""

BATTERY_THROTTLE = 0.3
"""Share of the time that a training sleeps on battery."""

CALLS_PER_SAMPLE = 4.0
"""Fewer calls for each sample bring little more (published for one project: 100 became 2 to 4)."""

LEAST_GAIN = 1.05
"""Changes for speed are proposed only from this expected gain on (upper bound)."""
