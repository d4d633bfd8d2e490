"""Measures a task at growing sizes within a time budget."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from flyball_planner.scaling.fitting import Point
from flyball_planner.sweep.configurations import SweepConfiguration
from flyball_planner.sweep.runner import OpenExecutor, SweepProgress, run_sweep, single_process
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
    on_progress: Callable[[SweepProgress], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Point]:
    """Return all repeats of all sizes, from the smallest up. Sizes that failed or exceed the budget are missing.

    The task is called with `samples`; as a command, for example `python train.py --rows {samples}`. A size is not
    started if it would exceed the budget at the pace of the previous one.
    """
    points: list[Point] = []
    deadline = clock() + budget_seconds
    for size in sorted(set(sizes)):
        if points and clock() + _expected_seconds(points, size, repeats) > deadline:
            break
        (outcome,) = run_sweep(
            task,
            [SweepConfiguration.of({SIZE_KEY: size})],
            open_executor=open_executor,
            repeats=repeats,
            journal=journal,
            subject="scaling",
            on_progress=on_progress,
        )
        if outcome.failure and not points:
            raise InputError(f"the smallest size ({size}) fails: {outcome.failure}")
        if outcome.failure:
            break  # larger sizes would fail too
        points += [Point(size, seconds) for seconds in outcome.every_seconds]
    return points


def _expected_seconds(points: Sequence[Point], size: int, repeats: int) -> float:
    """Return the expected time of the next size, at least in proportion to the size."""
    last = points[-1]
    return repeats * last.seconds * size / last.size
