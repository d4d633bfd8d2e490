"""Runs a task at growing sizes, as far as the time allowed for it reaches."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from flyball_planner.scaling.fitting import Point
from flyball_planner.sweep.configurations import Configuration
from flyball_planner.sweep.running import OpenExecutor, Progress, run_sweep, single_process
from flyball_planner.sweep.trial import Task
from flyball_reports.errors import InputError

SIZES = (100, 1_000, 10_000, 50_000)
TARGETS = (100_000_000, 1_000_000_000)
REPEATS = 3
SIZE_KEY = "samples"


def measure_sizes(
    task: Task,
    sizes: Sequence[int] = SIZES,
    *,
    repeats: int = REPEATS,
    budget_seconds: float = float("inf"),
    open_executor: OpenExecutor = single_process,
    journal: Path | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Point]:
    """Every repeat of every size, from the smallest up; sizes that failed or no longer fit the budget are missing.

    The task is called with `samples`; `python train.py --rows {samples}` as a command. A size is not begun if, at the
    pace of the one before, it would outlast the budget.
    """
    points: list[Point] = []
    deadline = clock() + budget_seconds
    for size in sorted(set(sizes)):
        if points and clock() + _foreseen(points, size, repeats) > deadline:
            break
        (outcome,) = run_sweep(
            task,
            [Configuration.of({SIZE_KEY: size})],
            open_executor=open_executor,
            repeats=repeats,
            journal=journal,
            subject="scaling",
            on_progress=on_progress,
        )
        if outcome.failure and not points:
            raise InputError(f"the smallest size ({size}) already fails: {outcome.failure}")
        if outcome.failure:
            break  # what fails for its size fails for a larger one too
        points += [Point(size, seconds) for seconds in outcome.every_seconds]
    return points


def _foreseen(points: Sequence[Point], size: int, repeats: int) -> float:
    """At least in proportion to the size."""
    last = points[-1]
    return repeats * last.seconds * size / last.size
