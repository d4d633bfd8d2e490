"""How much of the time hosts waited for their input while their GPUs idled, at most: over the last minute."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.advice.rank_facts import REPORTS, Membership, shares
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

LOOKS = 6


class IdleWaits:
    """Look every ten seconds, at the whole fleet at once."""

    def __init__(self) -> None:
        self._kept = Kept(seen=((LOOKS,), float("nan")))
        self._looks = 0

    def look(self, view: View, members: Membership, matters: NDArray[np.bool_]) -> None:
        """Take what is so now. What was before counts where it `matters`, along hosts: where something stands."""
        self._kept.align(view.hosts)
        seen = self._kept["seen"]
        seen[~matters] = np.nan
        seen[:, self._looks % LOOKS] = _together(view, members)
        self._looks += 1

    def shares(self, view: View) -> Floats:
        """The means along hosts; unknown where input is not waited for, or there is no GPU."""
        self._kept.align(view.hosts)
        seen = self._kept["seen"]
        known = np.count_nonzero(~np.isnan(seen), axis=1)
        mean = np.full(len(seen), np.nan)
        np.divide(np.nansum(seen, axis=1), known, out=mean, where=known > 0)
        return mean


def _together(view: View, members: Membership) -> Floats:
    """Each host's share of waiting in its latest steps, as far as its GPUs idled in the last ten seconds."""
    hosts = members.hosts(view.hosts)
    places = np.flatnonzero(hosts >= 0)
    part, whole = (view.ranks.ring(name, REPORTS, places) for name in ("data_wait_seconds", "step_seconds"))
    waits = shares(part, whole, hosts[places], len(view.hosts))
    busy = mean_by_host(view, view.gpu("gpu_utilization_ratio", 10))
    return np.minimum(waits, np.maximum(0.0, 1.0 - busy))


def mean_by_host(view: View, values: Floats) -> Floats:
    """Means along hosts of values along GPUs; unknown where nothing is known."""
    known = ~np.isnan(values)
    hosts = view.gpus.hosts[known]
    counts = np.bincount(hosts, minlength=len(view.hosts))
    mean = np.full(len(view.hosts), np.nan)
    np.divide(np.bincount(hosts, values[known], minlength=len(view.hosts)), counts, out=mean, where=counts > 0)
    return mean
