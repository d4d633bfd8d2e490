"""Detects the power brake: the power supply, not the driver, reduces a GPU's clocks."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["power_brake"]

_REASON = "hw_power_brake"
_SECONDS = 10.0
_ENTER, _EXIT = 0.1, 0.02  # shares of the last seconds


class PowerBrakeDetector:
    """Uses the cumulative time if the driver reports it. A flag sampled once a second misses short brakes."""

    name = "power_brake"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("gpu_throttle_active", "gpu_throttle_seconds_total")

    def __init__(self) -> None:
        self._braked = Growth(_SECONDS)

    def observe(self, view: View) -> Iterable[Claims]:
        """Report the flag, or the share of the last ten seconds."""
        flag = view.gpu("gpu_throttle_active", reason=_REASON)
        counter = view.gpu_count("gpu_throttle_seconds_total", reason=_REASON)
        share = np.minimum(self._braked.add(view.gpus, counter, view.now) / _SECONDS, 1.0)
        enters = (flag > 0) | (share >= _ENTER)

        def words(place: int) -> str:
            active = f"power brake active {100 * share[place]:.0f} % of the last 10 s"
            return f"{active}; checkpoint, check power supply and rack"

        yield Claims(
            kind=KIND,
            subjects=view.gpus,
            enters=enters,
            stays=enters | (share >= _EXIT),
            confidence=np.full(len(view.gpus), 0.95),
            known=enters | ~np.isnan(flag),
            level=share,
            because=words,
            evidence={"braked_ratio": share},
        )
