"""Bottlenecks by the time of the trainings' main threads.

It takes the place of the steps where none are reported. Where they are, the stronger evidence counts: reports do not
show what a thread waits for inside a section, such as a checkpoint's disk, or a lock while it computes.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.scores.evidence import Assessment, EvidenceSource, Flags, Floats, Ramp, weigh
from flyball_collector.diagnosis.scores.main_time import MainTime, main_time
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown_values import known_or

CPU, MEMORY, SWAP, DISK, NETWORK, SERVICE, DATA_WAIT = (
    BY_NAME[f"bottleneck_{name}"] for name in ("cpu", "memory", "swap", "disk", "network", "service", "data_wait")
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """The assessments by kind, along hosts."""

    assessments: Mapping[str, Assessment] = field(default_factory=dict)
    are_alone: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))  # no parts of steps are reported


AT_ONCE = frozenset(kind.name for kind in (CPU, MEMORY, SWAP, DISK, NETWORK, SERVICE))
LATER = frozenset({DATA_WAIT.name})
"""The kinds that need no others, and those that do."""

# the training's processes
_DELAYED = Ramp(0.04, 0.2, below=-3.0, above=3.0)
_AT_DISK = Ramp(0.06, 0.25, below=-3.5, above=2.5)
_STALLED = Ramp(0.04, 0.2, below=-2.5, above=2.0)
_CALLING = Ramp(0.06, 0.22, below=-3.5, above=2.5)
_IDLE = Ramp(0.08, 0.3, below=-3.5, above=2.5)

# the host
_CPU_PRESSURE = Ramp(0.08, 0.35, below=-1.5, above=1.5)
_IO_PRESSURE = Ramp(0.03, 0.15, below=-2.0, above=1.5)
_DISK_BUSY = Ramp(0.05, 0.3, below=-0.7, above=0.7)
_SHORT_OF_MEMORY = Ramp(0.03, 0.08, below=0.0, above=-4.0)  # then pages are read again: memory is the cause
_MEMORY_PRESSURE = Ramp(0.01, 0.08, below=-3.0, above=2.5)
_SWAPPED_IN = Ramp(1e5, 2e6, below=-4.0, above=2.7)
_NOT_SWAP = Ramp(2e5, 2e6, below=0.0, above=-3.0)
_FAR = Ramp(0.002, 0.008, below=-2.0, above=1.0)
_THE_WAY = Ramp(0.15, 0.5, below=-2.0, above=1.5)
_LOST = Ramp(0.01, 0.05, below=0.0, above=2.0)
_NOT_THE_WAY = Ramp(0.3, 0.75, below=1.0, above=-3.5)
_CALLS = Ramp(1.0, 5.0, below=-3.0, above=0.7)
_SPARE_CPU = Ramp(0.5, 0.95, below=0.5, above=-0.5)
_EXPLAINED = -4.0  # log-odds, times the probability of the explanation

MOST_IF_UNCLEAR = 0.6
"""The highest confidence in a service if the network to it may be what is slow."""

_STARVED_GPU = Ramp(0.1, 0.3, below=-3.0, above=0.8)
"""GPUs that hardly idle are fed in time, whatever the main thread waits for: often for the GPU."""


def of_trainings(s: Signals) -> Kernel:
    """Assess all kinds along hosts; they are known where the threads of a training are."""
    time = main_time(s)
    if time is None:
        return Kernel()
    found = [assess(s, time) for assess in (_cpu, _memory, _swap, _disk, _network, _service)]
    found.append(_data_wait(s, time, found[1:5]))
    return Kernel({one.kind.name: one for one in found}, time.are_alone)


def combined(found: Iterable[Assessment], kernel: Kernel, kinds: Collection[str]) -> list[Assessment]:
    """Return assessments with those of the kernel where these are stronger, and the others of `kinds`."""
    result = [with_kernel_evidence(one, kernel) for one in found]
    names = {one.kind.name for one in result}
    return [*result, *(one for name, one in kernel.assessments.items() if name in kinds and name not in names)]


def with_kernel_evidence(found: Assessment, kernel: Kernel) -> Assessment:
    """Return an assessment with that of the kernel in its place, where this is stronger or nothing is reported."""
    other = kernel.assessments.get(found.kind.name)
    if other is None or not other.known.any():
        return found
    there = other.known & (kernel.are_alone | ~found.known | (other.log_odds > found.log_odds))
    keys = (*found.evidence, *(key for key in other.evidence if key not in found.evidence))
    unknown = np.full(len(there), np.nan)
    return replace(
        found,
        log_odds=np.where(there, other.log_odds, found.log_odds),
        sources=np.where(there, other.sources, found.sources),
        level=np.where(there, other.level, found.level),
        known=there | found.known,
        evidence={
            key: np.where(there, other.evidence.get(key, unknown), found.evidence.get(key, unknown)) for key in keys
        },
        words=lambda place: other.words(place) if there[place] else found.words(place),
        most=np.where(there, _most(other), _most(found)),
        uncalibrated=there,
    )


def _most(found: Assessment) -> Floats:
    return np.ones(len(found.subjects)) if found.most is None else found.most


def _cpu(s: Signals, time: MainTime) -> Assessment:
    """Waiting for a CPU while ready to run is the slow-down of computing itself, also under a CPU limit."""
    left = time.left_for(time.delay)
    return _weigh(
        CPU,
        s,
        time,
        process=_DELAYED(time.delay / left),
        host=_CPU_PRESSURE(s["cpu_some"] / left),
        level=time.delay,
        sentence="the training was ready to run, but waited for a CPU {:.0f} % of the time",
        evidence={"training_delay_ratio": time.delay, "cpu_pressure_ratio": s["cpu_some"]},
    )


def _memory(s: Signals, time: MainTime) -> Assessment:
    some, stalled = s["memory_some"], time.disk + time.memory
    left = time.left_for(stalled)
    return _weigh(
        MEMORY,
        s,
        time,
        process=_STALLED(stalled / left),
        host=_MEMORY_PRESSURE(some / left) + _NOT_SWAP(s["swap_in"]),
        level=np.fmax(known_or(0.0, some), np.where(some >= 0.02, stalled, 0.0)),
        sentence="the training waited for memory and its pages {:.0f} % of the time",
        evidence={"training_stalled_ratio": stalled, "memory_pressure_ratio": some},
    )


def _swap(s: Signals, time: MainTime) -> Assessment:
    stalled, swapped = time.disk + time.memory, s["swap_in"]
    return _weigh(
        SWAP,
        s,
        time,
        process=_STALLED(stalled / time.left_for(stalled)),
        host=_SWAPPED_IN(swapped),
        level=np.fmax(known_or(0.0, s["memory_some"]), np.where(swapped >= 1e6, stalled, 0.0)),
        sentence="the training waited for memory and its pages {:.0f} % of the time",
        evidence={"training_stalled_ratio": stalled, "swap_in_bytes_per_second": swapped},
    )


def _disk(s: Signals, time: MainTime) -> Assessment:
    left = time.left_for(time.disk + time.memory)
    return _weigh(
        DISK,
        s,
        time,
        process=_AT_DISK(time.disk / left),
        host=_IO_PRESSURE(s["io_some"] / left) + _DISK_BUSY(s["disk_busy"]) + _SHORT_OF_MEMORY(s["memory_some"]),
        level=time.disk,
        sentence="the training waited for files {:.0f} % of the time",
        evidence={
            "training_disk_ratio": time.disk,
            "io_pressure_ratio": s["io_some"],
            "disk_busy_ratio": s["disk_busy"],
        },
    )


def _network(s: Signals, time: MainTime) -> Assessment:
    """Waiting for answers that are about as late as a round trip to the other side takes, and for remote files."""
    answers = time.calls * time.way
    waiting = answers + time.remote
    way = np.where(time.remote > answers, 0.0, _THE_WAY(time.way))
    return _weigh(
        NETWORK,
        s,
        time,
        process=_CALLING(np.maximum(time.calls, time.remote) / time.left_for(time.calls + time.remote)),
        host=_FAR(np.fmax(s["latency"], s["least_trip"])) + way + _LOST(s["lost_segments"]),
        level=np.where(s["lost_segments"] > 0.01, time.calls + time.remote, waiting),
        sentence="the training waited for the network {:.0f} % of the time",
        evidence={"training_network_ratio": waiting, "latency_seconds": s["latency"], "lost_ratio": s["lost_segments"]},
    )


def _service(s: Signals, time: MainTime) -> Assessment:
    """Waiting for answers for longer than the way there and back takes."""
    waiting = time.calls * (1 - time.way)
    return _weigh(
        SERVICE,
        s,
        time,
        process=_CALLING(time.calls / time.left_for(time.calls)),
        host=_NOT_THE_WAY(time.way) + _CALLS(s["calls"]),
        level=waiting,
        sentence="calls to services took {:.0f} % of the training's time",
        most=np.where(time.is_way_unclear, MOST_IF_UNCLEAR, 1.0),
        evidence={"training_service_ratio": waiting, "latency_seconds": s["latency"], "calls_per_second": s["calls"]},
    )


def _data_wait(s: Signals, time: MainTime, others: list[Assessment]) -> Assessment:
    """Waiting for loaders and other threads that no resource of the host explains. Gaps of a GPU are better known.

    Threads also wait for each other by design. If steps are reported, it counts only as far as they became slower.
    """
    lost = np.fmax(s.slowdown, s["data_share"])
    waiting = np.fmin(time.others, np.where(time.are_alone, np.nan, known_or(0.0, lost)))
    explained = np.max([other.probability * other.known for other in others], axis=0)
    found = _weigh(
        DATA_WAIT,
        s,
        time,
        process=_IDLE(waiting / time.left_for(np.zeros_like(waiting))),
        host=_SPARE_CPU(s["cpu_busy"]) + _EXPLAINED * explained,
        level=waiting,
        sentence="the main thread of the training waited for other threads or processes {:.0f} % of the time",
        evidence={"training_idle_ratio": time.others, "cpu_busy_ratio": s["cpu_busy"]},
    )
    return replace(found, known=found.known & np.isnan(s["gpu_busy"]))


def _weigh(
    kind: EventKind, s: Signals, time: MainTime, *, process: Floats, host: Floats, level: Floats, sentence: str,
    evidence: Mapping[str, Floats], most: Floats | None = None,
) -> Assessment:  # fmt: skip
    """Weigh the evidence. The first number of `evidence` is that of the sentence."""
    share = next(iter(evidence.values()))
    return weigh(
        kind,
        s.hosts,
        {
            EvidenceSource.PROCESSES: process,
            EvidenceSource.HOST: host,
            EvidenceSource.GPU: np.where(process > 0, _STARVED_GPU(1 - s["gpu_busy"]), 0.0),
        },
        prior=-1.0,
        level=level,
        known=time.are_known,
        evidence=evidence,
        words=partial(_words, sentence, share),
        most=most,
    )


def _words(sentence: str, share: Floats, place: int) -> str:
    return clauses((sentence, 100 * float(share[place])))
