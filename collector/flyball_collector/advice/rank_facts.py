"""Computes facts about hosts and runs from the latest reports of their ranks, for many of them at once."""

from collections import defaultdict
from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.fleet.ranks import RankKey, Ranks

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

REPORTS = 16
"""The number of latest steps of each rank."""

_NO_RANKS: Places = np.empty(0, dtype=np.int64)


class Membership:
    """The ranks of each host and each run, as rows in the table of ranks."""

    def __init__(self, keys: tuple[RankKey, ...] = ()) -> None:
        self.keys = keys
        of_host: dict[str, list[int]] = defaultdict(list)
        of_run: dict[str, list[int]] = defaultdict(list)
        for place, (run, _, host) in enumerate(keys):
            of_host[host].append(place)
            of_run[run].append(place)
        self._of_host = {host: np.array(places) for host, places in of_host.items()}
        self._of_run = {run: np.array(places) for run, places in of_run.items()}
        self._hosts: tuple[Subjects | None, Places] = None, _NO_RANKS

    def of(self, subject: Subject) -> Places:
        """Return the ranks of a host, or of a run if no host is named."""
        return self._of_host.get(subject.host, _NO_RANKS) if subject.host else self._of_run.get(subject.run, _NO_RANKS)

    def run_of(self, places: Places) -> str:
        """Return the run of these ranks, or an empty string if there are several runs or none."""
        if not len(places):
            return ""
        first, last = self.keys[places[0]].run, self.keys[places[-1]].run  # the table is sorted by run
        return first if first == last else ""

    def hosts(self, hosts: Subjects) -> Places:
        """Return the position of each rank's host, or −1. The result is cached for the same hosts."""
        if self._hosts[0] is not hosts:
            self._hosts = hosts, self._find(hosts)
        return self._hosts[1]

    def _find(self, hosts: Subjects) -> Places:
        found = np.full(len(self.keys), -1, dtype=np.int64)
        for host, places in self._of_host.items():
            found[places] = hosts.places.get(Subject(host), -1)
        return found


def facts_of(ranks: Ranks, groups: Sequence[Places]) -> list[dict[str, Any]]:
    """Return the known facts of each group of ranks."""
    facts: list[dict[str, Any]] = [{} for _ in groups]
    some = [number for number, group in enumerate(groups) if len(group)]
    if some:
        sizes = np.array([len(groups[number]) for number in some])
        places = np.concatenate([groups[number] for number in some])
        columns = _columns(ranks, places, sizes)
        for number, *values in zip(some, *columns.values(), strict=True):
            known = zip(columns, values, strict=True)
            facts[number] = {name: value for name, value in known if not isnan(value)}
            world = facts[number].pop("world_size", 0.0)
            if world >= 1:
                facts[number]["world_size"] = int(world)
    return facts


def _columns(ranks: Ranks, places: Places, sizes: Places) -> dict[str, list[float]]:
    """Return values for each group, NaN if unknown; `places` holds one group after the other."""
    starts = np.cumsum(sizes) - sizes
    of = np.repeat(np.arange(len(sizes)), sizes)
    steps = ranks.ring("step_seconds", REPORTS, places)
    found = {
        "world_size": np.maximum.reduceat(ranks.column("world_size")[places], starts),
        "step_seconds": medians(steps, of, len(sizes)),
        "data_wait_share": shares(ranks.ring("data_wait_seconds", REPORTS, places), steps, of, len(sizes)),
        "communication_share": shares(ranks.ring("waiting_seconds", REPORTS, places), steps, of, len(sizes)),
        "allocated_peak_bytes": np.fmax.reduceat(ranks.column("allocated_peak_bytes")[places], starts),
        "reserved_peak_bytes": np.fmax.reduceat(ranks.column("reserved_peak_bytes")[places], starts),
    }
    return {name: values.tolist() for name, values in found.items()}


def shares(part: NDArray[np.float32], whole: NDArray[np.float32], of: Places, count: int) -> Floats:
    """Return the share of `whole` that a part takes in each of `count` groups, over the reports with both values.

    Both are report × rank; `of` holds the group of each rank.
    """
    both = ~(np.isnan(part) | np.isnan(whole))
    taken = np.bincount(of, np.where(both, part, 0.0).sum(axis=0, dtype=np.float64), minlength=count)
    total = np.bincount(of, np.where(both, whole, 0.0).sum(axis=0, dtype=np.float64), minlength=count)
    share: Floats = np.full(count, np.nan)
    np.divide(taken, total, out=share, where=total > 0)
    return np.minimum(share, 1.0, out=share)


def medians(values: NDArray[np.float32], of: Places, count: int) -> Floats:
    """Return the median of each of `count` groups. Values must not be negative.

    They are sorted as integers made of the group and the bits of the float, which is many times faster than sorting by
    two keys. Floats that are not negative have the same order as their bits.
    """
    known = ~np.isnan(values)
    groups = np.broadcast_to(of, values.shape)[known]
    keys = np.sort((groups << 32) | np.abs(values[known]).view(np.uint32))
    ordered = (keys & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
    sizes = np.bincount(groups, minlength=count)
    starts = np.cumsum(sizes) - sizes
    found = np.full(count, np.nan)
    some = sizes > 0
    lower, upper = (starts + (sizes - 1) // 2)[some], (starts + sizes // 2)[some]
    found[some] = (ordered[lower].astype(np.float64) + ordered[upper]) / 2.0
    return found
