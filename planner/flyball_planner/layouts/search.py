"""The best way to spread a training: every layout that is allowed and fits, by the time of its step, with reasons."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from flyball_planner.calibration.belief import Belief
from flyball_planner.catalogue.hardware import Machine
from flyball_planner.errors import PlanError
from flyball_planner.layouts.candidates import Choices, candidates, grid
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.layouts.ranking import Ranked, order, ranked
from flyball_planner.layouts.rules import obstacle, refusals, unbroken
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.estimate import MemoryEstimate, estimate_memory
from flyball_planner.memory.verdict import FITS, Fit, fits
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.build import build_work, over_machines
from flyball_planner.timing.estimate import StepEstimate, Stretch, estimate_stretches, step_middle
from flyball_planner.timing.work import taken
from flyball_planner.training import Training

Subject = TransformerShape | ModelCost
Positions = NDArray[np.intp]

SHOWN = 10


class Search(Struct, frozen=True):
    """What was looked through, and the best of it."""

    best: Sequence[Ranked]
    candidates: int
    allowed: int
    fitting: int
    step: StepEstimate | None  # of the best, in the same order
    memory: MemoryEstimate | None
    obstacle: str = ""  # what stands in the way where nothing is allowed
    smallest: Layout | None = None  # of those that are allowed, the one that takes least, where none surely fits

    @property
    def first(self) -> Layout:
        """The best layout; `PlanError` where none fits."""
        if not self.best:
            raise PlanError(self.why_none)
        return self.best[0].layout

    @property
    def why_none(self) -> str:
        """What to do where nothing fits."""
        if not self.allowed:
            return f"no layout is possible: {self.obstacle}; change the number of devices or the global batch"
        return (
            f"none of {self.allowed} possible layouts fits the device's memory; take more devices, a device with more "
            "memory, a shorter sequence, low-rank adaptation, or allow offloading to the host"
        )


class Case(Struct, frozen=True):
    """A training on some machines, and how many of its layouts are told."""

    training: Training
    machine: Machine
    shown: int = SHOWN


class _Looked(Struct, frozen=True):
    """What the rules leave of a case's candidates; nothing of it is known to fit yet."""

    possible: Layouts
    found: Search


class _Fastest(Struct, frozen=True):
    """Of a case's layouts that fit, in order."""

    rows: Positions
    step: StepEstimate


def search_layouts(
    subject: Subject,
    training: Training,
    machine: Machine,
    choices: Choices | None = None,
    belief: Belief | None = None,
    shown: int = SHOWN,
    constants: Constants = CONSTANTS,
) -> Search:
    """Every layout over the machine's devices, the fastest that surely fit first."""
    return search_each(subject, [Case(training, machine, shown)], choices, belief, constants)[0]


def search_each(
    subject: Subject,
    cases: Sequence[Case],
    choices: Choices | None = None,
    belief: Belief | None = None,
    constants: Constants = CONSTANTS,
) -> list[Search]:
    """The same of cases that differ in batch and number of devices alone, in one pass: calls cost, not rows."""
    looked = [_look(subject, each, choices) for each in cases]
    every = Layouts.joined([each.possible for each in looked])
    if not len(every):
        return [each.found for each in looked]
    memory = estimate_memory(subject, cases[0].training, every, cases[0].machine.device, constants)
    surely = np.flatnonzero(fits(memory).positions == FITS.index(Fit.YES))
    ends = np.cumsum([len(each.possible) for each in looked])
    fitting = np.split(surely, np.searchsorted(surely, ends[:-1]))
    if not len(surely):
        return [_unfitting(each, memory, end) for each, end in zip(looked, ends, strict=True)]
    fastest = _fastest(subject, cases, every, fitting, belief)
    return [
        _fitting(each.found, len(rows), best, every, memory) if len(rows) else _unfitting(each, memory, end)
        for each, rows, best, end in zip(looked, fitting, fastest, ends, strict=True)
    ]


def _look(subject: Subject, case: Case, choices: Choices | None) -> _Looked:
    """Apply the rules to a grid: each looks at a few of its axes."""
    training, machine = case.training, case.machine
    every = grid(subject, training, machine.devices, machine.devices_a_node, choices)
    rules, real = refusals(subject, training, every), every.data >= 1
    possible = every.rows(real & unbroken(rules))
    why = "" if len(possible) else _obstacle(subject, case, choices)
    found = Search((), every.count(real), len(possible), 0, None, None, why)
    return _Looked(replace(possible, batch=np.full(len(possible), float(training.global_batch))), found)


def _obstacle(subject: Subject, case: Case, choices: Choices | None) -> str:
    every = candidates(subject, case.training, case.machine.devices, case.machine.devices_a_node, choices)
    return obstacle(refusals(subject, case.training, every))


def _fastest(
    subject: Subject, cases: Sequence[Case], every: Layouts, fitting: Sequence[Positions], belief: Belief | None
) -> list[_Fastest]:
    """For each case, among its rows that fit."""
    rows = np.concatenate(fitting)
    layouts = every.where(rows)
    work = build_work(subject, cases[0].training, layouts, cases[0].machine)
    work = over_machines(work, [(len(own), case.machine) for own, case in zip(fitting, cases, strict=True)])
    seconds = step_middle(work, belief)
    best, start = [], 0
    for own, case in zip(fitting, cases, strict=True):
        stretch = slice(start, start + len(own))
        best.append(start + order(layouts.where(stretch), seconds[stretch])[: case.shown])
        start = stretch.stop
    told = [Stretch(case.training, case.machine, layouts.where(own)) for case, own in zip(cases, best, strict=True)]
    steps = estimate_stretches(subject, told, taken(work, np.concatenate(best)), belief)
    return [_Fastest(rows[own], step) for own, step in zip(best, steps, strict=True)]


def _fitting(found: Search, fitting: int, best: _Fastest, every: Layouts, memory: MemoryEstimate) -> Search:
    held = memory.where(best.rows)
    told = ranked(every.where(best.rows), best.step, held)
    return replace(found, best=told, fitting=fitting, step=best.step, memory=held)


def _unfitting(looked: _Looked, memory: MemoryEstimate, end: int) -> Search:
    if not len(looked.possible):
        return looked.found
    taken_bytes = memory.driver.middle[end - len(looked.possible) : end]
    return replace(looked.found, smallest=looked.possible[int(np.argmin(taken_bytes))])
