"""Bottlenecks of single GPUs: what limits a working GPU, and GPUs that a run holds but does not use."""

from collections.abc import Callable

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.scores.evidence import Assessment, EvidenceSource, Flags, Floats, Ramp, percent, weigh
from flyball_collector.diagnosis.scores.gpu_signals import GpuSignals
from flyball_collector.diagnosis.unknown_values import known_or

COMPUTE, MEMORY, SMALL_BATCH, IDLE, PCIE = (
    BY_NAME[f"bottleneck_{name}"] for name in ("gpu_compute", "gpu_memory", "small_batch", "idle_gpu", "pcie")
)

_ALL_THE_TIME = Ramp(0.75, 0.95, below=-4.0, above=0.8)
_AT_WORK = Ramp(0.3, 0.6, below=-3.0, above=1.5)  # SMs, if the driver reports them
_TENSOR = Ramp(0.1, 0.3, below=0.0, above=1.0)
_POWER = Ramp(0.5, 0.8, below=-2.0, above=1.5)
_BANDWIDTH = Ramp(0.45, 0.8, below=-3.5, above=2.5)
"""About 80 % of the memory's cycles can be used (NVIDIA DCGM, DCGM_FI_PROF_DRAM_ACTIVE).

Nsight Compute calls a resource the limit from 80 % of what can be reached. For a GPU at work all the time, the
condition is raised at 67 % and ends below 63 %.
"""
_CONTROLLER = Ramp(0.6, 0.9, below=-2.5, above=1.2)  # the time in which memory was moved, not how much
_BANDWIDTH_LIMITED = Ramp(0.45, 0.8, below=0.0, above=-3.5)
_LITTLE_WORK = Ramp(0.15, 0.45, below=2.5, above=-3.0)
_LITTLE_POWER = Ramp(0.35, 0.65, below=1.5, above=-2.5)
_LINK = Ramp(0.5, 0.8, below=-4.0, above=2.5)
_FED = Ramp(0.8, 0.97, below=0.7, above=-1.5)
_IDLE = Ramp(0.02, 0.08, below=2.5, above=-5.0)
_HELD = Ramp(60.0, 180.0, below=-5.0, above=0.5)


def assess_gpu_compute(s: GpuSignals) -> Assessment:
    """Utilisation only means that some kernel ran. Busy units and power show that the GPU computes."""
    power = _POWER(s.power)
    work = np.where(np.isnan(s.sm), power, _AT_WORK(s.sm) + _TENSOR(s.tensor) + 0.5 * power)
    memory = np.where(s.memory_reported, _BANDWIDTH_LIMITED(s.memory), 0.0)
    level = np.where(np.isnan(s.sm), s.busy * np.minimum(known_or(0.5, s.power) / 0.8, 1.0), s.sm)
    return _weigh(s, COMPUTE, _ALL_THE_TIME(s.busy) + work + memory, level, _busy_words(s))


def assess_gpu_memory(s: GpuSignals) -> Assessment:
    """Use the bandwidth; the older counter only gives the share of time in which any memory was moved."""
    moved = np.where(s.memory_reported, _BANDWIDTH(s.memory), _CONTROLLER(s.memory))
    return _weigh(s, MEMORY, _ALL_THE_TIME(s.busy) + moved, known_or(0.0, s.memory), _busy_words(s))


def assess_small_batch(s: GpuSignals) -> Assessment:
    """Detect kernels that are too small or launched one by one: a kernel always runs, but most units are idle."""
    little = _LITTLE_POWER(s.power)
    rests = np.where(np.isnan(s.sm), little, _LITTLE_WORK(s.sm) + 0.3 * little)
    bandwidth = np.where(np.isnan(s.memory), 0.0, _BANDWIDTH_LIMITED(s.memory))
    level = np.where(np.isnan(s.sm), s.busy * (1 - np.minimum(s.power / 0.8, 1.0)), s.busy * (1 - s.sm))
    return _weigh(s, SMALL_BATCH, _ALL_THE_TIME(s.busy) + rests + bandwidth, level, _busy_words(s))


def assess_pcie(s: GpuSignals) -> Assessment:
    """Compare the mean transfer rate with the link's capacity at its current generation and width."""

    def words(place: int) -> str:
        used = f"PCIe transfers use {percent(s.pcie[place])} of the link's capacity"
        return f"{used}; the GPU is busy {percent(s.busy[place])} of the time"

    return _weigh(s, PCIE, _LINK(s.pcie) + _FED(s.busy), known_or(0.0, s.pcie), words, known=~np.isnan(s.pcie))


def assess_idle_gpu(s: GpuSignals) -> Assessment:
    """Detect GPUs with memory held for minutes but without kernels."""

    def words(place: int) -> str:
        held = f"memory has been held for {s.held_seconds[place] / 60:.0f} minutes"
        return f"{held}; the GPU is busy {percent(s.mean[place])} of the time"

    log_odds = np.where(s.held, _IDLE(s.mean) + _HELD(s.held_seconds), -6.0)
    return _weigh(s, IDLE, log_odds, 1 - known_or(1.0, s.mean), words)


def _weigh(
    s: GpuSignals,
    kind: EventKind,
    log_odds: Floats,
    level: Floats,
    words: Callable[[int], str],
    known: Flags | None = None,
) -> Assessment:
    return weigh(
        kind,
        s.gpus,
        {EvidenceSource.GPU: log_odds},
        prior=-1.0,
        level=level,
        known=~np.isnan(s.busy) if known is None else known,
        evidence={
            "gpu_busy_ratio": s.busy,
            "sm_active_ratio": s.sm,
            "tensor_active_ratio": s.tensor,
            "memory_active_ratio": s.memory,
            "power_of_limit_ratio": s.power,
            "pcie_use_ratio": s.pcie,
        },
        words=words,
    )


def _busy_words(s: GpuSignals) -> Callable[[int], str]:
    def words(place: int) -> str:
        parts = [f"a kernel runs {percent(s.busy[place])} of the time"]
        for name, values in (("SMs", s.sm), ("tensor cores", s.tensor), ("memory", s.memory)):
            if not np.isnan(values[place]):
                parts.append(f"{name} active {100 * values[place]:.0f} %")
        if not np.isnan(s.power[place]):
            parts.append(f"power at {100 * s.power[place]:.0f} % of its limit")
        return "; ".join(parts)

    return words
