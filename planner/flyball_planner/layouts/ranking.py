"""The order of layouts by their step, and what is said of each: what differs from the first, and what that costs."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.memory.estimate import MemoryEstimate
from flyball_planner.timing.estimate import StepEstimate

Column = NDArray[np.float64]

NEARLY = 0.01  # steps that differ by less are equal; then the simpler layout is better


class Ranked(Struct, frozen=True):
    """One layout of the list."""

    layout: Layout
    step_seconds: float
    slower: float  # than the first, as a share
    memory_bytes: float  # what the driver will show
    memory_high_bytes: float  # at most, nine times in ten
    reasons: tuple[str, ...]  # what is different from the first, and what that costs or saves


def order(layouts: Layouts, seconds: Column) -> NDArray[np.intp]:
    """By time in steps of a percent, then by how much has to be set up, then by time."""
    parts = [layouts.pipeline > 1, layouts.tensor > 1, layouts.context > 1, layouts.interleave > 1, layouts.offload > 0]
    effort = np.sum([each.astype(float) for each in parts], axis=0) + 0.1 * layouts.sharding
    found: NDArray[np.intp] = np.lexsort((seconds, effort, classes(seconds, seconds.min(initial=np.inf))))
    return found


def classes(seconds: Column, fastest: float) -> Column:
    """In which percent above the fastest each lies; those of one are equal."""
    return np.floor(np.log(seconds / fastest) / NEARLY)


def ranked(layouts: Layouts, step: StepEstimate, memory: MemoryEstimate) -> list[Ranked]:
    """Layouts that are in order already."""
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
