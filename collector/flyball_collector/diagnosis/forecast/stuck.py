"""Readings that are repeated, not measured: a frozen energy counter, or noisy readings that all stand still."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.figures import duration
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.unknown import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NOISY = "gpu_power_watts"
"""No two measurements of a working board's power are equal; without it nothing is said of frozen readings."""

READINGS = (
    NOISY, "gpu_utilization_ratio", "gpu_temperature_celsius", "gpu_sm_clock_hertz", "gpu_memory_used_bytes",
    "gpu_memory_temperature_celsius", "gpu_memory_controller_utilization_ratio",
)  # fmt: skip

LEAST_READINGS = 3  # of those above
LEAST_LOOKS = 8
BUSY = 0.05  # claimed utilisation
LEAST_WATTS = 1.0
"""Any powered board draws more."""


class StuckTelemetry:
    """How long has nothing changed although the host lives and the GPU claims to work?"""

    name = "stuck_telemetry"
    kinds = (BY_NAME["stuck_telemetry"],)
    needs: Sequence[str] = (NOISY, "gpu_energy_joules_total")

    def __init__(self, settings: ForecastSettings) -> None:
        self._seconds = settings.stuck_seconds
        self._energy_seconds = settings.stuck_energy_seconds
        self._kept = Kept(
            since=np.nan, looks=0, energy=np.nan, energy_since=np.nan, energy_looks=0, moved=False,
            last=((len(READINGS),), np.nan),
        )  # fmt: skip

    def observe(self, view: View) -> Iterable[Claims]:
        """Compare with the readings of the last look."""
        self._kept.align(view.gpus)
        values = np.column_stack([view.gpu(name) for name in READINGS])
        energy = view.gpu_count("gpu_energy_joules_total")
        alive = view.alive[view.gpus.hosts]
        still, known = self._still(values, alive, view.now)
        frozen = self._frozen(energy, values[:, 0], alive, view.now)
        since, energy_since = self._kept["since"].copy(), self._kept["energy_since"].copy()
        power = values[:, 0]

        def because(place: int) -> str:
            if frozen[place]:
                lasted = duration(view.now - energy_since[place])
                return f"its energy counter stands still for {lasted} although it reports {power[place]:.0f} W"
            return f"{known[place]} readings of a busy GPU, its power among them, are identical for " + duration(
                view.now - since[place]
            )

        yield Claims(
            kind=self.kinds[0], subjects=view.gpus, enters=still | frozen, stays=still | frozen,
            confidence=np.where(still & frozen, 0.98, 0.9), known=alive, because=because,
            evidence={"identical_seconds": view.now - since, "energy_still_seconds": view.now - energy_since},
        )  # fmt: skip

    def _still(self, values: Floats, alive: Flags, now: float) -> tuple[Flags, NDArray[np.int64]]:
        """Everything that is known is what it was, for long."""
        kept = self._kept
        last = kept["last"]
        said = ~np.isnan(values)
        changed = np.any(said & (values != last), axis=1) | np.any(~said & ~np.isnan(last), axis=1)
        changed &= alive
        kept["since"][changed] = now
        kept["looks"][changed] = 0
        kept["looks"][alive & ~changed] += 1
        last[alive] = values[alive]
        known: NDArray[np.int64] = np.sum(said, axis=1, dtype=np.int64)
        busy = known_or(0.0, values[:, 1]) >= BUSY
        long = (now - kept["since"] >= self._seconds) & (kept["looks"] >= LEAST_LOOKS)
        return long & busy & said[:, 0] & (known >= LEAST_READINGS) & alive, known

    def _frozen(self, energy: Floats, power: Floats, alive: Flags, now: float) -> Flags:
        """The energy counter, which moved before, no longer does."""
        kept = self._kept
        said = ~np.isnan(energy) & alive
        changed = said & (energy != kept["energy"])
        kept["moved"][changed & ~np.isnan(kept["energy"])] = True
        kept["energy_since"][changed] = now
        kept["energy_looks"][changed] = 0
        kept["energy_looks"][said & ~changed] += 1
        kept["energy"][said] = energy[said]
        long = (now - kept["energy_since"] >= self._energy_seconds) & (kept["energy_looks"] >= LEAST_LOOKS)
        return np.asarray(said & kept["moved"] & long & (power > LEAST_WATTS))
