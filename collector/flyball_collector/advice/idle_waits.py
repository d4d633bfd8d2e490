"""How much of the time hosts waited for their input while their GPUs idled, at most: over the last minute."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from flyball_collector.advice.rank_facts import REPORTS, Membership, shares
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

LOOKS = 6

HOSTS_A_SLICE = 512
"""Some milliseconds where each has eight ranks."""


class IdleWaits:
    """Look every ten seconds, at the whole fleet at once."""

    def __init__(self) -> None:
        self._kept = Kept(seen=((LOOKS,), float("nan")))
        self._looks = 0

    def look(self, view: View, members: Callable[[], Membership], matters: NDArray[np.bool_]) -> Iterator[None]:
        """Take what is so now, in slices. What was before counts where it `matters`, along hosts: where something
        stands. Ranks may come and go between two slices, hence the `members` are asked for in each."""
        self._kept.align(view.hosts)
        seen = self._kept["seen"]
        seen[~matters] = np.nan
        newest = self._looks % LOOKS
        self._looks += 1
        idle = np.maximum(0.0, 1.0 - mean_by_host(view, view.gpu("gpu_utilization_ratio", 10)))
        for first in range(0, len(view.hosts), HOSTS_A_SLICE):
            some = slice(first, first + HOSTS_A_SLICE)
            seen[some, newest] = np.minimum(_waits(view, members(), first), idle[some])
            yield

    def shares(self, view: View) -> Floats:
        """The means along hosts; unknown where input is not waited for, or there is no GPU."""
        self._kept.align(view.hosts)
        seen = self._kept["seen"]
        known = np.count_nonzero(~np.isnan(seen), axis=1)
        mean = np.full(len(seen), np.nan)
        np.divide(np.nansum(seen, axis=1), known, out=mean, where=known > 0)
        return mean


def _waits(view: View, members: Membership, first: int) -> Floats:
    """Of a slice of the hosts: the share of waiting in their latest steps."""
    count = min(HOSTS_A_SLICE, len(view.hosts) - first)
    hosts = members.hosts(view.hosts) - first
    places = np.flatnonzero((hosts >= 0) & (hosts < count))
    part, whole = (view.ranks.ring(name, REPORTS, places) for name in ("data_wait_seconds", "step_seconds"))
    return shares(part, whole, hosts[places], count)


def mean_by_host(view: View, values: Floats) -> Floats:
    """Means along hosts of values along GPUs; unknown where nothing is known."""
    known = ~np.isnan(values)
    hosts = view.gpus.hosts[known]
    counts = np.bincount(hosts, minlength=len(view.hosts))
    mean = np.full(len(view.hosts), np.nan)
    np.divide(np.bincount(hosts, values[known], minlength=len(view.hosts)), counts, out=mean, where=counts > 0)
    return mean
