"""Sums of lost GPU time: along the hosts of the fleet and those that left it lately, and of runs."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.subject import Subject, Subjects

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

FORGET_SECONDS = 86_400.0
"""A host or a run that is gone this long begins anew."""

MAX_RUNS = 4096


class HostTotals:
    """Seconds along hosts × causes. A host that leaves and comes back goes on where it was."""

    def __init__(self, causes: int) -> None:
        self._causes = causes
        self._kept = Kept(lost=((causes,), 0.0))
        self._gone: dict[str, tuple[float, Floats]] = {}  # since when, and what
        self.names: tuple[str, ...] = ()  # of the hosts

    @property
    def subjects(self) -> Subjects:
        """Along which `lost` lies."""
        return self._kept.subjects

    @property
    def lost(self) -> Floats:
        """Host × cause."""
        values: Floats = self._kept["lost"]
        return values

    def align(self, hosts: Subjects, now: float) -> None:
        """Follow the fleet."""
        before, lost = self.subjects, self.lost
        if self._kept.align(hosts) is None:
            return
        self.names = tuple(subject.host for subject in hosts.names)
        for place, subject in enumerate(before.names):
            if subject not in hosts.places and lost[place].any():
                self._gone[subject.host] = (now, lost[place].copy())
        for place, subject in enumerate(hosts.names):
            if subject.host in self._gone:
                self.lost[place] += self._gone.pop(subject.host)[1]
        self._gone = {host: entry for host, entry in self._gone.items() if now - entry[0] <= FORGET_SECONDS}

    def add(self, hosts: Places, causes: Places, seconds: Floats) -> None:
        """Add amounts; a pair may come again."""
        if len(seconds):
            flat = np.bincount(hosts * self._causes + causes, seconds, self.lost.size)
            self.lost[...] += flat.reshape(self.lost.shape)

    def put(self, host: str, seconds: Floats, now: float) -> None:
        """Add what was counted before, whether the host is there by now or not."""
        place = self.subjects.places.get(Subject(host))
        if place is not None:
            self.lost[place] += seconds
        else:
            self._gone[host] = (now, seconds + self._gone.get(host, (now, np.zeros(self._causes)))[1])

    def forget(self, host: str) -> None:
        """Nothing was ever lost there."""
        self._gone.pop(host, None)
        place = self.subjects.places.get(Subject(host))
        if place is not None:
            self.lost[place] = 0.0

    def all(self) -> Mapping[str, Floats]:
        """Hosts that have lost anything, those that left included."""
        here = {self.subjects.names[place].host: self.lost[place] for place in np.flatnonzero(self.lost.any(axis=1))}
        return {**{host: lost for host, (_, lost) in self._gone.items()}, **here}


class RunTotals:
    """Seconds along runs × causes; a run has a code while it is known."""

    def __init__(self, causes: int) -> None:
        self._lost = np.zeros((0, causes))
        self._seen = np.zeros(0)  # when it last held a GPU or lost anything
        self._codes: dict[str, int] = {}
        self._free: list[int] = []

    def code(self, run: str, now: float) -> int:
        """A run's place, new if it must be; −1: there are too many."""
        code = self._codes.get(run)
        if code is None:
            code = self._take(now)
            if code < 0:
                return code
            self._codes[run] = code
            self._lost[code] = 0.0
        self._seen[code] = now
        return code

    def known(self, run: str) -> int:
        """A run's place; −2, which nothing has, where there is none."""
        return self._codes.get(run, -2)

    def add(self, runs: Places, causes: Places, seconds: Floats, now: float) -> None:
        """Add amounts; those of no run have the place −1."""
        of_run = runs >= 0
        if of_run.any():
            np.add.at(self._lost, (runs[of_run], causes[of_run]), seconds[of_run])
            self._seen[runs[of_run]] = now

    def put(self, run: str, seconds: Floats, now: float) -> None:
        """Add what was counted before."""
        code = self.code(run, now)
        if code >= 0:
            self._lost[code] += seconds

    def touch(self, runs: Places, now: float) -> None:
        """They are still there."""
        self._seen[np.unique(runs[runs >= 0])] = now

    def forget(self, now: float) -> list[str]:
        """Let go of runs that have been gone for long."""
        old = [run for run, code in self._codes.items() if now - self._seen[code] > FORGET_SECONDS]
        self._free += [self._codes.pop(run) for run in old]
        return old

    def all(self) -> Mapping[str, Floats]:
        """Runs that have lost anything."""
        return {run: self._lost[code] for run, code in self._codes.items() if self._lost[code].any()}

    def _take(self, now: float) -> int:
        if not self._free and len(self._codes) >= MAX_RUNS:
            self.forget(now)
        if self._free:
            return self._free.pop()
        if len(self._codes) >= MAX_RUNS:
            return -1
        grown = max(16, 2 * len(self._seen))
        self._free = list(range(grown - 1, len(self._seen), -1))
        first = len(self._seen)
        self._lost = np.concatenate([self._lost, np.zeros((grown - first, self._lost.shape[1]))])
        self._seen = np.concatenate([self._seen, np.zeros(grown - first)])
        return first


def by_name(names: Sequence[str], seconds: Floats) -> dict[str, float]:
    """Only what is more than nothing."""
    return {name: round(float(value), 3) for name, value in zip(names, seconds, strict=True) if value > 0}
