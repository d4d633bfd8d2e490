"""Runs as arrays: which rank belongs to which run, host and GPU, and what is usual in a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.ordering import Ordering
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.diagnosis.view import View
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.ranks import RankKey, Ranks

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

HOLDERS_EVERY_SECONDS = 5.0
"""How often it is asked anew which process holds which GPU: it costs by the process."""

TOTAL_STEPS = "total_steps"
"""The label by which a process says how many steps its run will make."""


Work = frozenset[tuple[str, ...]]
"""The runs whose processes hold a GPU; where none is known, who started which command on which host."""


@dataclass(eq=False)
class RunView:
    """The runs of one second. Arrays stand along `subjects` (ranks) or along `runs`; ranks of one run lie together."""

    ranks: Ranks
    keys: tuple[RankKey, ...]
    subjects: Subjects
    runs: Subjects
    run_of: Places  # along ranks: the place of the run
    sizes: Places  # along runs: how many ranks report
    gpu_of: Places  # along ranks: the place of its first GPU in the view; −1: unknown
    run_of_gpu: Places  # along the view's GPUs: the place of the run that holds it; −1: none
    work_of_gpu: Places  # along the view's GPUs: equal numbers do one work, whether it reports or not; −1: not known
    total_steps: Floats  # along runs: how many steps it will make; NaN: not told
    started: Mapping[str, float]  # runs whose processes hold GPUs → when the last one started

    @cached_property
    def starts(self) -> Places:
        """Along runs: the place of the first rank."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @cached_property
    def ordering(self) -> Ordering:
        """Sorts values along ranks within each run."""
        return Ordering(self.sizes)

    def of_rank(self, along_gpus: Floats) -> Floats:
        """A GPU's value along ranks; unknown where a rank's GPU is."""
        return np.append(along_gpus, np.nan)[self.gpu_of]

    def known(self, values: Floats) -> Places:
        """Along runs: of how many ranks a value is known."""
        if not len(values):
            return np.zeros(len(self.runs), dtype=np.int64)
        counts: Places = np.add.reduceat(~np.isnan(values), self.starts, dtype=np.int64)
        return counts

    def share(self, flags: Flags) -> Floats:
        """Along runs: the share of the ranks for which something is true."""
        return np.bincount(self.run_of, flags, minlength=len(self.runs)) / self.sizes

    def quantile(self, values: Floats, share: float) -> Floats:
        """Along runs: the value below which this share of the known ones lies; a real value, never between two."""
        if not len(values):
            return np.empty(0)
        if share in (0.0, 1.0):
            return (np.fmin if share == 0.0 else np.fmax).reduceat(values, self.starts)
        place = ((self.known(values) - 1) * share).astype(np.int64)  # 0, and so an unknown one, where none is known
        found: Floats = self.ordering.ordered(values)[self.starts + place]
        return found

    def median(self, values: Floats) -> Floats:
        """Along runs: of two in the middle the lower one, so that one of two ranks has the other as its peer."""
        return self.quantile(values, 0.5)

    def spread(self, values: Floats, median: Floats) -> Floats:
        """Along runs: the median distance from the median, as a standard deviation."""
        return 1.4826 * self.median(np.abs(values - median[self.run_of]))


@dataclass(frozen=True, slots=True)
class _Holders:
    """Which GPUs belong to whom, as tenancies say."""

    gpu_of: dict[tuple[str, str, int], str]  # (host, run, rank) → its first GPU
    run_of: dict[tuple[str, str], str]  # (host, GPU) → the run
    work_of: dict[tuple[str, str], Work]  # (host, GPU) → what it works for
    started: dict[str, float]  # run whose processes speak and hold GPUs → seconds at which the last one started
    total_steps: dict[str, float]  # run → how many steps it wants to make, where it says so


class Runs:
    """Makes the run view of each view, once for all detectors that ask."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._made: RunView | None = None
        self._tenancies: Sequence[object] = ()  # the messages as they were: a change is another object
        self._holders = _Holders({}, {}, {}, {}, {})
        self._asked = float("-inf")

    def of(self, view: View) -> RunView:
        """The same object for the same view."""
        if self._made is None or view is not self._view:
            self._made = self._make(view)
            self._view = view
        return self._made

    def _make(self, view: View) -> RunView:
        before, before_view, keys = self._made, self._view, view.ranks.keys
        changed = self._ask_holders(view)
        if before is None or before_view is None:
            return _arranged(view, keys, self._holders)
        same = keys is before.keys and view.hosts is before_view.hosts and view.gpus is before_view.gpus
        if same and not changed:
            return before
        made = _arranged(view, keys, self._holders)
        if made.subjects.names == before.subjects.names and view.hosts is before_view.hosts:
            made.subjects = before.subjects
        if made.runs.names == before.runs.names:
            made.runs = before.runs
        return made

    def _ask_holders(self, view: View) -> bool:
        if 0 <= view.now - self._asked < HOLDERS_EVERY_SECONDS:
            return False
        tenancies = [state.tenancy for state in view.states]
        self._asked = view.now
        if len(tenancies) == len(self._tenancies) and all(
            now is then for now, then in zip(tenancies, self._tenancies, strict=True)
        ):
            return False
        self._tenancies = tenancies
        self._holders = _holders(view.states)
        return True


def _holders(states: Sequence[HostState]) -> _Holders:
    gpu_of: dict[tuple[str, str, int], str] = {}
    run_of: dict[tuple[str, str], str] = {}
    started: dict[str, float] = {}
    total_steps: dict[str, float] = {}
    works: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for state in states:
        for member in state.tenancy.members if state.tenancy is not None else ():
            work = (member.run,) if member.run else (state.name, member.user, member.command)
            for gpu in member.gpus:
                works.setdefault((state.name, gpu), set()).add(work)
            if not member.run:
                continue
            for gpu in member.gpus:
                gpu_of.setdefault((state.name, member.run, member.rank), gpu)
                run_of.setdefault((state.name, gpu), member.run)
            if member.source == "client" and member.gpus:
                started[member.run] = max(started.get(member.run, 0.0), member.started_ns / 1e9)
            if (steps := member.labels.get(TOTAL_STEPS, "")).isdecimal():
                total_steps[member.run] = float(steps)
    work_of = {gpu: frozenset(runs or found) for gpu, found in works.items() for runs in [_runs_among(found)]}
    return _Holders(gpu_of, run_of, work_of, started, total_steps)


def _runs_among(works: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """A monitor beside a run does not make it another work."""
    return {work for work in works if len(work) == 1}


def _arranged(view: View, keys: tuple[RankKey, ...], holders: _Holders) -> RunView:
    names = list(dict.fromkeys(key.run for key in keys))
    number = {name: place for place, name in enumerate(names)}
    hosts = {subject.host: place for place, subject in enumerate(view.hosts.names)}
    run_of = np.array([number[key.run] for key in keys], dtype=np.int64)
    gpu_names = [holders.gpu_of.get((key.host, key.run, key.rank), "") for key in keys]
    gpu_of = [view.gpus.places.get(Subject(key.host, gpu), -1) for key, gpu in zip(keys, gpu_names, strict=True)]
    run_of_gpu = [number.get(holders.run_of.get((gpu.host, gpu.gpu), ""), -1) for gpu in view.gpus.names]
    works: dict[Work, int] = {}
    held = [holders.work_of.get((gpu.host, gpu.gpu)) for gpu in view.gpus.names]
    work_of_gpu = [-1 if work is None else works.setdefault(work, len(works)) for work in held]
    return RunView(
        view.ranks,
        keys,
        subjects(
            [Subject(key.host, run=key.run, rank=key.rank) for key in keys], [hosts.get(k.host, -1) for k in keys]
        ),
        subjects([Subject(run=name) for name in names]),
        run_of,
        np.bincount(run_of, minlength=len(names)).astype(np.int64),
        np.array(gpu_of, dtype=np.int64),
        np.array(run_of_gpu, dtype=np.int64),
        np.array(work_of_gpu, dtype=np.int64),
        np.array([holders.total_steps.get(name, np.nan) for name in names], dtype=np.float64),
        holders.started,
    )
