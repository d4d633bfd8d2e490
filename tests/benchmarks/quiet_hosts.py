"""Hosts on which nothing breaks, by the minute: noise that wanders, steps, saw-teeth, days, job starts, plateaus."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines

Floats = NDArray[np.float64]

MOUNTS = ("/", "/data")
TOP = 0.97  # nothing of it fills up
_GIB = 2.0**30
_TOTAL = 80 * _GIB
_DAY = 1440


@dataclass(slots=True)
class Wander:
    """First-order autoregressive noise that goes on from one stretch to the next."""

    rng: np.random.Generator
    tau: Floats  # steps
    spread: Floats
    value: Floats

    @classmethod
    def of(cls, rng: np.random.Generator, rows: int, tau: tuple[float, float], spread: tuple[float, float]) -> "Wander":
        """Each row with its own time and spread, drawn evenly over the magnitudes."""
        return cls(rng, log_uniform(rng, tau, rows), log_uniform(rng, spread, rows), np.zeros(rows))

    def stretch(self, steps: int) -> Floats:
        """The next steps, time × row."""
        keep = np.exp(-1 / self.tau)
        shocks = self.rng.normal(size=(steps, len(keep))) * self.spread * np.sqrt(1 - keep**2)
        out = np.empty((steps, len(keep)))
        for step in range(steps):
            self.value = out[step] = keep * self.value + shocks[step]
        return out


def log_uniform(rng: np.random.Generator, bounds: tuple[float, float], count: int) -> Floats:
    """Drawn evenly over the orders of magnitude."""
    return np.exp(rng.uniform(np.log(bounds[0]), np.log(bounds[1]), count))


def saw_tooth(rng: np.random.Generator, rows: int, share: float) -> tuple[Floats, Floats, Floats]:
    """Height, period in minutes, and phase of collectors and caches; most rows have none."""
    height = np.where(rng.random(rows) < share, rng.uniform(0.02, 0.25, rows), 0.0)
    return height, log_uniform(rng, (5, 120), rows), rng.random(rows)


def days_swing(rng: np.random.Generator, rows: int, share: float) -> tuple[Floats, Floats]:
    """Range and phase of what follows the day; most rows do not."""
    return np.where(rng.random(rows) < share, rng.uniform(0.02, 0.3, rows), 0.0), rng.random(rows)


def levels(rng: np.random.Generator, steps: int, rows: int, jobs: float, shifts: float) -> Floats:
    """Job starts that warm up to a plateau, and steps up and down; `jobs` and `shifts` a day.

    A warm-up approaches its rest exponentially, or in uneven pieces up to 0.88 as the memory of real services does.
    """
    target = rng.uniform(0.1, 0.9, rows)
    value, tau, uneven = target.copy(), np.ones(rows), np.zeros(rows, dtype=bool)
    out = np.empty((steps, rows))
    for step in range(steps):
        chance = rng.random(rows)
        starts, shifted = chance < jobs / _DAY, chance > 1 - shifts / _DAY
        value[starts] = rng.uniform(0.02, 0.1, int(starts.sum()))
        target[starts] = rng.uniform(0.2, 0.93, int(starts.sum()))
        tau[starts] = log_uniform(rng, (0.5, 40), int(starts.sum()))
        uneven[starts] = rng.random(int(starts.sum())) < 0.3
        target[uneven & starts] = np.minimum(target[uneven & starts], 0.88)
        target[shifted] = np.clip(target[shifted] + rng.uniform(-0.3, 0.3, int(shifted.sum())), 0.05, 0.95)
        tau[shifted], uneven[shifted] = 0.1, False
        piece = np.where(uneven, rng.gamma(0.5, 2.0, rows), 1.0)
        value += (target - value) * -np.expm1(-piece / tau)
        out[step] = value
    return out


class QuietHosts:
    """A fleet of them with a GPU each; a day at a time."""

    def __init__(self, hosts: int, seed: int) -> None:
        rng = self._rng = np.random.default_rng(seed)
        self.machines = Machines(hosts, gpus=1, mounts=MOUNTS)
        self._hosts = hosts
        self._wander = Wander.of(rng, 2 * hosts, (5, 300), (0.001, 0.02))
        self._white = log_uniform(rng, (0.0002, 0.005), 2 * hosts)
        self._teeth = saw_tooth(rng, 2 * hosts, 0.3)
        self._swing = days_swing(rng, 2 * hosts, 0.3)
        self._heat = Wander.of(rng, hosts, (1, 60), (0.2, 1.5))
        self._rest = rng.uniform(3.5, 40, hosts)  # margin under load
        self._warmth = np.zeros(hosts)
        self._disk = rng.uniform(0.1, 0.85, hosts * len(MOUNTS))
        self._energy = np.zeros(hosts)

    def day(self, start: float) -> Iterator[ArrayView]:
        """The views of one day."""
        rng, hosts = self._rng, self._hosts
        memory = self._memory()
        gpu_memory = levels(rng, _DAY, hosts, 3, 4)
        shared = 0.95 * levels(rng, _DAY, hosts, 3, 6)
        busy = levels(rng, _DAY, hosts, 3, 0) > 0.15
        disk, stalls = self._disks(), rng.random((_DAY, hosts)) ** 8 * 0.09
        heat = self._heat.stretch(_DAY)
        for minute in range(_DAY):
            self._warmth += (busy[minute] - self._warmth) * -np.expm1(-1 / 1.5)
            margin = np.round(45 - (45 - self._rest) * self._warmth + np.maximum(heat[minute], 1.0 - self._rest))
            power = np.where(busy[minute], 600 + 20 * rng.normal(size=hosts), 75.0)
            self._energy += 60 * power
            yield ArrayView(
                self.machines,
                start + 60.0 * minute,
                host={
                    "memory_used_ratio": memory[minute, :hosts],
                    "cgroup_memory_used_ratio": memory[minute, hosts:],
                    "shared_memory_used_ratio": shared[minute],
                    "pressure_seconds_total/memory/some": stalls[minute],
                    "pressure_seconds_total/memory/full": stalls[minute] / 2,
                },
                gpu={
                    "gpu_memory_used_bytes": gpu_memory[minute] * _TOTAL,
                    "gpu_memory_total_bytes": np.full(hosts, _TOTAL),
                    "gpu_utilization_ratio": np.where(busy[minute], 0.95, 0.0),
                    "gpu_temperature_margin_celsius": margin,
                    "gpu_temperature_celsius": 87 - margin,
                    "gpu_memory_temperature_celsius": np.round(60 + 30 * self._warmth + heat[minute] / 2),
                    "gpu_power_watts": power,
                    "gpu_sm_clock_hertz": np.where(busy[minute], 1.8e9, 0.3e9),
                    "gpu_energy_joules_total": self._energy.copy(),
                },
                mount={
                    "filesystem_used_ratio": disk[minute],
                    "filesystem_total_bytes": np.full(disk.shape[1], 1e12),
                },
            )

    def _memory(self) -> Floats:
        """Hosts, then control groups."""
        rng, rows = self._rng, 2 * self._hosts
        height, period, phase = self._teeth
        turns = np.arange(_DAY)[:, None] / period + phase
        self._teeth = (height, period, (phase + _DAY / period) % 1)
        swing, noon = self._swing
        day = swing / 2 * (1 + np.sin(2 * np.pi * (np.arange(_DAY)[:, None] / _DAY + noon)))
        rest = np.minimum(levels(rng, _DAY, rows, 3, 4), np.where(swing > 0, 0.9 - swing, 1.0)) + day
        # what collects does so below its own limit, which is below memory's
        use = np.where(height > 0, np.minimum(rest, 0.9 - height), rest) + height * (turns % 1)
        return np.asarray(
            np.clip(use + self._wander.stretch(_DAY) + self._white * rng.normal(size=use.shape), 0.01, TOP)
        )

    def _disks(self) -> Floats:
        """Slow growth, tidied up now and then, and checkpoints that come and go."""
        rng, rows = self._rng, len(self._disk)
        growth = np.cumsum(rng.gamma(0.5, 2.0, (_DAY, rows)), axis=0) / _DAY * rng.uniform(0, 0.02, rows)
        checkpoints = rng.uniform(0, 0.05, rows) * ((np.arange(_DAY)[:, None] % 30) / 30 * (rng.random(rows) < 0.5))
        use = self._disk + growth
        self._disk = np.where(use[-1] > 0.85, 0.5, use[-1])
        return np.asarray(np.clip(use + checkpoints, 0, 0.94))
