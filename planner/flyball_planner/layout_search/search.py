"""The search for the best layout: all possible layouts that fit, ordered by step time, with reasons."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.belief import Belief
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layout_search.candidates import Choices, candidates, grid
from flyball_planner.layout_search.fastest_fitting import fastest_fitting
from flyball_planner.layout_search.lazy_memory import LazyMemory, Positions
from flyball_planner.layout_search.ranking import Column, Ranked, kinds, listed, ranked
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import obstacle, refusals, unbroken
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.estimate import MemoryEstimate, estimate_memory
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.estimate import LayoutGroup, StepEstimate, estimate_groups, step_middle
from flyball_planner.timing.work import Work, select_rows
from flyball_planner.timing.work_builder import build_work, over_machines
from flyball_planner.training import Training
from flyball_reports.errors import InputError

Subject = TransformerShape | ModelCost

SHOWN = 10
WORTH = 0.05  # share of a step that a layout must save to be named although it only probably fits
LOOKED = 64  # of the fastest layouts, for one that probably fits


class Search(Struct, frozen=True):
    """The best layouts, and how many were considered."""

    best: Sequence[Ranked]
    candidates: int
    allowed: int
    step: StepEstimate | None  # of the best layouts, in the same order
    memory: MemoryEstimate | None
    obstacle: str = ""  # why no layout is possible
    smallest: ParallelLayout | None = None  # if none surely fits, the possible layout that needs least memory
    perhaps: ParallelLayout | None = None  # clearly faster than the best, and fits in the middle of its interval

    @property
    def first(self) -> ParallelLayout:
        """Return the best layout; raises `InputError` if none fits."""
        if not self.best:
            raise InputError(self.why_none)
        return self.best[0].layout

    @property
    def why_none(self) -> str:
        """Return a message that states why nothing fits and what to do."""
        if not self.allowed:
            return f"no layout is possible: {self.obstacle}; change the number of devices or the global batch"
        return (
            f"none of the {self.allowed} possible layouts fits into the device's memory; use more devices, a device "
            "with more memory, a shorter sequence or low-rank adaptation, or allow offloading to the host"
        )


class Case(Struct, frozen=True):
    """A training on some machines, and how many layouts to report."""

    training: Training
    machine: TrainingMachine
    shown: int = SHOWN


class _Possible(Struct, frozen=True):
    """The candidates that satisfy the rules; whether they fit is not yet known."""

    possible: Layouts
    found: Search


class _Timed(Struct, frozen=True):
    """Rows with the middle of their steps."""

    rows: Positions
    parts: Sequence[Positions]  # of each case, as places among the rows
    layouts: Layouts
    work: Work
    seconds: Column


class _Fastest(Struct, frozen=True):
    """The fastest layouts that fit, in order."""

    rows: Positions
    step: StepEstimate | None  # None if no layout fits
    variants: Positions  # of each row
    perhaps: Positions  # a clearly faster row that probably fits, if there is one


def search_layouts(
    subject: Subject,
    training: Training,
    machine: TrainingMachine,
    choices: Choices | None = None,
    belief: Belief | None = None,
    shown: int = SHOWN,
    constants: Constants = CONSTANTS,
) -> Search:
    """Search all layouts over the machine's devices; the fastest that surely fit come first."""
    return search_each(subject, [Case(training, machine, shown)], choices, belief, constants)[0]


def search_each(
    subject: Subject,
    cases: Sequence[Case],
    choices: Choices | None = None,
    belief: Belief | None = None,
    constants: Constants = CONSTANTS,
    *,
    chosen: bool = False,
) -> list[Search]:
    """Search cases that differ only in batch and number of devices, in one pass: calls cost time, rows hardly do.

    `chosen` states that the choices are a user's layout, which may be one that a search does not propose.
    """
    looked = [_look(subject, each, choices, chosen=chosen) for each in cases]
    every = Layouts.joined([each.possible for each in looked])
    if not len(every):
        return [each.found for each in looked]

    own = np.split(np.arange(len(every)), np.cumsum([len(each.possible) for each in looked])[:-1])
    first = cases[0]
    memories = LazyMemory(
        every, lambda some: estimate_memory(subject, first.training, some, first.machine.device, constants)
    )
    fastest = _fastest(subject, cases, every, own, memories, belief)
    if not any(len(each.rows) for each in fastest):
        return [_unfitting(each, rows, memories) for each, rows in zip(looked, own, strict=True)]
    held = memories.of_each([each.rows for each in fastest])
    return [
        _fitting(each.found, best, every, memory) if len(best.rows) else _unfitting(each, rows, memories)
        for each, best, memory, rows in zip(looked, fastest, held, own, strict=True)
    ]


def _look(subject: Subject, case: Case, choices: Choices | None, *, chosen: bool) -> _Possible:
    """Apply the rules to the grid of candidates."""
    training, machine = case.training, case.machine
    every = grid(subject, training, machine.devices, machine.devices_a_node, choices)
    rules, real = refusals(subject, training, every, chosen=chosen), every.data >= 1
    possible = every.rows(real & unbroken(rules))
    why = "" if len(possible) else _obstacle(subject, case, choices, chosen=chosen)
    found = Search((), every.count(real), len(possible), None, None, why)
    return _Possible(replace(possible, batch=np.full(len(possible), float(training.global_batch))), found)


def _obstacle(subject: Subject, case: Case, choices: Choices | None, *, chosen: bool) -> str:
    every = candidates(subject, case.training, case.machine.devices, case.machine.devices_a_node, choices)
    return obstacle(refusals(subject, case.training, every, chosen=chosen))


def _fastest(
    subject: Subject,
    cases: Sequence[Case],
    every: Layouts,
    own: Sequence[Positions],
    memories: LazyMemory,
    belief: Belief | None,
) -> list[_Fastest]:
    """Return the fastest fitting rows of each case. If memory is not yet known for all rows, time is computed first."""
    timed = _timed(subject, cases, every, own, memories, belief)
    if timed is None:
        return [_Fastest(np.arange(0), None, np.arange(0), np.arange(0)) for _ in cases]
    rows, layouts, seconds = timed.rows, timed.layouts, timed.seconds
    if memories.complete:
        parts = [part[memories.surely_fit(rows[part])] for part in timed.parts]
    else:
        shown = [case.shown for case in cases]
        parts = fastest_fitting(timed.parts, seconds, kinds(layouts), shown, memories.surely_fit)
    lists = [listed(layouts.where(part), seconds[part], case.shown) for part, case in zip(parts, cases, strict=True)]
    best = [part[each.rows] for part, each in zip(parts, lists, strict=True)]
    groups = [
        LayoutGroup(case.training, case.machine, layouts.where(part)) for case, part in zip(cases, best, strict=True)
    ]
    steps = estimate_groups(subject, groups, select_rows(timed.work, np.concatenate(best)), belief)
    return [
        _Fastest(rows[first], step, each.variants, rows[_faster(part, first, case, timed, memories)])
        for first, step, each, part, case in zip(best, steps, lists, timed.parts, cases, strict=True)
    ]


def _timed(
    subject: Subject,
    cases: Sequence[Case],
    every: Layouts,
    own: Sequence[Positions],
    memories: LazyMemory,
    belief: Belief | None,
) -> _Timed | None:
    """Compute the steps of all rows, or if their memory is known, of those that probably fit; None if none does."""
    rows = np.arange(len(every))
    if memories.complete:
        rows = np.flatnonzero(memories.probably_fit(rows)) if memories.surely_fit(rows).any() else rows[:0]
    if not len(rows):
        return None
    parts = np.split(np.arange(len(rows)), np.searchsorted(rows, np.cumsum([len(each) for each in own])[:-1]))
    layouts = every.where(rows)
    work = build_work(subject, cases[0].training, layouts, cases[0].machine)
    work = over_machines(work, [(len(part), case.machine) for part, case in zip(parts, cases, strict=True)])
    return _Timed(rows, parts, layouts, work, step_middle(work, belief))


def _faster(part: Positions, best: Positions, case: Case, timed: _Timed, memories: LazyMemory) -> Positions:
    """Return the fastest row that probably fits, if it is clearly faster than the best; a row of a table needs none."""
    if case.shown == 1 or not len(best):
        return part[:0]
    faster = part[timed.seconds[part] < (1 - WORTH) * timed.seconds[best[0]]]
    faster = faster[np.argsort(timed.seconds[faster], kind="stable")][:LOOKED]
    found: Positions = faster[memories.probably_fit(timed.rows[faster])][:1] if len(faster) else faster
    return found


def _fitting(found: Search, best: _Fastest, every: Layouts, memory: MemoryEstimate) -> Search:
    best_layouts = () if best.step is None else ranked(every.where(best.rows), best.step, memory, best.variants)
    perhaps = every[int(best.perhaps[0])] if len(best.perhaps) else None
    return replace(found, best=best_layouts, step=best.step, memory=memory, perhaps=perhaps)


def _unfitting(looked: _Possible, rows: Positions, memories: LazyMemory) -> Search:
    if not len(rows):
        return looked.found
    return replace(looked.found, smallest=looked.possible[int(np.argmin(memories.of(rows).driver.middle))])
