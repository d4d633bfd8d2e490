"""GPU time lost, by cause, host and run: each second of a GPU counts once, to the innermost cause that stands."""

from collections.abc import Callable, Iterable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BOTTLENECKS
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.unknown import known_or
from flyball_collector.diagnosis.view import View
from flyball_collector.diagnosis.waste_totals import HostTotals, RunTotals
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class Loss(IntEnum):
    """How much of a GPU's second a cause takes."""

    WHOLE = 0  # all of it: a GPU that waits in a collective looks busy
    IDLE = 1  # what it idles
    SLOWED = 2  # what its clock is below its usual one, while it works
    CAPPED = 3  # what the condition says, while it works
    TOLD = 4  # what the condition says


_WHOLE = ("run_hang", "slow_start")
_SLOWED = ("power_brake", "thermal_slowdown")
_CAPPED = "power_capped"
_TOLD = ("straggler", "fail_slow", "run_slow")
_OF_ONE_RANK = "fail_slow"  # where the others wait for it, it is a straggler
_WORKS = ("bottleneck_gpu_compute", "bottleneck_gpu_memory")  # what a training should be bound by
_LAST = (
    "bottleneck_communication",
    "bottleneck_small_batch",
    "bottleneck_idle_gpu",
)  # what is left when nothing else is

CAUSES: tuple[tuple[str, Loss], ...] = (
    *((name, Loss.WHOLE) for name in _WHOLE),
    ("gpu_xid", Loss.IDLE),
    *((name, Loss.SLOWED) for name in _SLOWED),
    (_CAPPED, Loss.CAPPED),
    *((kind.name, Loss.IDLE) for kind in BOTTLENECKS if kind.name not in (*_WORKS, *_LAST)),
    *((name, Loss.TOLD) for name in _TOLD),
    *((name, Loss.IDLE) for name in _LAST),
)
"""The first of those that stand for a GPU, its host or its run has its seconds."""

NAMES: tuple[str, ...] = tuple(name.removeprefix("bottleneck_") for name, _ in CAUSES)
_LOSSES = np.array([*(loss for _, loss in CAUSES), -1], dtype=np.int8)  # the last: no cause
_CODES = {name: code for code, (name, _) in enumerate(CAUSES)}
_NONE = len(CAUSES)

HELD_BYTES = 512 * 2**20
"""A GPU with more than this in use is held by somebody: a CUDA context alone takes 0.3 to 0.5 GB."""

LONGEST_SECONDS = 5.0
"""What passes between two looks counts at most so much: nobody saw the rest."""

LOOK_AGAIN_SECONDS = 60.0
_BUSY = 0.5  # a clock is a GPU's usual one when it works at least this much
_FOLLOW = 0.02  # … and follows it within a minute


class WasteLedger:
    """Adds up second by second, by the view's time."""

    def __init__(self) -> None:
        self.hosts = HostTotals(len(CAUSES))
        self.runs = RunTotals(len(CAUSES))
        self._gpus = Kept(cause=_NONE, told=np.nan, usual=np.nan, run=-1, rank=-1)
        self._tenancies: list[pb.Tenancy | None] = []
        self._last = np.nan
        self._assigned = -np.inf
        self._stale = True

    def hear(self, events: Iterable[Event]) -> None:
        """Conditions have changed: their seconds go elsewhere from now on."""
        self._stale = self._stale or any(event.kind.name in _CODES for event in events)

    def account(self, view: View, active: Callable[[], Iterable[Event]]) -> None:
        """One second's losses; call it after the conditions have taken the view's claims."""
        elapsed = min(max(view.now - self._last, 0.0), LONGEST_SECONDS) if np.isfinite(self._last) else 0.0
        self._last = view.now
        self._align(view)
        if self._stale or view.now - self._assigned >= LOOK_AGAIN_SECONDS:
            self._assign(active(), view)
        seconds = self._lost(view) * elapsed
        places = np.flatnonzero(seconds > 0)
        causes = self._gpus["cause"][places]
        self.hosts.add(view.gpus.hosts[places], causes, seconds[places])
        self.runs.add(self._gpus["run"][places], causes, seconds[places], view.now)

    def _align(self, view: View) -> None:
        """Follow hosts, GPUs, and who holds them."""
        self.hosts.align(view.hosts, view.now)
        tenancies = [state.tenancy for state in view.states]
        if self._gpus.align(view.gpus) is not None or len(tenancies) != len(self._tenancies):
            self._stale = True
            changed: Iterable[int] = range(len(tenancies))
        else:
            changed = [n for n, (old, new) in enumerate(zip(self._tenancies, tenancies, strict=True)) if old is not new]
        self._tenancies = tenancies
        for host in changed:
            self._stale = True
            self._hold(view, host, tenancies[host])

    def _hold(self, view: View, host: int, tenancy: pb.Tenancy | None) -> None:
        """Which run holds each GPU of a host."""
        first, last = np.searchsorted(view.gpus.hosts, (host, host + 1)).tolist()
        self._gpus["run"][first:last] = -1
        self._gpus["rank"][first:last] = -1
        for member in tenancy.members if tenancy is not None else ():
            for gpu in member.gpus if member.run else ():
                place = view.gpus.places.get(Subject(view.hosts.names[host].host, gpu))
                if place is not None:
                    self._gpus["run"][place] = self.runs.code(member.run, view.now)
                    self._gpus["rank"][place] = member.rank

    def _assign(self, active: Iterable[Event], view: View) -> None:
        """Each GPU's cause."""
        self._stale, self._assigned = False, view.now
        self.runs.touch(self._gpus["run"], view.now)
        self.runs.forget(view.now)
        cause, told = self._gpus["cause"], self._gpus["told"]
        cause[:], told[:] = _NONE, np.nan
        for event in active:
            code = _CODES.get(event.kind.name)
            if code is not None:
                touched = self._touched(event, view)
                places = touched[cause[touched] > code]
                cause[places], told[places] = code, _told(event)

    def _touched(self, event: Event, view: View) -> Places:
        """GPUs that a condition is about; a straggler's is the whole run's, for the others wait for it."""
        subject = event.subject
        if subject.run:
            of_run = self._gpus["run"] == self.runs.known(subject.run)
            if event.kind.name == _OF_ONE_RANK and subject.rank is not None:
                of_run &= self._gpus["rank"] == subject.rank
            return np.flatnonzero(of_run)
        if subject.gpu:
            place = view.gpus.places.get(Subject(subject.host, subject.gpu))
            return np.array([] if place is None else [place], dtype=np.int64)
        host = view.hosts.places.get(Subject(subject.host))
        return np.arange(0) if host is None else np.arange(*np.searchsorted(view.gpus.hosts, (host, host + 1)))

    def _lost(self, view: View) -> Floats:
        """The share of this second that each GPU lost; what is unknown is not lost."""
        busy, clock = view.gpu("gpu_utilization_ratio"), view.gpu("gpu_sm_clock_hertz")
        loss = _LOSSES[self._gpus["cause"]]
        usual = self._gpus["usual"]
        works = (busy >= _BUSY) & np.isfinite(clock) & (loss != Loss.SLOWED) & (loss != Loss.CAPPED)
        usual[works] += np.where(np.isnan(usual[works]), 0, _FOLLOW * (clock[works] - usual[works]))
        usual[works & np.isnan(usual)] = clock[works & np.isnan(usual)]
        held = (self._gpus["run"] >= 0) | (view.gpu("gpu_memory_used_bytes") >= HELD_BYTES)
        told = self._gpus["told"]
        choices = [np.where(np.isnan(busy), 0.0, 1.0), 1 - busy, busy * (1 - clock / usual), busy * told, told]
        share = np.select([loss == kind for kind in Loss], choices, 0.0)
        return np.where(held & view.alive[view.gpus.hosts], np.clip(known_or(0.0, share), 0.0, 1.0), 0.0)


def _told(event: Event) -> float:
    """The share of the time that a condition says is lost; unknown where it does not."""
    said = event.evidence
    if event.kind.name == _CAPPED:
        return np.nan if event.level is None else event.level  # of its peers' clock
    lost = [1 - 1 / said["step_ratio"]] if said.get("step_ratio", 0.0) >= 1 else []
    if {"own_seconds", "peers_own_seconds", "step_seconds"} <= said.keys() and said["step_seconds"] > 0:
        lost.append((said["own_seconds"] - said["peers_own_seconds"]) / said["step_seconds"])
    return max(lost, default=np.nan)
