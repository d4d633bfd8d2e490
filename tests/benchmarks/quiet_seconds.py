"""The first minutes of jobs that end well, second by second: memory fills, GPUs warm up, and both come to rest."""

from collections.abc import Iterator

import numpy as np

from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from tests.benchmarks.quiet_hosts import Floats, log_uniform

SECONDS = 420
_START_AT = 40
_GIB = 2.0**30
_TOTAL = 80 * _GIB


class QuietStarts:
    """Hosts with a GPU each, on each of which one job starts."""

    def __init__(self, hosts: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._hosts = hosts
        self.machines = Machines(hosts, gpus=1)

    def views(self, start: float) -> Iterator[ArrayView]:
        """One a second."""
        rng, hosts = self._rng, self._hosts
        memory, shared, gpu = self._fill(0.93), self._fill(0.9), self._fill(0.97)
        margins, energy = self._margins(), np.zeros(hosts)
        for second in range(SECONDS):
            busy = second >= _START_AT
            power = np.where(busy, 600 + 15 * rng.normal(size=hosts), 75.0)
            energy += power
            yield ArrayView(
                self.machines,
                start + second,
                host={
                    "memory_used_ratio": memory[second],
                    "cgroup_memory_used_ratio": memory[second],
                    "shared_memory_used_ratio": shared[second],
                },
                gpu={
                    "gpu_memory_used_bytes": gpu[second] * _TOTAL,
                    "gpu_memory_total_bytes": np.full(hosts, _TOTAL),
                    "gpu_utilization_ratio": np.full(hosts, 0.9 if second >= 2 * _START_AT else 0.0),
                    "gpu_temperature_margin_celsius": margins[second],
                    "gpu_temperature_celsius": 87 - margins[second],
                    "gpu_memory_temperature_celsius": np.round(95 - 0.9 * margins[second]),
                    "gpu_power_watts": power,
                    "gpu_sm_clock_hertz": np.full(hosts, 1.8e9),
                    "gpu_energy_joules_total": energy.copy(),
                },
            )

    def _fill(self, top: float) -> Floats:
        """From some level to a plateau: at once, to a rest exponentially, or in uneven pieces up to 0.88."""
        rng, hosts = self._rng, self._hosts
        base, target = rng.uniform(0.02, 0.3, hosts), rng.uniform(0.3, top, hosts)
        tau = log_uniform(rng, (0.3, 90), hosts)
        uneven = rng.random(hosts) < 0.3
        target = np.where(uneven, np.minimum(target, 0.88), target)
        piece = np.where(uneven, rng.gamma(0.5, 2.0, (SECONDS, hosts)), 1.0)
        piece[:_START_AT] = 0
        use = base + (target - base) * -np.expm1(-np.cumsum(piece, axis=0) / tau)
        return np.asarray(np.clip(use + 0.001 * rng.normal(size=use.shape), 0, 0.98))

    def _margins(self) -> Floats:
        """The die warms within seconds, its heat sink within a minute or two; sensors report whole degrees."""
        rng, hosts = self._rng, self._hosts
        rest, part = rng.uniform(3.5, 40, hosts), rng.uniform(0.3, 0.7, hosts)
        quick, slow = log_uniform(rng, (2, 6), hosts), log_uniform(rng, (15, 90), hosts)
        time = np.maximum(np.arange(SECONDS)[:, None] - _START_AT, 0)
        warmth = 1 - part * np.exp(-time / quick) - (1 - part) * np.exp(-time / slow)
        return np.asarray(np.round(60 - (60 - rest) * warmth + 0.4 * rng.normal(size=warmth.shape)))
