"""Measures how long checkpoints of each run take and how often they are written, from the sections of rank 0."""

from collections import Counter, deque
from collections.abc import Mapping
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.scores.sections import part_of
from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.diagnosis.view import View
from flyball_proto.v1 import telemetry_pb2 as pb

_FEWEST = 4  # checkpoints, which make three intervals
_MOST = 8
_TOGETHER_SECONDS = 5.0  # one checkpoint may be spread over several reports
_REGULAR = 1.5  # most for longest ÷ median and median ÷ shortest interval; larger if reports were missed
_MOST_RUNS = 512  # each run with a new report takes microseconds


Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class CheckpointHabit(NamedTuple):
    """The cost and interval of a run's checkpoints."""

    cost_seconds: float  # time that training stops
    interval_seconds: float


class CheckpointWatch:
    """Call `update` each second, because only the newest report of a host is available.

    If there are very many runs, those with the most ranks are measured: a checkpoint stops all of them.
    """

    def __init__(self) -> None:
        self._seen: dict[str, deque[list[float]]] = {}  # by run: [when, seconds] of its latest checkpoints
        self._habits: dict[str, CheckpointHabit] = {}
        self._last: dict[str, pb.Record] = {}  # by run: the last record read
        self._first: list[tuple[str, int]] = []  # run and host of every rank 0
        self._rows: Places = np.empty(0, dtype=np.int64)  # their rows in the table of ranks
        self._received: Floats = np.empty(0)  # time of their newest report
        self._hosts: Subjects | None = None
        self._generation = -1

    def update(self, view: View) -> None:
        """Take the new reports of rank 0 of every run."""
        if view.ranks.generation != self._generation or view.hosts is not self._hosts:
            self._find(view)
        received, states = view.ranks.column("received")[self._rows], view.states
        for number in np.flatnonzero(received != self._received).tolist():
            run, place = self._first[number]
            record = states[place].extras
            if record is not None and record is not self._last.get(run):
                self._last[run] = record
                self._take(run, record, view.now)
        self._received = received

    def habits(self) -> Mapping[str, CheckpointHabit]:
        """Return the habits of runs that write checkpoints regularly."""
        return self._habits

    def newest(self) -> Mapping[str, float]:
        """Return when the last checkpoint of each run was reported, in Unix time."""
        return {run: seen[-1][0] for run, seen in self._seen.items() if seen}

    def _find(self, view: View) -> None:
        """Find rank 0 of every run."""
        self._generation, self._hosts = view.ranks.generation, view.hosts
        firsts = [(row, key) for row, key in enumerate(view.ranks.keys) if key.rank == 0]
        runs = {key.run for _, key in firsts}
        if len(firsts) > _MOST_RUNS:
            sizes = Counter(key.run for key in view.ranks.keys)
            firsts = sorted(firsts, key=lambda one: -sizes[one[1].run])[:_MOST_RUNS]
        places = [view.hosts.places.get(Subject(key.host)) for _, key in firsts]
        found = [(row, key.run, at) for (row, key), at in zip(firsts, places, strict=True) if at is not None]
        self._first = [(run, at) for _, run, at in found]
        self._rows = np.array([row for row, _, _ in found], dtype=np.int64)
        self._received = np.full(len(found), np.nan)  # read all of them
        self._seen = {run: seen for run, seen in self._seen.items() if run in runs}
        self._habits = {run: habit for run, habit in self._habits.items() if run in runs}
        self._last = {run: record for run, record in self._last.items() if run in runs}

    def _take(self, run: str, record: pb.Record, now: float) -> None:
        seconds = 0.0
        for report in record.steps:
            if report.rank == 0 and report.run == run:
                sections = report.section_seconds
                seconds += sum([sections[name] for name in sections if part_of(name) == "checkpoint"])
        if not seconds > 0:
            return
        seen = self._seen.setdefault(run, deque(maxlen=_MOST))
        if seen and now - seen[-1][0] <= _TOGETHER_SECONDS:
            seen[-1] = [now, seen[-1][1] + seconds]
        else:
            seen.append([now, seconds])
        habit = _habit(seen)
        if habit is not None:
            self._habits[run] = habit
        else:
            self._habits.pop(run, None)


def _habit(seen: deque[list[float]]) -> CheckpointHabit | None:
    if len(seen) < _FEWEST:
        return None
    times = [when for when, _ in seen]
    gaps = [after - before for before, after in pairwise(times)]
    usual = median(gaps)
    if max(gaps) > _REGULAR * usual or usual > _REGULAR * min(gaps):
        return None
    return CheckpointHabit(median(spent for _, spent in seen), usual)
