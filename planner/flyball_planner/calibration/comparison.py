"""Estimates compared with measurements, before and after learning from the other runs."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from flyball_planner.calibration.corrections import Learned
from flyball_planner.calibration.learning import learn, with_memory, with_step
from flyball_planner.calibration.measured_runs import MeasuredRun, MeasuredRuns, Refused, RunKind
from flyball_planner.calibration.memory_peaks import observe, peak_interval
from flyball_planner.calibration.plausibility import plausible
from flyball_planner.calibration.steps import learn_steps, start_of, step_intervals
from flyball_planner.interval import Interval
from flyball_planner.memory.calibration import calibrate as calibrate_memory
from flyball_planner.memory.constants import CONSTANTS

PARTS = 12
"""The largest number of parts into which the runs of a kind are divided. Each part is estimated by the others."""

STEP, MEMORY = "step_seconds", "memory_bytes"
Sample = TypeVar("Sample")
Taught = TypeVar("Taught")


class Comparison(Struct, frozen=True):
    """One measured quantity of one run, and its estimates."""

    name: str
    kind: RunKind
    quantity: str  # step_seconds or memory_bytes
    measured: float
    before: Interval
    after: Interval  # learned from other runs only

    @property
    def error_before(self) -> float:
        """Return the relative error before calibration."""
        return self.before.middle / self.measured - 1

    @property
    def error_after(self) -> float:
        """Return the relative error after calibration."""
        return self.after.middle / self.measured - 1


class CalibrationResult(Struct, frozen=True):
    """Everything that the measured runs show: corrections, errors before and after, and refused runs."""

    source: str
    learned: tuple[Learned, ...]
    comparisons: tuple[Comparison, ...]
    refused: tuple[Refused, ...]


def calibrate(measured: MeasuredRuns) -> CalibrationResult:
    """Learn from every plausible run."""
    runs, refused = plausible(measured.runs)
    return CalibrationResult(
        source=measured.source,
        learned=learn(runs, measured.source),
        comparisons=tuple(compare(runs)),
        refused=(*measured.refused, *refused),
    )


def compare(runs: Sequence[MeasuredRun]) -> Iterator[Comparison]:
    """Yield all comparisons: steps first, then memory; within a kind in the order of the runs."""
    kinds = sorted({run.kind for run in runs})
    for kind in kinds:
        yield from _steps([run for run in with_step(runs) if run.kind == kind])
    for kind in kinds:
        yield from _memory([run for run in with_memory(runs) if run.kind == kind])


def _steps(runs: Sequence[MeasuredRun]) -> Iterator[Comparison]:
    if not runs:
        return
    before = start_of(runs[0])
    cold = step_intervals(runs, before)
    taught = _each_taught(runs, learn_steps, before)
    for run, estimate, belief in zip(runs, cold, taught, strict=True):
        after = step_intervals([run], belief)[0]
        yield Comparison(run.name, run.kind, STEP, run.step_seconds or 0.0, estimate, after)


def _memory(runs: Sequence[MeasuredRun]) -> Iterator[Comparison]:
    taught = _each_taught([observe(run) for run in runs], calibrate_memory, CONSTANTS)
    for run, constants in zip(runs, taught, strict=True):
        before, after = peak_interval(run), peak_interval(run, constants)
        yield Comparison(run.name, run.kind, MEMORY, run.memory_bytes or 0.0, before, after)


def _each_taught(runs: Sequence[Sample], teach: Callable[[Sequence[Sample]], Taught], untaught: Taught) -> list[Taught]:
    """Return what the runs outside each run's part teach; a single run gets the uncalibrated value."""
    parts = min(PARTS, len(runs))
    if parts < 2:
        return [untaught for _ in runs]
    taught = [teach([run for place, run in enumerate(runs) if place % parts != part]) for part in range(parts)]
    return [taught[place % parts] for place in range(len(runs))]
