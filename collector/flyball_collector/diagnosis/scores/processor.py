"""Bottleneck of the processor: work waits for CPU time, or a control group's limit holds it back."""

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.evidence import Assessment, Floats, Group, Ramp, percent, weigh
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown import known_or

KIND = BY_NAME["bottleneck_cpu"]

_PRESSURE = Ramp(0.12, 0.45, below=-2.5, above=2.0)
_DEMAND = Ramp(1.0, 2.0, below=-0.8, above=1.0)
_TAKEN = 0.4  # log-odds in place of the demand's, where others take all the processors and steps seldom ask
_FULL = Ramp(0.7, 0.95, below=0.0, above=1.0)
_THROTTLED = Ramp(0.02, 0.3, below=-4.0, above=3.5)
_SLOWER = Ramp(0.06, 0.25, below=-2.0, above=2.0)
_LEAST_RUNNING = 0.2  # less of the steps' time is not told apart from none
_WELL_FED = Ramp(0.7, 0.95, below=0.7, above=-2.5)  # GPUs that are busy all the time are not kept waiting


def assess_cpu(s: Signals) -> Assessment:
    """Pressure alone is no harm: a busy host has it, too. Steps that compute slower than before, or idle GPUs, are.

    Steps that wait for something else seldom ask for a CPU. Where other work leaves none free, they press as much as
    they do while they run.
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
        parts = [f"tasks waited for a CPU {percent(pressure[place])} of the time"]
        if demand[place] >= 1:
            parts.append(f"{demand[place]:.1f} tasks want each CPU")
        if slowdown[place] >= 0.05:
            parts.append(f"computing takes {slowdown[place] / (1 - slowdown[place]):.0%} longer than on free CPUs")
        if throttled[place] >= 0.02:
            parts.append(f"the CPU limit of the control group held work back in {throttled[place]:.0%} of its periods")
        return "; ".join(parts)

    return weigh(
        KIND,
        s.hosts,
        {Group.HOST: host, Group.STEPS: _SLOWER(slowdown), Group.GPU: gpu},
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
    """Share of the steps' time that computing loses, by the queue where their own past is not known.

    What steps wait for needs some of the processor, too.
    """
    waiting = s.waiting
    queued = (1 - 1 / np.maximum(demand, 1.0)) * np.minimum(pressure / 0.5, 1.0)
    lost = np.where(np.isnan(slowdown), known_or(0.0, queued), slowdown)
    found = lost * (1.0 - waiting) + 0.3 * known_or(0.0, pressure) * waiting
    return np.asarray(np.fmax(found, known_or(0.0, throttled)))
