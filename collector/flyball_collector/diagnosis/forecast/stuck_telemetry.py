"""Detects readings that are repeated instead of measured: a frozen energy counter, or readings without any noise."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.number_format import duration
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NOISY = "gpu_power_watts"
"""Two measurements of a working GPU's power are never equal. Without this metric, frozen readings are not reported."""

READINGS = (
    NOISY, "gpu_utilization_ratio", "gpu_temperature_celsius", "gpu_sm_clock_hertz", "gpu_memory_used_bytes",
    "gpu_memory_temperature_celsius", "gpu_memory_controller_utilization_ratio",
)  # fmt: skip

LEAST_READINGS = 3  # of the metrics above
LEAST_UPDATES = 8
BUSY = 0.05  # reported utilisation
LEAST_WATTS = 1.0
"""Every powered board draws more than this."""


class StuckTelemetry:
    """Measures how long readings have not changed while the host reports and the GPU seems to work."""

    name = "stuck_telemetry"
    kinds = (BY_NAME["stuck_telemetry"],)
    needs: Sequence[str] = (NOISY, "gpu_energy_joules_total")

    def __init__(self, settings: ForecastSettings) -> None:
        self._seconds = settings.stuck_seconds
        self._energy_seconds = settings.stuck_energy_seconds
        self._kept = SubjectArrays(
            since=np.nan, updates=0, energy=np.nan, energy_since=np.nan, energy_updates=0, moved=False,
            last=((len(READINGS),), np.nan),
        )  # fmt: skip

    def observe(self, view: View) -> Iterable[Claims]:
        """Compare the readings with those of the last call."""
        self._kept.align(view.gpus)
        values = np.column_stack([view.gpu(name) for name in READINGS])
        energy = view.gpu_count("gpu_energy_joules_total")
        alive = view.alive[view.gpus.hosts]
        same, known = self._same(values, alive, view.now)
        frozen = self._frozen(energy, values[:, 0], alive, view.now)
        since, energy_since = self._kept["since"].copy(), self._kept["energy_since"].copy()
        power = values[:, 0]

        def because(place: int) -> str:
            if frozen[place]:
                lasted = duration(view.now - energy_since[place])
                return f"the energy counter has not changed for {lasted}, but the GPU reports {power[place]:.0f} W"
            lasted = duration(view.now - since[place])
            return f"{known[place]} readings of a busy GPU, including its power, have not changed for {lasted}"

        yield Claims(
            kind=self.kinds[0], subjects=view.gpus, enters=same | frozen, stays=same | frozen,
            confidence=np.where(same & frozen, 0.98, 0.9), known=alive, because=because,
            evidence={"identical_seconds": view.now - since, "energy_still_seconds": view.now - energy_since},
        )  # fmt: skip

    def _same(self, values: Floats, alive: Flags, now: float) -> tuple[Flags, NDArray[np.int64]]:
        """Return the busy GPUs whose known readings have not changed for long, and the number of known readings."""
        kept = self._kept
        last = kept["last"]
        is_known = ~np.isnan(values)
        changed = np.any(is_known & (values != last), axis=1) | np.any(~is_known & ~np.isnan(last), axis=1)
        changed &= alive
        kept["since"][changed] = now
        kept["updates"][changed] = 0
        kept["updates"][alive & ~changed] += 1
        last[alive] = values[alive]
        known: NDArray[np.int64] = np.sum(is_known, axis=1, dtype=np.int64)
        busy = known_or(0.0, values[:, 1]) >= BUSY
        long = (now - kept["since"] >= self._seconds) & (kept["updates"] >= LEAST_UPDATES)
        return long & busy & is_known[:, 0] & (known >= LEAST_READINGS) & alive, known

    def _frozen(self, energy: Floats, power: Floats, alive: Flags, now: float) -> Flags:
        """Return the GPUs whose energy counter moved before but no longer does."""
        kept = self._kept
        known = ~np.isnan(energy) & alive
        changed = known & (energy != kept["energy"])
        kept["moved"][changed & ~np.isnan(kept["energy"])] = True
        kept["energy_since"][changed] = now
        kept["energy_updates"][changed] = 0
        kept["energy_updates"][known & ~changed] += 1
        kept["energy"][known] = energy[known]
        long = (now - kept["energy_since"] >= self._energy_seconds) & (kept["energy_updates"] >= LEAST_UPDATES)
        return np.asarray(known & kept["moved"] & long & (power > LEAST_WATTS))
