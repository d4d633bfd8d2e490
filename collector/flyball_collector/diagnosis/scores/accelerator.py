"""Bottlenecks of single GPUs: what limits a working GPU, and GPUs that a run holds but does not use."""

from collections.abc import Callable

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.scores.evidence import Assessment, EvidenceSource, Flags, Floats, Ramp, weigh
from flyball_collector.diagnosis.scores.gpu_signals import GpuSignals
from flyball_collector.diagnosis.unknown_values import known_or

COMPUTE, MEMORY, SMALL_BATCH, IDLE, LOW_USE, PCIE = (
    BY_NAME[f"bottleneck_{name}"]
    for name in ("gpu_compute", "gpu_memory", "small_batch", "idle_gpu", "low_use", "pcie")
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
_LOW = Ramp(0.6, 0.75, below=1.5, above=-4.0)  # SageMaker Debugger calls a GPU low below 70 %
_NOT_IDLE = Ramp(0.08, 0.15, below=-5.0, above=0.5)
_STEADY = Ramp(420.0, 600.0, below=-5.0, above=0.5)

_NOT_AT_ALL = -6.0  # log-odds below the least that counts


def assess_gpu_compute(s: GpuSignals) -> Assessment:
    """Utilisation only means that some kernel ran. Busy units and power show that the GPU computes."""
    power, no_sm = s.odds(_POWER, "power"), np.isnan(s.sm)
    work = _where(no_sm, lambda: power, lambda: _AT_WORK(s.sm) + _TENSOR(s.tensor) + 0.5 * power)
    memory = _where(s.memory_reported, lambda: s.odds(_BANDWIDTH_LIMITED, "memory"), lambda: np.zeros(len(s.memory)))
    level = _where(no_sm, lambda: s.busy * np.minimum(known_or(0.5, s.power) / 0.8, 1.0), lambda: s.sm)
    return _weigh(s, COMPUTE, s.odds(_ALL_THE_TIME, "busy") + work + memory, level, _busy_words(s))


def assess_gpu_memory(s: GpuSignals) -> Assessment:
    """Use the bandwidth; the older counter only gives the share of time in which any memory was moved."""
    moved = _where(s.memory_reported, lambda: _BANDWIDTH(s.memory), lambda: _CONTROLLER(s.memory))
    return _weigh(s, MEMORY, s.odds(_ALL_THE_TIME, "busy") + moved, known_or(0.0, s.memory), _busy_words(s))


def assess_small_batch(s: GpuSignals) -> Assessment:
    """Detect kernels that are too small or launched one by one: a kernel always runs, but most units are idle."""
    little, no_sm = _LITTLE_POWER(s.power), np.isnan(s.sm)
    rests = _where(no_sm, lambda: little, lambda: _LITTLE_WORK(s.sm) + 0.3 * little)
    bandwidth = s.odds(_BANDWIDTH_LIMITED, "memory")
    level = s.busy * _where(no_sm, lambda: 1 - np.minimum(s.power / 0.8, 1.0), lambda: 1 - s.sm)
    return _weigh(s, SMALL_BATCH, s.odds(_ALL_THE_TIME, "busy") + rests + bandwidth, level, _busy_words(s))


def assess_pcie(s: GpuSignals) -> Assessment:
    """Compare the mean transfer rate with the link's capacity at its current generation and width."""

    used, busy = s.pcie, s.busy  # the signals may have other GPUs when this is read

    def words(place: int) -> str:
        return clauses(
            ("PCIe transfers use {:.0f} % of the link's capacity", 100 * used[place]),
            ("the GPU is busy {:.0f} % of the time", 100 * busy[place]),
        )

    return _weigh(s, PCIE, _LINK(s.pcie) + _FED(s.busy), known_or(0.0, s.pcie), words, known=~np.isnan(s.pcie))


def assess_idle_gpu(s: GpuSignals) -> Assessment:
    """Detect GPUs with memory held for minutes but without kernels."""

    held_seconds, mean = s.held_seconds, s.mean  # the signals may have other GPUs when this is read

    def words(place: int) -> str:
        return clauses(
            ("memory has been held for {:.0f} minutes", held_seconds[place] / 60),
            ("the GPU is busy {:.0f} % of the time", 100 * mean[place]),
        )

    rows = np.flatnonzero(s.held & ~(mean >= _IDLE.high))  # above, the odds are below what counts
    log_odds = np.full(len(mean), _NOT_AT_ALL)
    log_odds[rows] = _IDLE(mean[rows]) + _HELD(held_seconds[rows])
    return _weigh(s, IDLE, log_odds, 1 - known_or(1.0, s.mean), words)


def assess_low_use(s: GpuSignals) -> Assessment:
    """Detect GPUs that have worked steadily, but only part of the time, for ten minutes: swings do not show this.

    A service that answers requests is used unsteadily, because they come unsteadily. So it is not reported.
    """
    use, watts = s.long_mean, s.power  # the signals may have other GPUs when this is read

    def words(place: int) -> str:
        return clauses(
            ("the GPU is busy only {:.0f} % of the time, steadily", 100 * use[place]),
            ("power at {:.0f} % of its limit", 100 * watts[place]),
        )

    steady = s.steady_seconds
    rows = np.flatnonzero(s.held & ~((use >= _LOW.high) & (steady <= _STEADY.low)))  # as in `assess_idle_gpu`
    log_odds = np.full(len(use), _NOT_AT_ALL)
    log_odds[rows] = _LOW(use[rows]) + _NOT_IDLE(use[rows]) + _STEADY(steady[rows])
    return _weigh(s, LOW_USE, log_odds, 1 - known_or(1.0, use), words)


def _where(flags: Flags, yes: Callable[[], Floats], no: Callable[[], Floats]) -> Floats:
    """Choose between two by a flag of each GPU. What is chosen nowhere is not computed: most fleets are of one kind."""
    if flags.all():
        return yes()
    return np.where(flags, yes(), no()) if flags.any() else no()


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
    readings = (  # the signals may have other GPUs when this is read
        ("a kernel runs {:.0f} % of the time", s.busy),
        ("SMs active {:.0f} %", s.sm),
        ("tensor cores active {:.0f} %", s.tensor),
        ("memory active {:.0f} %", s.memory),
        ("power at {:.0f} % of its limit", s.power),
    )

    def words(place: int) -> str:
        return clauses(*((template, 100 * values[place]) for template, values in readings))

    return words
