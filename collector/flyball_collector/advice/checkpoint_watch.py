"""What a checkpoint of each run costs and how often one is written, from the sections that rank 0 reports."""

from collections import deque
from collections.abc import Mapping
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from flyball_collector.diagnosis.scores.sections import part_of
from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.diagnosis.view import View
from flyball_proto.v1 import telemetry_pb2 as pb

_FEWEST = 4  # checkpoints: three intervals
_MOST = 8
_TOGETHER_SECONDS = 5.0  # a checkpoint may be spread over reports that follow each other
_REGULAR = 1.5  # the longest interval against the median, and it against the shortest: not where reports were missed


class Habit(NamedTuple):
    """How a run saves."""

    cost_seconds: float  # that training stands
    interval_seconds: float


class CheckpointWatch:
    """Look each second: only the newest report of a host is at hand."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[list[float]]] = {}  # by run: [when, seconds] of its latest checkpoints
        self._last: dict[str, pb.Record] = {}  # by run: what was looked at
        self._places: list[tuple[str, int]] = []  # run and host of every rank 0
        self._hosts: Subjects | None = None
        self._generation = -1

    def look(self, view: View) -> None:
        """Take what rank 0 of every run says now."""
        if view.ranks.generation != self._generation or view.hosts is not self._hosts:
            self._find(view)
        for run, place in self._places:
            told = view.states[place].extras
            if told is not None and told is not self._last.get(run):
                self._last[run] = told
                self._take(run, told, view.now)

    def _find(self, view: View) -> None:
        """Where rank 0 of every run is."""
        self._generation, self._hosts = view.ranks.generation, view.hosts
        first = [(key.run, view.hosts.places.get(Subject(key.host))) for key in view.ranks.keys if key.rank == 0]
        self._places = [(run, place) for run, place in first if place is not None]
        runs = {run for run, _ in first}
        self._seen = {run: seen for run, seen in self._seen.items() if run in runs}
        self._last = {run: told for run, told in self._last.items() if run in runs}

    def habits(self) -> Mapping[str, Habit]:
        """Of the runs that were seen to save regularly."""
        return {run: habit for run, seen in self._seen.items() if (habit := _habit(seen)) is not None}

    def _take(self, run: str, told: pb.Record, now: float) -> None:
        seconds = sum(
            spent
            for report in told.steps
            if report.run == run and report.rank == 0 and report.section_seconds
            for name, spent in report.section_seconds.items()
            if part_of(name) == "checkpoint"
        )
        if not seconds > 0:
            return
        seen = self._seen.setdefault(run, deque(maxlen=_MOST))
        if seen and now - seen[-1][0] <= _TOGETHER_SECONDS:
            seen[-1] = [now, seen[-1][1] + seconds]
        else:
            seen.append([now, seconds])


def _habit(seen: deque[list[float]]) -> Habit | None:
    if len(seen) < _FEWEST:
        return None
    times = [when for when, _ in seen]
    gaps = [after - before for before, after in pairwise(times)]
    usual = median(gaps)
    if max(gaps) > _REGULAR * usual or usual > _REGULAR * min(gaps):
        return None
    return Habit(median(spent for _, spent in seen), usual)
