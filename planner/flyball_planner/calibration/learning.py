"""Learning from measured runs, separately for each device and kind of model."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from flyball_planner.belief import Belief
from flyball_planner.calibration.corrections import Correction, Learned
from flyball_planner.calibration.measured_runs import MeasuredRun, MeasuredRuns, Subject, kind_of
from flyball_planner.calibration.memory_peaks import observe, peak_factor, peak_interval
from flyball_planner.calibration.plausibility import plausible
from flyball_planner.calibration.steps import learn_steps, start_of, step_factor, step_intervals
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.memory.calibration import calibrate
from flyball_planner.memory.constants import CONSTANTS, Constants


def learn(runs: Sequence[MeasuredRun], source: str = "") -> tuple[Learned, ...]:
    """Learn from the runs of each kind."""
    kinds = sorted({run.kind for run in runs})
    return tuple(_learn([run for run in runs if run.kind == kind], source) for kind in kinds)


def learned_for(measured: MeasuredRuns, subject: Subject, machine: TrainingMachine) -> Learned:
    """Learn from the runs whose kind matches this model and machine."""
    kind = kind_of(subject, machine)
    alike, refused = plausible([run for run in measured.runs if run.kind == kind])
    others = tuple(sorted({run.kind for run in measured.runs} - {kind}))
    known = _learn(alike, measured.source) if alike else Learned(kind, source=measured.source)
    return replace(known, others=others, refused=len(measured.refused) + len(refused))


def with_step(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """Return the runs with a measured step."""
    return [run for run in runs if run.step_seconds is not None]


def with_memory(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """Return the runs with measured memory."""
    return [run for run in runs if run.memory_bytes is not None]


def _learn(runs: Sequence[MeasuredRun], source: str) -> Learned:
    belief, steps = _steps(with_step(runs))
    constants, memory = _memory(with_memory(runs))
    return Learned(runs[0].kind, belief, constants, steps, memory, source)


def _steps(runs: Sequence[MeasuredRun]) -> tuple[Belief | None, Correction | None]:
    if not runs:
        return None, None
    before, after = start_of(runs[0]), learn_steps(runs)
    widths = [float(np.median([each.width for each in step_intervals(runs, belief)])) for belief in (before, after)]
    return after, Correction(len(runs), step_factor(runs, before, after), *widths)


def _memory(runs: Sequence[MeasuredRun]) -> tuple[Constants, Correction | None]:
    if not runs:
        return CONSTANTS, None
    constants = calibrate([observe(run) for run in runs])
    widths = [float(np.median([peak_interval(run, each).width for run in runs])) for each in (CONSTANTS, constants)]
    return constants, Correction(len(runs), peak_factor(runs, constants), *widths)
