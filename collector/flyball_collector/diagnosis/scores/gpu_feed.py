"""Bottlenecks that feed the GPU too slowly: input with an unknown cause, and the host thread."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.scores.evidence import (
    Assessment,
    EvidenceSource,
    Floats,
    Ramp,
    or_lost,
    weigh,
)
from flyball_collector.diagnosis.scores.signals import Signals

Places = NDArray[np.int64]

DATA_WAIT, HOST, SYNC, NUMA = (BY_NAME[f"bottleneck_{name}"] for name in ("data_wait", "host", "sync", "numa"))

_WAITING = Ramp(0.15, 0.45, below=-3.0, above=2.2)
_LOST = Ramp(0.05, 0.18, below=-3.0, above=1.6)
_GAPS = Ramp(0.1, 0.35, below=-1.5, above=1.0)
_SWINGS = Ramp(0.2, 0.38, below=-1.0, above=1.8)
_SPARE_CPU = Ramp(0.5, 0.95, below=0.3, above=-0.3)
_EXPLAINED = -4.0  # log-odds, times the probability of the explanation

_IDLE = Ramp(0.1, 0.3, below=-3.0, above=1.2)
_ONE_CORE = Ramp(0.85, 0.97, below=-2.5, above=1.8)
_OTHERS_IDLE = Ramp(0.5, 0.85, below=0.5, above=-2.5)
_NOT_WAITING = Ramp(0.05, 0.2, below=1.0, above=-3.0)
_SYNC = Ramp(0.05, 0.2, below=-2.0, above=2.2)
_REMOTE = Ramp(0.1, 0.3, below=-3.5, above=1.5)


_COULD_EXPLAIN = {
    "CPU pressure": "cpu_some",
    "memory pressure": "memory_some",
    "I/O pressure": "io_some",
    "the use of disks": "disk_busy",
    "the round trip to a latency target": "latency",
}
"""The readings that would show another cause of waiting, with the names of their signals."""


def _no_cause(readings: Mapping[str, float]) -> str:
    """Return what the absence of another cause means: it was looked for, or its readings are missing."""
    missing = [what for what, value in readings.items() if np.isnan(value)]
    if not missing:
        return "no resource of the host explains the waiting"
    listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
    if len(missing) == len(readings):
        return f"the cause is not visible, because the host does not report {listed}"
    return f"no reading of the host explains the waiting, but it does not report {listed}"


def assess_data_wait(s: Signals, swings: Floats, others: Sequence[Assessment]) -> Assessment:
    """Assess waits that no resource of this host explains: the workers wait themselves, or there are too few.

    `swings`: variation of the host's GPU utilisation. `others`: assessments that would explain the waiting.
    """
    waiting, idle = s["data_share"], 1 - s["gpu_busy"]
    busy, read = s["cpu_busy"], {what: s[name] for what, name in _COULD_EXPLAIN.items()}
    explained = np.max([np.zeros(len(s.hosts)), *(other.probability * other.known for other in others)], axis=0)
    gpu = np.where(np.isnan(s["gpu_busy"]), 0.0, _GAPS(idle))
    gpu = np.where(np.isnan(waiting), gpu + _SWINGS(swings), gpu)
    level = np.where(np.isnan(waiting), np.where(swings >= 0.2, idle, 0.0), waiting)

    def words(place: int) -> str:
        parts = clauses(
            ("steps wait for input {:.0f} % of the time", 100 * waiting[place]),
            ("GPUs idle {:.0f} % of the time", 100 * idle[place]),
            ("CPUs are {:.0f} % busy", 100 * busy[place]),
        )
        cause = _no_cause({what: values[place] for what, values in read.items()})
        return f"{parts}; {cause}" if parts else cause

    return weigh(
        DATA_WAIT,
        s.hosts,
        {
            EvidenceSource.STEPS: or_lost(_WAITING(waiting), _LOST, s.data_loss),
            EvidenceSource.GPU: gpu,
            EvidenceSource.HOST: _SPARE_CPU(s["cpu_busy"]) + _EXPLAINED * explained,
        },
        prior=-1.0,
        level=level,
        known=~(np.isnan(waiting) & np.isnan(swings)),
        evidence={
            "data_wait_ratio": waiting,
            "gpu_idle_ratio": idle,
            "gpu_swing_ratio": swings,
            "cpu_busy_ratio": s["cpu_busy"],
        },
        words=words,
    )


def hosts_to_measure(s: Signals) -> Places:
    """Return the hosts where the busiest core matters: GPUs idle at times, and not all CPUs are busy."""
    return np.flatnonzero((s["gpu_busy"] < 0.9) & (s["gpu_busy"] > 0.05) & (s["cpu_busy"] < 0.9))


def assess_host(s: Signals, busiest: Floats) -> Assessment:
    """Assess one core at its limit while others idle and the GPU has gaps: the interpreter, or one loader thread."""
    gpu_busy = s["gpu_busy"]
    one = np.where(np.isnan(busiest), -4.0, _ONE_CORE(busiest) + _OTHERS_IDLE(s["cpu_busy"]))

    readings = (  # the signals may have other hosts when this is read
        ("one core is busy {:.0f} % of the time", busiest),
        ("all cores together {:.0f} %", s["cpu_busy"]),
        ("GPUs idle {:.0f} %", 1 - gpu_busy),
        ("steps wait for input {:.0f} % of their time", s["data_share"]),
    )

    def words(place: int) -> str:
        return clauses(*((template, 100 * values[place]) for template, values in readings))

    return weigh(
        HOST,
        s.hosts,
        {EvidenceSource.HOST: one, EvidenceSource.GPU: _IDLE(1 - gpu_busy), EvidenceSource.STEPS: _own_time(s)},
        prior=-1.0,
        level=1 - gpu_busy,
        known=~np.isnan(gpu_busy),
        evidence={
            "busiest_core_ratio": busiest,
            "cpu_busy_ratio": s["cpu_busy"],
            "gpu_idle_ratio": 1 - gpu_busy,
            "data_wait_ratio": s["data_share"],
        },
        words=words,
    )


def assess_sync(s: Signals) -> Assessment:
    """Use only sections that are reported as synchronisation: from outside it looks like any other gap."""
    share = s["sync_share"]

    def words(place: int) -> str:
        return clauses(("the host waits for the GPU {:.0f} % of the step time", 100 * share[place]))

    return weigh(
        SYNC,
        s.hosts,
        {EvidenceSource.STEPS: _SYNC(share), EvidenceSource.GPU: np.where(share > 0, _IDLE(1 - s["gpu_busy"]), 0.0)},
        prior=-1.0,
        level=share,
        known=~np.isnan(share),
        evidence={"sync_ratio": share, "gpu_idle_ratio": 1 - s["gpu_busy"]},
        words=words,
    )


def assess_numa(s: Signals) -> Assessment:
    """Use new pages from the other node. The kernel does not count how often existing pages are read across."""
    share = s["remote_pages"]

    def words(place: int) -> str:
        pages = "{:.0f} % of new memory pages come from a different node than the CPU that requests them"
        return clauses((pages, 100 * share[place]))

    return weigh(
        NUMA,
        s.hosts,
        {EvidenceSource.HOST: _REMOTE(share)},
        prior=-1.0,
        level=share,
        known=~np.isnan(share),
        evidence={"remote_pages_ratio": share},
        words=words,
    )


def _own_time(s: Signals) -> Floats:
    """Return the log-odds of steps that wait neither for input nor for each other."""
    waits = np.fmax(s["data_share"], s["communication_share"])
    return np.where(np.isnan(waits), 0.0, _NOT_WAITING(waits))
