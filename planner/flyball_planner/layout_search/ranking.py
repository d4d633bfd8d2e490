"""The order of layouts by step time, and the reasons shown for each one."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.layout import NAMES, Layouts, ParallelLayout
from flyball_planner.memory.estimate import MemoryEstimate
from flyball_planner.timing.estimate import StepEstimate

Column = NDArray[np.float64]

NEARLY = 0.01  # steps that differ by less count as equal, and the simpler layout wins


class Ranked(Struct, frozen=True):
    """One layout of the list, with its reasons."""

    layout: ParallelLayout
    step_seconds: float
    slower: float  # share by which it is slower than the first
    memory_bytes: float  # as the driver reports it
    memory_high_bytes: float  # upper end of the 90 % interval
    reasons: tuple[str, ...]  # differences from the first layout and their cost
    variants: int = 0  # as fast ones that are not listed, because they differ only in `VARIED`


class Listed(Struct, frozen=True):
    """Rows in the order of a list, without variants of earlier ones."""

    rows: NDArray[np.intp]
    variants: NDArray[np.intp]  # how many were left out for each


VARIED = ("interleave", "expert", "micro_batch")
"""Parts of a layout in which as fast ones differ without being another choice: a list shows one of them."""


def order(layouts: Layouts, seconds: Column) -> NDArray[np.intp]:
    """Return the order by time in classes of 1 %, then by set-up effort, then by time."""
    parts = [layouts.pipeline > 1, layouts.tensor > 1, layouts.context > 1, layouts.interleave > 1, layouts.offload > 0]
    effort = np.sum([each.astype(float) for each in parts], axis=0) + 0.1 * layouts.sharding
    found: NDArray[np.intp] = np.lexsort((seconds, effort, classes(seconds, seconds.min(initial=np.inf))))
    return found


def listed(layouts: Layouts, seconds: Column, shown: int) -> Listed:
    """Return the first layouts in order, and of variants in one class of seconds only the first."""
    rows = order(layouts, seconds)
    alike = kinds(layouts)[rows], classes(seconds, seconds.min(initial=np.inf))[rows]
    _, first, counts = np.unique(np.stack(alike), axis=1, return_index=True, return_counts=True)
    chosen = np.argsort(first)[:shown]
    return Listed(rows[first[chosen]], counts[chosen] - 1)


def kinds(layouts: Layouts) -> NDArray[np.intp]:
    """Return a number for each layout that only its variants share."""
    names = [name for name in NAMES if name not in VARIED and _differs(getattr(layouts, name))]
    return layouts.distinct(*names)[1]


def _differs(column: Column) -> bool:
    """Return True if a column has two values. numpy.unique without indices would import all of numpy.ma."""
    return bool((column != column[:1]).any())


def classes(seconds: Column, fastest: float) -> Column:
    """Return the class of each time: how many percent it is above the fastest."""
    return np.floor(np.log(seconds / fastest) / NEARLY)


def ranked(layouts: Layouts, step: StepEstimate, memory: MemoryEstimate, variants: NDArray[np.intp]) -> list[Ranked]:
    """Describe layouts that are already in order."""
    first = layouts[0]
    return [
        Ranked(
            layout=layouts[row],
            step_seconds=float(step.middle[row]),
            slower=float(step.middle[row] / step.middle[0] - 1),
            memory_bytes=float(memory.driver.middle[row]),
            memory_high_bytes=float(memory.driver.high[row]),
            reasons=_first_reasons(step, memory) if row == 0 else _differences(first, layouts[row], step, row),
            variants=int(variants[row]),
        )
        for row in range(len(layouts))
    ]


def _first_reasons(step: StepEstimate, memory: MemoryEstimate) -> tuple[str, ...]:
    total = float(step.middle[0])
    costs = [f"{name} {100 * seconds / total:.0f} %" for name, seconds in list(step.parts_of(0).items())[:4]]
    used = float(memory.driver.middle[0] / memory.usable_bytes)
    return (f"step: {', '.join(costs)}", f"uses {100 * used:.0f} % of the device's memory")


WORDS = {
    "tensor": "tensor", "pipeline": "pipeline", "interleave": "chunks per stage", "context": "context",
    "expert": "expert", "micro_batch": "micro-batch", "sharding": "sharding", "checkpointing": "checkpointing",
    "offload": "offload",
}  # fmt: skip


def _differences(first: ParallelLayout, other: ParallelLayout, step: StepEstimate, row: int) -> tuple[str, ...]:
    changed = [
        f"{label} {getattr(other, name)} instead of {getattr(first, name)}"
        for name, label in WORDS.items()
        if getattr(other, name) != getattr(first, name)
    ]
    here, there = step.parts_of(row), step.parts_of(0)
    moved = {name: here.get(name, 0.0) - there.get(name, 0.0) for name in {*here, *there}}
    worst = max(moved, key=lambda each: moved[each])
    cost = [f"{worst} takes {moved[worst] / float(step.middle[0]):.1%} more of a step"] if moved[worst] > 0 else []
    return (*changed, *cost)
