"""Adds up lost GPU time by cause, host and run. Each second of a GPU counts once, for its innermost active cause."""

from collections.abc import Callable, Iterable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import BOTTLENECKS
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View
from flyball_collector.diagnosis.waste_totals import HostTotals, RunTotals
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class Loss(IntEnum):
    """The method that determines which share of a GPU's second a cause takes."""

    WHOLE = 0  # the whole second: a GPU that waits in a collective looks busy
    IDLE = 1  # the time that the GPU idles
    SLOWED = 2  # the reduction of its clock against its usual clock, while it works
    CAPPED = 3  # the share that the condition reports, while it works
    REPORTED = 4  # the share that the condition reports


_WHOLE = ("run_hang", "slow_start")
_SLOWED = ("power_brake", "thermal_slowdown")
_CAPPED = "power_capped"
_REPORTED = ("straggler", "fail_slow", "run_slow")
_OF_ONE_RANK = "fail_slow"  # if the other ranks wait for it, the condition is `straggler`
_WORKS = ("bottleneck_gpu_compute", "bottleneck_gpu_memory")  # the normal limits of a training
_LAST = (
    "bottleneck_communication",
    "bottleneck_small_batch",
    "bottleneck_idle_gpu",
)  # count only if no other cause is active

CAUSES: tuple[tuple[str, Loss], ...] = (
    *((name, Loss.WHOLE) for name in _WHOLE),
    ("gpu_xid", Loss.IDLE),
    *((name, Loss.SLOWED) for name in _SLOWED),
    (_CAPPED, Loss.CAPPED),
    *((kind.name, Loss.IDLE) for kind in BOTTLENECKS if kind.name not in (*_WORKS, *_LAST)),
    *((name, Loss.REPORTED) for name in _REPORTED),
    *((name, Loss.IDLE) for name in _LAST),
)
"""Of the causes that are active for a GPU, its host or its run, the first one gets the seconds."""

NAMES: tuple[str, ...] = tuple(name.removeprefix("bottleneck_") for name, _ in CAUSES)
_LOSSES = np.array([*(loss for _, loss in CAUSES), -1], dtype=np.int8)  # the last: no cause
_CODES = {name: code for code, (name, _) in enumerate(CAUSES)}
_NONE = len(CAUSES)

HELD_BYTES = 512 * 2**20
"""A GPU with more memory in use than this counts as held: a CUDA context alone takes 0.3 to 0.5 GB."""

LONGEST_SECONDS = 5.0
"""The most that the time between two updates counts: nothing is known about the rest."""

REASSIGN_SECONDS = 60.0
_BUSY = 0.5  # the clock is a GPU's usual one if it works at least this much
_FOLLOW = 0.02  # the usual clock follows the current one within a minute


class WasteLedger:
    """Adds up lost time second by second, by the view's time."""

    def __init__(self) -> None:
        self.hosts = HostTotals(len(CAUSES))
        self.runs = RunTotals(len(CAUSES))
        self._gpus = SubjectArrays(cause=_NONE, reported=np.nan, usual=np.nan, run=-1, rank=-1)
        self._tenancies: list[pb.Tenancy | None] = []
        self._last = np.nan
        self._assigned = -np.inf
        self._stale = True

    def on_events(self, events: Iterable[Event]) -> None:
        """Note that conditions have changed, so that causes are assigned again."""
        self._stale = self._stale or any(event.kind.name in _CODES for event in events)

    def add_second(self, view: View, active: Callable[[], Iterable[Event]]) -> None:
        """Add the losses of one second. Call it after the conditions have processed the claims of this view."""
        elapsed = min(max(view.now - self._last, 0.0), LONGEST_SECONDS) if np.isfinite(self._last) else 0.0
        self._last = view.now
        self._align(view)
        if self._stale or view.now - self._assigned >= REASSIGN_SECONDS:
            self._assign(active(), view)
        seconds = self._lost(view) * elapsed
        places = np.flatnonzero(seconds > 0)
        causes = self._gpus["cause"][places]
        self.hosts.add(view.gpus.hosts[places], causes, seconds[places])
        self.runs.add(self._gpus["run"][places], causes, seconds[places], view.now)

    def _align(self, view: View) -> None:
        """Follow changes of hosts, GPUs and their holders."""
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
        """Note which run holds each GPU of a host."""
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
        """Assign a cause to each GPU."""
        self._stale, self._assigned = False, view.now
        self.runs.touch(self._gpus["run"], view.now)
        self.runs.forget(view.now)
        cause, reported = self._gpus["cause"], self._gpus["reported"]
        cause[:], reported[:] = _NONE, np.nan
        for event in active:
            code = _CODES.get(event.kind.name)
            if code is not None:
                affected = self._affected(event, view)
                places = affected[cause[affected] > code]
                cause[places], reported[places] = code, _reported_share(event)

    def _affected(self, event: Event, view: View) -> Places:
        """Return the GPUs that a condition affects.

        A straggler affects its whole run, because all ranks wait for it.
        """
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
        """Return the share of this second that each GPU lost. Unknown values count as no loss."""
        busy, clock = view.gpu("gpu_utilization_ratio"), view.gpu("gpu_sm_clock_hertz")
        loss = _LOSSES[self._gpus["cause"]]
        usual = self._gpus["usual"]
        works = (busy >= _BUSY) & np.isfinite(clock) & (loss != Loss.SLOWED) & (loss != Loss.CAPPED)
        usual[works] += np.where(np.isnan(usual[works]), 0, _FOLLOW * (clock[works] - usual[works]))
        usual[works & np.isnan(usual)] = clock[works & np.isnan(usual)]
        held = (self._gpus["run"] >= 0) | (view.gpu("gpu_memory_used_bytes") >= HELD_BYTES)
        reported = self._gpus["reported"]
        choices = [np.where(np.isnan(busy), 0.0, 1.0), 1 - busy, busy * (1 - clock / usual), busy * reported, reported]
        share = np.select([loss == kind for kind in Loss], choices, 0.0)
        return np.where(held & view.alive[view.gpus.hosts], np.clip(known_or(0.0, share), 0.0, 1.0), 0.0)


def _reported_share(event: Event) -> float:
    """Return the share of time that a condition reports as lost, or unknown."""
    numbers = event.evidence
    if event.kind.name == _CAPPED:
        return np.nan if event.level is None else event.level  # relative to its peers' clock
    lost = [1 - 1 / numbers["step_ratio"]] if numbers.get("step_ratio", 0.0) >= 1 else []
    if {"own_seconds", "peers_own_seconds", "step_seconds"} <= numbers.keys() and numbers["step_seconds"] > 0:
        lost.append((numbers["own_seconds"] - numbers["peers_own_seconds"]) / numbers["step_seconds"])
    return max(lost, default=np.nan)
