"""What measured peaks of memory teach: the constants of the memory model for one device and kind of model."""

from collections.abc import Callable, Sequence
from functools import cache
from math import exp, log

from flyball_planner.calibration.belief import NINETY
from flyball_planner.calibration.measured import MeasuredRun
from flyball_planner.interval import Interval
from flyball_planner.layouts.columns import Layouts
from flyball_planner.memory.calibrate import Observation, common_factor
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.estimate import Range, estimate_memory
from flyball_planner.training import Method

RANGES = {"allocated_bytes": "allocated", "reserved_bytes": "reserved", "driver_bytes": "driver"}
"""Which of an estimate's figures a reading is compared with."""


def peak_interval(run: MeasuredRun, constants: Constants = CONSTANTS) -> Interval:
    """What the same reading is estimated to be."""
    estimate = estimate_memory(run.subject, run.training, Layouts.of(run.layout), run.machine.device, constants)
    figure: Range = getattr(estimate, RANGES[run.memory_column or "driver_bytes"])
    return figure[0]


def peak_factor(runs: Sequence[MeasuredRun], constants: Constants) -> Interval:
    """By how much more such runs take than was estimated before, with its 90 % interval."""
    after = [peak_interval(run, constants).middle for run in runs]
    middle = sum(log(told / peak_interval(run).middle) for run, told in zip(runs, after, strict=True)) / len(runs)
    _, unsure = common_factor([log((run.memory_bytes or told) / told) for run, told in zip(runs, after, strict=True)])
    return Interval(*(exp(middle + side * NINETY * unsure) for side in (-1, 0, 1)))


def observe(run: MeasuredRun) -> Observation:
    """A run as a calibration of the memory takes it; it tells a reading."""
    return Observation(run.memory_bytes or 0.0, _remembered(run), run.training.method is Method.QLORA)


def _remembered(run: MeasuredRun) -> Callable[[Constants], Interval]:
    """A calibration asks for the same constants more than once, and several calibrations do."""

    @cache
    def predict(constants: Constants) -> Interval:
        return peak_interval(run, constants)

    return predict
