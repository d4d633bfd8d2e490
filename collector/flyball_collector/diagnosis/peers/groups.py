"""Groups GPUs with their peers: same model and same run, else same host, else whole fleet; and by common work."""

from dataclasses import dataclass, field
from functools import cached_property
from operator import is_not

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.group_sorter import GroupSorter
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.subject import Subjects, subjects
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

_MODELS_EVERY_SECONDS = 30.0


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each GPU."""

    number: Places  # the number of the group, along GPUs
    count: int  # number of groups

    @cached_property
    def sizes(self) -> Places:
        """The number of GPUs in each group."""
        return np.bincount(self.number, minlength=self.count).astype(np.int64)

    @cached_property
    def _sorter(self) -> tuple[Places, GroupSorter]:
        return np.argsort(self.number, kind="stable"), GroupSorter(self.sizes)

    @cached_property
    def alone(self) -> bool:
        """Return True if no GPU has a peer, as in most recordings."""
        return bool((self.sizes <= 1).all())

    def sort(self, values: Floats) -> Floats:
        """Return the values group by group, in ascending order within each, unknown values last."""
        order, sorter = self._sorter
        return sorter.sort(values[order])

    def known(self, values: Floats) -> Places:
        """Return for each GPU how many values of its group are known."""
        counts = np.bincount(self.number, ~np.isnan(values), minlength=self.count).astype(np.int64)
        return counts[self.number]

    def quantile(self, values: Floats, share: float) -> Floats:
        """Return for each GPU the value of its group below which this share of the known values is."""
        if self.alone:
            return values
        ordered, sizes = self.sort(values), self.sizes
        known = np.bincount(self.number, ~np.isnan(values), minlength=self.count)
        starts = np.cumsum(sizes) - sizes
        place = starts + np.ceil((known - 1) * share).astype(np.int64)
        return np.where(known > 0, ordered[np.clip(place, 0, max(len(values) - 1, 0))], np.nan)[self.number]

    def others_median(self, values: Floats) -> Floats:
        """Return for each GPU the median of its group without the GPU itself."""
        if self.alone:
            return np.full(len(values), np.nan)
        ordered, sizes = self.sort(values), self.sizes
        known = self.known(values)
        start = (np.cumsum(sizes) - sizes)[self.number]
        low, high = (known - 2) // 2, (known - 1) // 2  # of the known − 1 others
        return (self._other(ordered, start, low, values, known) + self._other(ordered, start, high, values, known)) / 2

    def _other(self, ordered: Floats, start: Places, place: Places, values: Floats, known: Places) -> Floats:
        """Return the value at a position among the others: one further if the GPU itself is before it."""
        last = max(len(values) - 1, 0)
        here = ordered[np.clip(start + place, 0, last)]
        further = ordered[np.clip(start + np.minimum(place + 1, known - 1), 0, last)]
        return np.where((known >= 2) & ~np.isnan(values), np.where(here >= values, further, here), np.nan)


@dataclass
class Peers:
    """Builds the groups of each view once for all detectors."""

    runs: Runs
    _gpus: Subjects = field(default_factory=lambda: subjects(()))
    _held: Places | None = None
    _works: Places | None = None
    _models_checked: float = float("-inf")
    _inventories: list[object] = field(default_factory=list)  # compared by identity
    _groups: Groups = field(default_factory=lambda: Groups(np.empty(0, dtype=np.int64), 0))
    _same_work: Groups = field(default_factory=lambda: Groups(np.empty(0, dtype=np.int64), 0))

    def of(self, view: View) -> Groups:
        """Return the current groups. The object stays the same until something changes."""
        self._follow(view)
        return self._groups

    def same_work(self, view: View) -> Groups:
        """Return groups of GPUs known to work for the same run or launch. Every other GPU is a group of its own."""
        self._follow(view)
        return self._same_work

    def _follow(self, view: View) -> None:
        runs = self.runs.of(view)
        held, works = runs.run_of_gpu, runs.work_of_gpu
        same = view.gpus is self._gpus and held is self._held and works is self._works
        if self._models_changed(view) or not same:
            self._gpus, self._held, self._works = view.gpus, held, works
            models = np.unique(_models(view), return_inverse=True)[1].astype(np.int64).reshape(-1)
            self._groups = _grouped(models, held, view.gpus.hosts)
            self._same_work = _working_together(models, works)

    def _models_changed(self, view: View) -> bool:
        """Return True if a host has a new inventory. This is checked every 30 s."""
        if 0 <= view.now - self._models_checked < _MODELS_EVERY_SECONDS:
            return False
        self._models_checked = view.now
        before = self._inventories
        self._inventories = [state.inventory for state in view.states]
        return len(before) != len(self._inventories) or any(map(is_not, self._inventories, before))


def _models(view: View) -> list[str]:
    """Return the model of each GPU, or an empty string if it is unknown."""
    known = {
        (state.name, gpu.uuid): gpu.model
        for state in view.states
        for gpu in (state.inventory.gpus if state.inventory is not None else ())
    }
    return [known.get((gpu.host, gpu.gpu), "") for gpu in view.gpus.names]


_FEW = 4


def _grouped(model: Places, held: Places, hosts: Places) -> Groups:
    """Group by run, host or fleet. A group needs a few members, so that an outlier does not define what is normal."""
    run = _dense(model, np.where(held >= 0, held, -1))
    host = _dense(model, hosts)
    in_run = (held >= 0) & (np.bincount(run)[run] >= _FEW) if len(run) else held >= 0
    on_host = np.bincount(host)[host] >= _FEW if len(host) else held >= 0
    kind = np.where(in_run, 0, np.where(on_host, 1, 2))
    number = _dense(kind, np.where(in_run, run, np.where(on_host, host, model)))
    return Groups(number, int(number.max()) + 1 if len(number) else 0)


def _working_together(model: Places, works: Places) -> Groups:
    """Group by common work. A GPU whose work is unknown, or that works for nothing, is alone."""
    number = _dense(model, np.where(works >= 0, works, works.max(initial=0) + 1 + np.arange(len(works))))
    return Groups(number, int(number.max()) + 1 if len(number) else 0)


def _dense(one: Places, other: Places) -> Places:
    """Number the distinct pairs from zero."""
    if not len(one):
        return np.empty(0, dtype=np.int64)
    pairs = (one - one.min()) * (other.max() - other.min() + 1) + other - other.min()
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64).reshape(-1)
