"""Calibration of the time model by measured steps, for one device and kind of model."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from flyball_planner.belief import (
    NINETY,
    Belief,
    Predict,
    Vector,
    derivatives,
    narrow,
    predict_interval,
)
from flyball_planner.calibration.cluster import learn_cluster
from flyball_planner.calibration.measured_runs import MeasuredRun
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts
from flyball_planner.models.classical_time import SPREAD, classical_seconds
from flyball_planner.models.cost import ModelCost
from flyball_planner.timing.device_belief import believed
from flyball_planner.timing.estimate import logarithms
from flyball_planner.timing.work import join
from flyball_planner.timing.work_builder import build_work

FIT_SCATTER = 0.3
"""Scatter of the logarithm of a classical fit's time between data sets of one implementation on one machine.
LightGBM's own experiments leave a third when one factor is fitted to them."""


def start_of(run: MeasuredRun) -> Belief:
    """Return the belief before any run of this kind was measured."""
    return fit_pace() if cold_fit(run) else believed(run.machine.device)


def fit_pace() -> Belief:
    """Return the belief about a classical model's only factor; at first it is as wide as the model's own interval."""
    variance = (np.log(SPREAD) / NINETY) ** 2 - FIT_SCATTER**2
    return Belief(("pace",), np.zeros(1), np.array([[variance]]), FIT_SCATTER)


def learn_steps(runs: Sequence[MeasuredRun]) -> Belief:
    """Return the belief after runs of one kind; all of them must have a measured step."""
    predict, measured = prediction(runs), np.array([run.step_seconds for run in runs])
    if cold_fit(runs[0]):
        return narrow(fit_pace(), predict, measured)
    return learn_cluster(believed(runs[0].machine.device), predict, measured)


def step_intervals(runs: Sequence[MeasuredRun], belief: Belief) -> list[Interval]:
    """Return the step intervals of runs of one kind under a belief."""
    columns = predict_interval(belief, prediction(runs))
    return [Interval(float(low), float(middle), float(high)) for low, middle, high in zip(*columns, strict=True)]


def cold_seconds(run: MeasuredRun) -> float:
    """Return the uncalibrated step of a run. Its interval is left out because it takes much longer to compute."""
    return float(np.exp(prediction([run])(start_of(run).middle)[0]))


def step_factor(runs: Sequence[MeasuredRun], before: Belief, after: Belief) -> Interval:
    """Return the factor by which steps take longer than previously believed: a geometric mean with a 90 % interval."""
    predict = prediction(runs)
    there = predict(after.middle)
    slopes = derivatives(predict, after.middle, there).mean(axis=0)
    middle = float(np.mean(there - predict(before.middle)))
    reach = NINETY * float(np.sqrt(slopes @ after.covariance @ slopes))
    return Interval(*(float(np.exp(middle + side * reach)) for side in (-1, 0, 1)))


def prediction(runs: Sequence[MeasuredRun]) -> Predict:
    """Return a function from the logarithms of the coefficients to those of the runs' seconds."""
    fits = [fit.middle for fit in map(cold_fit, runs) if fit]
    if fits:
        return partial(_paced, np.log(fits))
    work = join([build_work(run.subject, run.training, Layouts.of(run.layout), run.machine) for run in runs])
    return partial(logarithms, work)


def cold_fit(run: MeasuredRun) -> Interval | None:
    """Return the uncalibrated time of a classical model's fit; nothing for models trained in steps."""
    subject = run.subject
    if not isinstance(subject, ModelCost) or subject.trained_by_gradient:
        return None
    return classical_seconds(subject, run.machine.device, cores=run.machine.host_cores or 0)


def paced_interval(cold: Interval, belief: Belief) -> Interval:
    """Return the calibrated time of a classical fit."""
    low, middle, high = predict_interval(belief, partial(_paced, np.log([cold.middle])))
    return Interval(float(low[0]), float(middle[0]), float(high[0]))


def _paced(cold: Vector, point: Vector) -> Vector:
    moved: Vector = cold + point[0]
    return moved
