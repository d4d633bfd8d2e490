"""Detects PCIe links that are slower under load than GPU and slot allow. Idle links run at generation 1."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["pcie_degraded"]

_FAST_STATE = 2  # in P-states up to this one, the link runs at full speed


class PcieDetector:
    """Checks links under load only. While a GPU idles, its condition stays as it was."""

    name = "pcie"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("gpu_pcie_generation", "gpu_pcie_width_lanes")

    def __init__(self, settings: HealthSettings) -> None:
        self._load = settings.pcie_load

    def observe(self, view: View) -> Iterable[Claims]:
        """Compare generation and width with their maxima, under load."""
        generation, best = view.gpu("gpu_pcie_generation"), view.gpu("gpu_pcie_generation_max")
        width, widest = view.gpu("gpu_pcie_width_lanes"), view.gpu("gpu_pcie_width_max_lanes")
        state = view.gpu("gpu_performance_state")
        busy = view.gpu("gpu_utilization_ratio", 10) >= self._load
        loaded = busy & ~(state > _FAST_STATE) & ~(np.isnan(generation) & np.isnan(width))
        enters = loaded & ((generation < best) | (width < widest))
        lanes = np.divide(width, widest, out=np.ones(len(width)), where=widest > 0)
        share = known_or(1.0, 2.0 ** (generation - best)) * known_or(1.0, lanes)

        def words(place: int) -> str:
            link = clauses(
                ("generation {:.0f} instead of {:.0f}", generation[place], best[place]),
                ("{:.0f} lanes instead of {:.0f}", width[place], widest[place]),
                separator=", ",
            )
            rate = f"{100 * share[place]:.0f} % of the possible rate under load"
            return f"{f'{link}: ' if link else ''}{rate}; reseat the GPU, check the riser"

        yield Claims(
            kind=KIND,
            subjects=view.gpus,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.gpus), 0.95),
            known=loaded,
            level=1 - np.minimum(share, 1.0),
            because=words,
            evidence={"pcie_generation": generation, "pcie_width_lanes": width, "rate_ratio": share},
        )
