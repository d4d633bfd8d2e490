"""Measures how much counters grew recently. Growth is kept in buckets, so that hours need only a few numbers."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects, subjects
from flyball_collector.diagnosis.unknown_values import known_or

Floats = NDArray[np.float64]


class Growth:
    """The growth of counters over `seconds`. A decrease means that the counter restarted.

    Growth before the first known value does not count. Growth while the counter is unknown is added once it is known
    again. The caller provides the time.
    """

    def __init__(self, seconds: float, buckets: int = 10) -> None:
        self._seconds = seconds
        self._width = seconds / buckets
        self._count = buckets
        self._subjects: Subjects = subjects(())
        self._last: Floats = np.empty(0)
        self._since: Floats = np.empty(0)  # when the counter was first known
        self._grown: Floats = np.zeros((buckets, 0))
        self._grew = [False] * buckets  # whether there is any growth in a bucket
        self._bucket = 0  # number of the newest, counted from the epoch

    def add(self, of: Subjects, counts: Floats, now: float) -> Floats:
        """Take the values of the counters, and return the growth of each over the time."""
        if of is not self._subjects:
            self._align(of)
        self._roll(int(now // self._width))
        known = ~np.isnan(counts)
        grown = counts - self._last
        more = grown > 0  # NaN > 0 is False
        if more.any():
            newest = self._bucket % self._count
            self._grown[newest] += np.where(more, grown, 0.0)
            self._grew[newest] = True
        np.copyto(self._last, counts, where=known)
        np.copyto(self._since, now, where=known & np.isnan(self._since))
        return self.total()

    def total(self) -> Floats:
        """Return the growth over the time, as of the last `add`."""
        if not any(self._grew):  # the usual case for counters of faults
            return np.zeros(len(self._last))
        total: Floats = self._grown.sum(axis=0)
        return total

    def watched(self, now: float) -> Floats:
        """Return for how long each counter has been known, at most the whole time; 0 means never."""
        return known_or(0.0, np.minimum(now - self._since, self._seconds))

    def _roll(self, bucket: int) -> None:
        passed = min(max(0, bucket - self._bucket), self._count)
        for number in range(bucket - passed + 1, bucket + 1):
            self._grown[number % self._count] = 0.0
            self._grew[number % self._count] = False
        self._bucket = max(self._bucket, bucket)

    def _align(self, of: Subjects) -> None:
        ours, theirs = of.shared_with(self._subjects)
        last, since = np.full(len(of), np.nan), np.full(len(of), np.nan)
        grown = np.zeros((self._count, len(of)))
        last[ours], since[ours], grown[:, ours] = self._last[theirs], self._since[theirs], self._grown[:, theirs]
        self._last, self._since, self._grown, self._subjects = last, since, grown, of
