"""Totals of lost GPU time by host and by run, including hosts that left recently."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

FORGET_SECONDS = 86_400.0
"""The totals of a host or run are forgotten after this time without it."""

MAX_RUNS = 4096


class HostTotals:
    """Seconds by host and cause. A host that leaves and comes back continues with its totals."""

    def __init__(self, causes: int) -> None:
        self._causes = causes
        self._kept = SubjectArrays(lost=((causes,), 0.0))
        self._gone: dict[str, tuple[float, Floats]] = {}  # host → (when it left, its totals)
        self.names: tuple[str, ...] = ()  # names of the hosts

    @property
    def subjects(self) -> Subjects:
        """The hosts along which `lost` is stored."""
        return self._kept.subjects

    @property
    def lost(self) -> Floats:
        """The seconds: host × cause."""
        values: Floats = self._kept["lost"]
        return values

    def align(self, hosts: Subjects, now: float) -> None:
        """Follow changes of the fleet."""
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
        """Add amounts. A pair of host and cause may occur several times."""
        if len(seconds):
            flat = np.bincount(hosts * self._causes + causes, seconds, self.lost.size)
            self.lost[...] += flat.reshape(self.lost.shape)

    def put(self, host: str, seconds: Floats, now: float) -> None:
        """Add totals from before a restart, whether or not the host is back."""
        place = self.subjects.places.get(Subject(host))
        if place is not None:
            self.lost[place] += seconds
        else:
            self._gone[host] = (now, seconds + self._gone.get(host, (now, np.zeros(self._causes)))[1])

    def forget(self, host: str) -> None:
        """Remove the totals of a host."""
        self._gone.pop(host, None)
        place = self.subjects.places.get(Subject(host))
        if place is not None:
            self.lost[place] = 0.0

    def all(self) -> Mapping[str, Floats]:
        """Return the totals of all hosts that lost time, including hosts that left."""
        here = {self.subjects.names[place].host: self.lost[place] for place in np.flatnonzero(self.lost.any(axis=1))}
        return {**{host: lost for host, (_, lost) in self._gone.items()}, **here}


class RunTotals:
    """Seconds by run and cause. A run has a row while it is known."""

    def __init__(self, causes: int) -> None:
        self._lost = np.zeros((0, causes))
        self._seen = np.zeros(0)  # when the run last held a GPU or lost time
        self._codes: dict[str, int] = {}
        self._free: list[int] = []

    def code(self, run: str, now: float) -> int:
        """Return the row of a run and add one if needed; −1 if there are too many runs."""
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
        """Return the row of a run; −2, which no GPU has, if the run is unknown."""
        return self._codes.get(run, -2)

    def add(self, runs: Places, causes: Places, seconds: Floats, now: float) -> None:
        """Add amounts. Those without a run have the row −1."""
        of_run = runs >= 0
        if of_run.any():
            np.add.at(self._lost, (runs[of_run], causes[of_run]), seconds[of_run])
            self._seen[runs[of_run]] = now

    def put(self, run: str, seconds: Floats, now: float) -> None:
        """Add totals from before a restart."""
        code = self.code(run, now)
        if code >= 0:
            self._lost[code] += seconds

    def touch(self, runs: Places, now: float) -> None:
        """Note that these runs still exist."""
        self._seen[np.unique(runs[runs >= 0])] = now

    def forget(self, now: float) -> list[str]:
        """Forget runs that ended long ago, and return their names."""
        old = [run for run, code in self._codes.items() if now - self._seen[code] > FORGET_SECONDS]
        self._free += [self._codes.pop(run) for run in old]
        return old

    def all(self) -> Mapping[str, Floats]:
        """Return the totals of all runs that lost time."""
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
    """Return the amounts above zero by name."""
    return {name: round(float(value), 3) for name, value in zip(names, seconds, strict=True) if value > 0}
