"""Calibration of the memory model by measured peaks, for one device and kind of model."""

from collections.abc import Callable, Sequence
from functools import cache
from math import exp, log

from flyball_planner.belief import NINETY
from flyball_planner.calibration.measured_runs import MeasuredRun
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts
from flyball_planner.memory.calibration import Observation, common_factor
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.estimate import Range, estimate_memory

RANGES = {"allocated_bytes": "allocated", "reserved_bytes": "reserved", "driver_bytes": "driver"}
"""The attribute of an estimate that a memory column is compared with."""


def peak_interval(run: MeasuredRun, constants: Constants = CONSTANTS) -> Interval:
    """Return the estimate of the measured memory column."""
    estimate = estimate_memory(run.subject, run.training, Layouts.of(run.layout), run.machine.device, constants)
    figure: Range = getattr(estimate, RANGES[run.memory_column or "driver_bytes"])
    return figure[0]


def peak_factor(runs: Sequence[MeasuredRun], constants: Constants) -> Interval:
    """Return the factor between the new and the previous estimates, with its 90 % interval."""
    after = [peak_interval(run, constants).middle for run in runs]
    middle = sum(log(estimate / peak_interval(run).middle) for run, estimate in zip(runs, after, strict=True)) / len(
        runs
    )
    _, unsure = common_factor(
        [log((run.memory_bytes or estimate) / estimate) for run, estimate in zip(runs, after, strict=True)]
    )
    return Interval(*(exp(middle + side * NINETY * unsure) for side in (-1, 0, 1)))


def observe(run: MeasuredRun) -> Observation:
    """Return the run in the form that the memory calibration takes; the run must have measured memory."""
    return Observation(run.memory_bytes or 0.0, _cached_prediction(run), run.training.frozen_format is not None)


def _cached_prediction(run: MeasuredRun) -> Callable[[Constants], Interval]:
    """Return a cached prediction, because calibrations ask for the same constants more than once."""

    @cache
    def predict(constants: Constants) -> Interval:
        return peak_interval(run, constants)

    return predict
