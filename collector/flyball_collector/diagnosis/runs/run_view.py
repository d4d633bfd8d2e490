"""Runs as arrays: the run, host and GPU of each rank, and statistics within runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.group_sorter import GroupSorter
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.diagnosis.view import View
from flyball_collector.fleet.ranks import RankKey, Ranks

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

HOLDERS_EVERY_SECONDS = 5.0
"""How often the holders of GPUs are read again. The cost grows with the number of processes."""

TOTAL_STEPS = "total_steps"
"""The label with the total number of steps of a run."""

TOTAL_SAMPLES = "total_samples"
"""The label with the total number of samples of a run, over all its ranks."""

Work = frozenset[tuple[str, ...]]
"""The runs whose processes hold a GPU; if there are none, the user, command and host of the processes."""


@dataclass(eq=False)
class RunView:
    """The runs of one second. Arrays are along `subjects` (ranks) or `runs`; the ranks of a run are adjacent."""

    ranks: Ranks
    keys: tuple[RankKey, ...]
    subjects: Subjects
    runs: Subjects
    run_of: Places  # along ranks: position of the run
    sizes: Places  # along runs: number of reporting ranks
    gpu_of: Places  # along ranks: position of its first GPU in the view; −1: unknown
    run_of_gpu: Places  # along the view's GPUs: position of the run that holds it; −1: none
    work_of_gpu: Places  # along the view's GPUs: equal for GPUs with the same work, reporting or not; −1: unknown
    total_steps: Floats  # along runs: total number of steps; NaN: unknown
    total_samples: Floats  # the same of samples
    started: Mapping[str, float]  # run whose processes hold GPUs → start time of the last one

    @cached_property
    def starts(self) -> Places:
        """The position of the first rank of each run."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @cached_property
    def sorter(self) -> GroupSorter:
        """A sorter of values along ranks within each run."""
        return GroupSorter(self.sizes)

    def of_rank(self, along_gpus: Floats) -> Floats:
        """Return values along GPUs as values along ranks; unknown if the GPU of a rank is unknown."""
        return np.append(along_gpus, np.nan)[self.gpu_of]

    def known(self, values: Floats) -> Places:
        """Return for each run the number of ranks with a known value."""
        if not len(values):
            return np.zeros(len(self.runs), dtype=np.int64)
        unknown = np.isnan(values)
        if not unknown.any():  # the usual case
            return self.sizes.copy()
        counts: Places = np.add.reduceat(~unknown, self.starts, dtype=np.int64)
        return counts

    def sum(self, values: Floats) -> Floats:
        """Return for each run the sum of the known values; unknown if none is known."""
        if not len(values):
            return np.empty(0)
        sums = np.add.reduceat(np.nan_to_num(values), self.starts)
        return np.where(self.known(values) > 0, sums, np.nan)

    def share(self, flags: Flags) -> Floats:
        """Return for each run the share of ranks with a true flag."""
        return np.bincount(self.run_of, flags, minlength=len(self.runs)) / self.sizes

    def quantile(self, values: Floats, share: float) -> Floats:
        """Return for each run the known value below which this share of the known values is, without interpolation."""
        if not len(values):
            return np.empty(0)
        if share in (0.0, 1.0):
            return (np.fmin if share == 0.0 else np.fmax).reduceat(values, self.starts)
        return self.quantiles(values, share)[0]

    def quantiles(self, values: Floats, *shares: float) -> list[Floats]:
        """Return several quantiles, which costs little more than one."""
        if not len(values):
            return [np.empty(0) for _ in shares]
        last, ordered = self.known(values) - 1, self.sorter.sort(values)
        # place 0 if none is known: the first value is unknown then
        return [ordered[self.starts + (last * share).astype(np.int64)] for share in shares]

    def median(self, values: Floats) -> Floats:
        """Return the lower median of each run: with two ranks, the slower one has the other as its peer."""
        return self.quantile(values, 0.5)

    def spread(self, values: Floats, median: Floats) -> Floats:
        """Return for each run the median distance from the median, scaled to a standard deviation."""
        return 1.4826 * self.median(np.abs(values - median[self.run_of]))


@dataclass(frozen=True, slots=True)
class _Holders:
    """The holders of GPUs according to the tenancies."""

    gpu_of: dict[tuple[str, str, int], str]  # (host, run, rank) → its first GPU
    run_of: dict[tuple[str, str], str]  # (host, GPU) → the run
    work_of: dict[tuple[str, str], Work]  # (host, GPU) → its work
    started: dict[str, float]  # run whose client processes hold GPUs → start time of the last one, in seconds
    total_steps: dict[str, float]  # run → total number of steps, if known
    total_samples: dict[str, float]


class Runs:
    """Builds the run view of each view once for all detectors."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._made: RunView | None = None
        self._tenancies: Sequence[object] = ()  # compared by identity
        self._holders = _Holders({}, {}, {}, {}, {}, {})
        self._holders_read = float("-inf")

    def of(self, view: View) -> RunView:
        """Return the run view of a view; the same object for the same view."""
        if self._made is None or view is not self._view:
            self._made = self._make(view)
            self._view = view
        return self._made

    def _make(self, view: View) -> RunView:
        before, before_view, keys = self._made, self._view, view.ranks.keys
        changed = self._read_holders(view)
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

    def _read_holders(self, view: View) -> bool:
        if 0 <= view.now - self._holders_read < HOLDERS_EVERY_SECONDS:
            return False
        tenancies = [state.tenancy for state in view.states]
        self._holders_read = view.now
        if len(tenancies) == len(self._tenancies) and all(
            now is then for now, then in zip(tenancies, self._tenancies, strict=True)
        ):
            return False
        self._tenancies = tenancies
        self._holders = _holders(view)
        return True


def _holders(view: View) -> _Holders:
    gpu_of: dict[tuple[str, str, int], str] = {}
    run_of: dict[tuple[str, str], str] = {}
    started: dict[str, float] = {}
    totals: dict[str, dict[str, float]] = {TOTAL_STEPS: {}, TOTAL_SAMPLES: {}}
    works: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for state in view.states:
        for member in state.tenancy.members if state.tenancy is not None else ():
            run = view.run_of(member)
            work = (run,) if run else (state.name, member.user, member.command)
            for gpu in member.gpus:
                works.setdefault((state.name, gpu), set()).add(work)
            if not run:
                continue
            for gpu in member.gpus:
                gpu_of.setdefault((state.name, run, member.rank), gpu)
                run_of.setdefault((state.name, gpu), run)
            if member.source == "client" and member.gpus:
                started[run] = max(started.get(run, 0.0), member.started_ns / 1e9)
            for label, of_run in totals.items():
                if (total := member.labels.get(label, "")).isdecimal():
                    of_run[run] = float(total)
    work_of = {gpu: frozenset(runs or found) for gpu, found in works.items() for runs in [_runs_among(found)]}
    return _Holders(gpu_of, run_of, work_of, started, totals[TOTAL_STEPS], totals[TOTAL_SAMPLES])


def _runs_among(works: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return the runs among the works: a monitor on the GPU of a run does not change its work."""
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
        np.array([holders.total_samples.get(name, np.nan) for name in names], dtype=np.float64),
        holders.started,
    )
