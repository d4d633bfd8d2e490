"""What measured steps teach: where the coefficients of the time model lie for one device and kind of model."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from flyball_planner.calibration.belief import (
    NINETY,
    Belief,
    Predict,
    Vector,
    derivatives,
    narrow,
    predict_interval,
)
from flyball_planner.calibration.measured import MeasuredRun
from flyball_planner.interval import Interval
from flyball_planner.layouts.columns import Layouts
from flyball_planner.models.classical_time import SPREAD, classical_seconds
from flyball_planner.models.cost import ModelCost
from flyball_planner.timing.build import build_work
from flyball_planner.timing.coefficients import fitted, with_pace
from flyball_planner.timing.estimate import logarithms
from flyball_planner.timing.work import join

FIT_SCATTER = 0.3
"""Of the logarithm of a classical fit's time, between data sets of one implementation on one machine: a third is what
LightGBM's own experiments leave when one factor is fitted to them."""


def start_of(run: MeasuredRun) -> Belief:
    """What is believed before any run of its kind was measured."""
    return fit_pace() if cold_fit(run) else fitted()


def fit_pace() -> Belief:
    """Of a classical model a single factor is unknown; at first it is as wide as the model's own interval."""
    variance = (np.log(SPREAD) / NINETY) ** 2 - FIT_SCATTER**2
    return Belief(("pace",), np.zeros(1), np.array([[variance]]), FIT_SCATTER)


def learn_steps(runs: Sequence[MeasuredRun]) -> Belief:
    """The belief that some runs of one kind leave; all of them tell the time of a step."""
    start = fit_pace() if cold_fit(runs[0]) else with_pace(fitted())
    return narrow(start, prediction(runs), np.array([run.step_seconds for run in runs]))


def step_intervals(runs: Sequence[MeasuredRun], belief: Belief) -> list[Interval]:
    """The steps of some runs of one kind, as a belief has them."""
    columns = predict_interval(belief, prediction(runs))
    return [Interval(float(low), float(middle), float(high)) for low, middle, high in zip(*columns, strict=True)]


def cold_seconds(run: MeasuredRun) -> float:
    """The step of a run without calibration, and without its interval, which takes much longer."""
    return float(np.exp(prediction([run])(start_of(run).middle)[0]))


def step_factor(runs: Sequence[MeasuredRun], before: Belief, after: Belief) -> Interval:
    """By how much longer such steps take than was believed before: their geometric mean, with its 90 % interval."""
    predict = prediction(runs)
    there = predict(after.middle)
    slopes = derivatives(predict, after.middle, there).mean(axis=0)
    middle = float(np.mean(there - predict(before.middle)))
    reach = NINETY * float(np.sqrt(slopes @ after.covariance @ slopes))
    return Interval(*(float(np.exp(middle + side * reach)) for side in (-1, 0, 1)))


def prediction(runs: Sequence[MeasuredRun]) -> Predict:
    """The logarithms of these runs' seconds, from those of the coefficients."""
    fits = [fit.middle for fit in map(cold_fit, runs) if fit]
    if fits:
        return partial(_paced, np.log(fits))
    work = join([build_work(run.subject, run.training, Layouts.of(run.layout), run.machine) for run in runs])
    return partial(logarithms, work)


def cold_fit(run: MeasuredRun) -> Interval | None:
    """The time of a classical model's fit without calibration; nothing for what is trained by steps."""
    subject = run.subject
    if not isinstance(subject, ModelCost) or subject.trained_by_gradient:
        return None
    return classical_seconds(subject, run.machine.device, cores=run.machine.host_cores or 0)


def paced_interval(cold: Interval, belief: Belief) -> Interval:
    """A classical fit's time after calibration."""
    low, middle, high = predict_interval(belief, partial(_paced, np.log([cold.middle])))
    return Interval(float(low[0]), float(middle[0]), float(high[0]))


def _paced(cold: Vector, point: Vector) -> Vector:
    moved: Vector = cold + point[0]
    return moved
