"""Thresholds for growth that fills a resource."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FillRules:
    """Thresholds for growth to count as filling up."""

    covered: float = 3.0  # growth, as a multiple of the room left
    level: float = 0.92  # below this use nothing is reported …
    hasty_level: float = 0.92  # … or below this use, if the resource is full within so few readings …
    haste: float = 2.0  # … that waiting for more certainty is too late …
    # … and its steps do not get smaller, and none differs from their mean by more than this share of it. In growth that
    # accelerates steadily, 0.31 is usual. Of 800,000 simulated jobs that load in uneven pieces and rest above 80 %, 26
    # have such steps, and 218 if each must only be half of the mean; of memory that really fills hardly less is found.
    hasty_spread: float = 0.35
    few: int = 6  # readings of the shortest fit; all of them must rise
    steady: float = 0.8  # least growth of the newer half, relative to the older half
    begun: float = 0.25  # least growth of the older half, relative to the newer half: excludes a single recent jump
    unslowed: float = 0.6  # median of the newest steps, relative to the newest third: excludes a last jump and a rest
    jump: float = 0.2  # largest step, as a share of the growth
    drift: float = 3.5  # growth, as a multiple of a random walk with the same steps
    novel: float = 1.0  # use above the earlier maximum, as a multiple of the room left
    least_gain: float = 0.01  # of the capacity
    horizon_seconds: float = 7200.0

    @property
    def least_level(self) -> float:
        """The use below which nothing is reported at all."""
        return min(self.level, self.hasty_level)


SPARSE_RULES = FillRules(
    covered=1.2, level=0.85, hasty_level=0.5, haste=3.0, hasty_spread=math.inf, unslowed=0.2, jump=0.5, drift=2.0, few=4
)
"""For long times between readings. Use may double between two readings, so waiting for certainty is too late."""
