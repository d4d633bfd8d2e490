"""Calibrates the time of steps by measured runs, per device and kind of model, and reports estimated against actual."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flyball_planner.calibration.belief import Belief, narrow, predict_interval
from flyball_planner.calibration.measured_runs import MeasuredRun
from flyball_planner.interval import Interval
from flyball_planner.layouts.columns import Layouts
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.build import build_work
from flyball_planner.timing.coefficients import fitted
from flyball_planner.timing.estimate import logarithms
from flyball_planner.timing.work import Work, join

Kind = tuple[str, str]
"""Device and kind of model: what is learned from one does not hold for another."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measured run beside what was estimated before and after all others were learned from."""

    run: MeasuredRun
    before: Interval
    after: Interval

    @property
    def error_before(self) -> float:
        """Estimated over actual, less one."""
        return self.before.middle / self.run.step_seconds - 1

    @property
    def error_after(self) -> float:
        """The same after calibration; the run itself was not learned from."""
        return self.after.middle / self.run.step_seconds - 1


def kind_of(run: MeasuredRun) -> Kind:
    """The device, and whether the model is dense, a mixture of experts, or told by its operators."""
    subject = run.subject
    if not isinstance(subject, TransformerShape):
        return run.machine.device.name, subject.family
    return run.machine.device.name, "mixture of experts" if subject.experts else "transformer"


def calibrate_steps(runs: Sequence[MeasuredRun], start: Belief | None = None) -> Mapping[Kind, Belief]:
    """What the runs teach, for each device and kind of model."""
    groups: dict[Kind, list[MeasuredRun]] = {}
    for run in runs:
        groups.setdefault(kind_of(run), []).append(run)
    return {kind: _narrowed(group, start or fitted()) for kind, group in groups.items()}


def compare(runs: Sequence[MeasuredRun], start: Belief | None = None) -> list[Comparison]:
    """Each run estimated cold, and again after the others of its device and kind were learned from."""
    known = start or fitted()
    kinds = [kind_of(run) for run in runs]
    found = []
    for position, run in enumerate(runs):
        others = [other for place, other in enumerate(runs) if place != position and kinds[place] == kinds[position]]
        found.append(Comparison(run, _interval(run, known), _interval(run, _narrowed(others, known))))
    return found


def _narrowed(runs: Sequence[MeasuredRun], start: Belief) -> Belief:
    if not runs:
        return start
    work = join([_work(run) for run in runs])
    return narrow(start, lambda point: logarithms(work, point), np.array([run.step_seconds for run in runs]))


def _interval(run: MeasuredRun, belief: Belief) -> Interval:
    work = _work(run)
    low, middle, high = predict_interval(belief, lambda point: logarithms(work, point))
    return Interval(float(low[0]), float(middle[0]), float(high[0]))


def _work(run: MeasuredRun) -> Work:
    return build_work(run.subject, run.training, Layouts.of(run.layout), run.machine)
