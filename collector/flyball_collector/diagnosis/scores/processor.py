"""Bottleneck of the processor: work waits for CPU time, or a control group's CPU limit throttles it."""

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.evidence import Assessment, EvidenceSource, Floats, Ramp, percent, weigh
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown_values import known_or

KIND = BY_NAME["bottleneck_cpu"]

_PRESSURE = Ramp(0.12, 0.45, below=-2.5, above=2.0)
_DEMAND = Ramp(1.0, 2.0, below=-0.8, above=1.0)
_TAKEN = 0.4  # log-odds instead of the demand's, if other work uses all CPUs and steps rarely need one
_FULL = Ramp(0.7, 0.95, below=0.0, above=1.0)
_THROTTLED = Ramp(0.02, 0.3, below=-4.0, above=3.5)
_SLOWER = Ramp(0.06, 0.25, below=-2.0, above=2.0)
_LEAST_RUNNING = 0.2  # a smaller running share of the step time cannot be distinguished from zero
_WELL_FED = Ramp(0.7, 0.95, below=0.7, above=-2.5)  # GPUs that are always busy do not wait for the CPU


def assess_cpu(s: Signals) -> Assessment:
    """Count steps that compute slower than before, and idle GPUs. Pressure alone is harmless: every busy host has it.

    Steps that wait for something else rarely need a CPU. If other work leaves no CPU free, pressure is measured over
    the time that steps spend computing.
    """
    pressure, demand, throttled = s["cpu_some"], s["demand"], s["throttled"]
    slowdown, gpu_busy = s.slowdown, s["gpu_busy"]
    held = np.where(np.isnan(throttled), -4.0, _THROTTLED(throttled))
    absent = s.waiting * _FULL(s["cpu_busy"])
    wanted = np.maximum(_DEMAND(demand), _DEMAND(demand) * (1 - absent) + _TAKEN * absent)
    running = np.maximum(1 - absent, _LEAST_RUNNING)
    host = np.maximum(_PRESSURE(pressure / running) + wanted, held)
    gpu = np.where(host > 0, _WELL_FED(gpu_busy), 0.0)

    def words(place: int) -> str:
        parts = [] if np.isnan(pressure[place]) else [f"tasks waited for a CPU {percent(pressure[place])} of the time"]
        if demand[place] >= 1:
            parts.append(f"{demand[place]:.1f} runnable tasks for each CPU")
        if slowdown[place] >= 0.05:
            parts.append(
                f"computing takes {100 * slowdown[place] / (1 - slowdown[place]):.0f} % longer than on free CPUs"
            )
        if throttled[place] >= 0.02:
            parts.append(f"the control group's CPU limit throttled {100 * throttled[place]:.0f} % of its periods")
        return "; ".join(parts)

    return weigh(
        KIND,
        s.hosts,
        {EvidenceSource.HOST: host, EvidenceSource.STEPS: _SLOWER(slowdown), EvidenceSource.GPU: gpu},
        prior=-1.0,
        level=_level(s, pressure, demand, slowdown, throttled),
        known=~(np.isnan(pressure) & np.isnan(throttled)),
        evidence={
            "cpu_pressure_ratio": pressure,
            "cpu_busy_ratio": s["cpu_busy"],
            "tasks_per_cpu": demand,
            "compute_slowdown_ratio": slowdown,
            "throttled_ratio": throttled,
        },
        words=words,
    )


def _level(s: Signals, pressure: Floats, demand: Floats, slowdown: Floats, throttled: Floats) -> Floats:
    """Return the share of the step time that computing loses; from the run queue if the steps' own past is unknown.

    The work that steps wait for also needs some CPU time.
    """
    waiting = s.waiting
    queued = (1 - 1 / np.maximum(demand, 1.0)) * np.minimum(pressure / 0.5, 1.0)
    lost = np.where(np.isnan(slowdown), known_or(0.0, queued), slowdown)
    found = lost * (1.0 - waiting) + 0.3 * known_or(0.0, pressure) * waiting
    return np.asarray(np.fmax(found, known_or(0.0, throttled)))
