"""Estimated against actual: every measured run beside its estimate before, and after the others were learned from."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from flyball_planner.calibration.learned import Learned
from flyball_planner.calibration.learning import learn, timed, weighed
from flyball_planner.calibration.measured import Kind, MeasuredRun, MeasuredRuns, Refused
from flyball_planner.calibration.peaks import observe, peak_interval
from flyball_planner.calibration.plausible import plausible
from flyball_planner.calibration.steps import learn_steps, start_of, step_intervals
from flyball_planner.interval import Interval
from flyball_planner.memory.calibrate import calibrate as calibrate_memory
from flyball_planner.memory.constants import CONSTANTS

PARTS = 12
"""Into so many parts the runs of a kind are divided at most; each is estimated by what the other parts teach."""

STEP, MEMORY = "step_seconds", "memory_bytes"
Told = TypeVar("Told")
Taught = TypeVar("Taught")


class Comparison(Struct, frozen=True):
    """One figure of one run."""

    name: str
    kind: Kind
    quantity: str  # step_seconds or memory_bytes
    measured: float
    before: Interval
    after: Interval  # the run itself was not learned from

    @property
    def error_before(self) -> float:
        """Estimated over measured, less one."""
        return self.before.middle / self.measured - 1

    @property
    def error_after(self) -> float:
        """The same after calibration."""
        return self.after.middle / self.measured - 1


class Calibration(Struct, frozen=True):
    """All that measured runs teach, and how well the planner does with and without them."""

    source: str
    learned: tuple[Learned, ...]
    comparisons: tuple[Comparison, ...]
    refused: tuple[Refused, ...]


def calibrate(measured: MeasuredRuns) -> Calibration:
    """Learn from every run that is plausible."""
    runs, refused = plausible(measured.runs)
    return Calibration(
        source=measured.source,
        learned=learn(runs, measured.source),
        comparisons=tuple(compare(runs)),
        refused=(*measured.refused, *refused),
    )


def compare(runs: Sequence[MeasuredRun]) -> Iterator[Comparison]:
    """Steps first, then memory; within a kind in the order of the runs."""
    kinds = sorted({run.kind for run in runs})
    for kind in kinds:
        yield from _steps([run for run in timed(runs) if run.kind == kind])
    for kind in kinds:
        yield from _memory([run for run in weighed(runs) if run.kind == kind])


def _steps(runs: Sequence[MeasuredRun]) -> Iterator[Comparison]:
    if not runs:
        return
    before = start_of(runs[0])
    cold = step_intervals(runs, before)
    taught = _each_taught(runs, learn_steps, before)
    for run, told, belief in zip(runs, cold, taught, strict=True):
        after = step_intervals([run], belief)[0]
        yield Comparison(run.name, run.kind, STEP, run.step_seconds or 0.0, told, after)


def _memory(runs: Sequence[MeasuredRun]) -> Iterator[Comparison]:
    taught = _each_taught([observe(run) for run in runs], calibrate_memory, CONSTANTS)
    for run, constants in zip(runs, taught, strict=True):
        before, after = peak_interval(run), peak_interval(run, constants)
        yield Comparison(run.name, run.kind, MEMORY, run.memory_bytes or 0.0, before, after)


def _each_taught(runs: Sequence[Told], teach: Callable[[Sequence[Told]], Taught], untaught: Taught) -> list[Taught]:
    """For each run what all runs outside its part teach; a single run has nobody to learn from."""
    parts = min(PARTS, len(runs))
    if parts < 2:
        return [untaught for _ in runs]
    taught = [teach([run for place, run in enumerate(runs) if place % parts != part]) for part in range(parts)]
    return [taught[place % parts] for place in range(len(runs))]
