"""Measures for how much of the last minute hosts waited for input while their GPUs were idle (an upper bound)."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from flyball_collector.advice.rank_facts import REPORTS, Membership, shares
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

MEASUREMENTS = 6

HOSTS_PER_SLICE = 512
"""Takes a few milliseconds if each host has eight ranks."""


class IdleWaits:
    """Call `update` every ten seconds. It measures the whole fleet at once."""

    def __init__(self) -> None:
        self._kept = SubjectArrays(seen=((MEASUREMENTS,), float("nan")))
        self._measurements = 0

    def update(self, view: View, members: Callable[[], Membership], matters: NDArray[np.bool_]) -> Iterator[None]:
        """Measure in slices. Earlier values count only where it `matters` (along hosts): where conditions are active.

        Ranks may come and go between two slices, so `members` is called in each.
        """
        self._kept.align(view.hosts)
        seen = self._kept["seen"]
        seen[~matters] = np.nan
        newest = self._measurements % MEASUREMENTS
        self._measurements += 1
        idle = np.maximum(0.0, 1.0 - mean_by_host(view, view.gpu("gpu_utilization_ratio", 10)))
        for first in range(0, len(view.hosts), HOSTS_PER_SLICE):
            some = slice(first, first + HOSTS_PER_SLICE)
            seen[some, newest] = np.minimum(_waits(view, members(), first), idle[some])
            yield

    def shares(self, view: View) -> Floats:
        """Return the means along hosts; unknown for hosts that do not wait for input or have no GPU."""
        self._kept.align(view.hosts)
        seen = self._kept["seen"]
        known = np.count_nonzero(~np.isnan(seen), axis=1)
        mean = np.full(len(seen), np.nan)
        np.divide(np.nansum(seen, axis=1), known, out=mean, where=known > 0)
        return mean


def _waits(view: View, members: Membership, first: int) -> Floats:
    """Return the share of waiting in the latest steps of the hosts in a slice."""
    count = min(HOSTS_PER_SLICE, len(view.hosts) - first)
    hosts = members.hosts(view.hosts) - first
    places = np.flatnonzero((hosts >= 0) & (hosts < count))
    part, whole = (view.ranks.ring(name, REPORTS, places) for name in ("data_wait_seconds", "step_seconds"))
    return shares(part, whole, hosts[places], count)


def mean_by_host(view: View, values: Floats) -> Floats:
    """Return the means of values along GPUs by host; unknown if no value is known."""
    known = ~np.isnan(values)
    hosts = view.gpus.hosts[known]
    counts = np.bincount(hosts, minlength=len(view.hosts))
    mean = np.full(len(view.hosts), np.nan)
    np.divide(np.bincount(hosts, values[known], minlength=len(view.hosts)), counts, out=mean, where=counts > 0)
    return mean
