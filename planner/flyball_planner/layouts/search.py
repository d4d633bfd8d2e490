"""The best way to spread a training: every layout that is allowed and fits, by the time of its step, with reasons."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.calibration.belief import Belief
from flyball_planner.catalogue.hardware import Machine
from flyball_planner.errors import PlanError
from flyball_planner.layouts.candidates import Choices, candidates
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.layouts.rules import obstacle, refusals, unbroken
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.estimate import MemoryEstimate, estimate_memory
from flyball_planner.memory.verdict import FITS, Fit, fits
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.build import build_work
from flyball_planner.timing.estimate import StepEstimate, estimate_step, step_middle
from flyball_planner.timing.work import taken
from flyball_planner.training import Offload, Training

Subject = TransformerShape | ModelCost
Column = NDArray[np.float64]

SHOWN = 10
NEARLY = 0.01  # steps that differ by less are equal; then the simpler layout is better


class Ranked(Struct, frozen=True):
    """One layout of the list."""

    layout: Layout
    step_seconds: float
    slower: float  # than the first, as a share
    memory_bytes: float  # what the driver will show
    memory_high_bytes: float  # at most, nine times in ten
    reasons: tuple[str, ...]  # what is different from the first, and what that costs or saves


class Search(Struct, frozen=True):
    """What was looked through, and the best of it."""

    best: Sequence[Ranked]
    candidates: int
    allowed: int
    fitting: int
    refused: Mapping[str, int]  # reason → layouts
    step: StepEstimate | None  # of the best, in the same order
    memory: MemoryEstimate | None
    obstacle: str = ""  # what stands in the way where nothing is allowed

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
    every = candidates(subject, training, machine.devices, machine.devices_a_node, choices)
    rules = refusals(subject, training, every)
    possible = every.where(unbroken(rules))
    refused = Counter({each.reason: int(each.broken.sum()) for each in rules})
    if not len(possible):
        return Search((), len(every), 0, 0, +refused, None, None, obstacle(rules))
    memory = estimate_memory(subject, training, possible, machine.device, constants)
    rows = np.flatnonzero(fits(memory).positions == FITS.index(Fit.YES))
    if not len(rows):
        return Search((), len(every), len(possible), 0, +refused, None, None)
    fitting = possible.where(rows)
    work = build_work(subject, training, fitting, machine)
    best = _order(fitting, step_middle(work, belief))[:shown]
    chosen, held = fitting.where(best), memory.where(rows[best])
    step = estimate_step(subject, training, chosen, machine, belief, taken(work, best))
    return Search(_ranked(chosen, step, held), len(every), len(possible), len(rows), +refused, step, held)


def _order(layouts: Layouts, seconds: Column) -> NDArray[np.intp]:
    """By time in steps of a percent, then by how much has to be set up, then by time."""
    classes = np.floor(np.log(seconds / seconds.min()) / NEARLY)
    parts = [layouts.pipeline > 1, layouts.tensor > 1, layouts.context > 1, layouts.interleave > 1, layouts.offload > 0]
    effort = np.sum([each.astype(float) for each in parts], axis=0) + 0.1 * layouts.sharding
    order: NDArray[np.intp] = np.lexsort((seconds, effort, classes))
    return order


def _ranked(layouts: Layouts, step: StepEstimate, memory: MemoryEstimate) -> list[Ranked]:
    first = layouts[0]
    return [
        Ranked(
            layout=layouts[row],
            step_seconds=float(step.middle[row]),
            slower=float(step.middle[row] / step.middle[0] - 1),
            memory_bytes=float(memory.driver.middle[row]),
            memory_high_bytes=float(memory.driver.high[row]),
            reasons=_first_reasons(step, memory) if row == 0 else _differences(first, layouts[row], step, row),
        )
        for row in range(len(layouts))
    ]


def _first_reasons(step: StepEstimate, memory: MemoryEstimate) -> tuple[str, ...]:
    whole = float(step.middle[0])
    costs = [f"{name} {seconds / whole:.0%}" for name, seconds in list(step.parts_of(0).items())[:4]]
    used = float(memory.driver.middle[0] / memory.usable_bytes)
    return (f"of its step: {', '.join(costs)}", f"takes {used:.0%} of the device's memory")


WORDS = {
    "tensor": "tensor", "pipeline": "pipeline", "interleave": "chunks a stage", "context": "context",
    "expert": "expert", "micro_batch": "micro-batch", "sharding": "sharding", "checkpointing": "checkpointing",
    "offload": "offload",
}  # fmt: skip


def _differences(first: Layout, other: Layout, step: StepEstimate, row: int) -> tuple[str, ...]:
    changed = [
        f"{said} {getattr(other, name)} instead of {getattr(first, name)}"
        for name, said in WORDS.items()
        if getattr(other, name) != getattr(first, name)
    ]
    here, there = step.parts_of(row), step.parts_of(0)
    moved = {name: here.get(name, 0.0) - there.get(name, 0.0) for name in {*here, *there}}
    worst = max(moved, key=lambda each: moved[each])
    cost = [f"{worst} takes {moved[worst] / float(step.middle[0]):.1%} of a step more"] if moved[worst] > 0 else []
    return (*changed, *cost)


def offloading(choices: Choices | None = None) -> Choices:
    """The same choices with states on the host where they would not fit otherwise."""
    known = choices or Choices()
    return Choices(**{name: getattr(known, name) for name in WORDS if name != "offload"}, offload=tuple(Offload))
