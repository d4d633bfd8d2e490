"""Checks for implausible measured runs: faster than the device, larger than its memory, or far from the estimate.

Without them a wrong unit or setting would distort every later plan.
"""

from collections.abc import Sequence

from flyball_planner.calibration.measured_runs import MeasuredRun, Refused
from flyball_planner.calibration.memory_peaks import peak_interval
from flyball_planner.calibration.steps import cold_seconds
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.flops import flops_of_sample
from flyball_reports.figures import duration, percent, size

FAR = 10.0
"""The largest allowed ratio between measurement and estimate, chosen to be far beyond the estimates' intervals.
Milliseconds given as seconds are off by a thousand. A rate of one device given as that of eight still passes."""


def plausible(runs: Sequence[MeasuredRun]) -> tuple[list[MeasuredRun], list[Refused]]:
    """Return the runs to learn from, and the refused ones with their reasons."""
    reasons = [(run, reason_against(run)) for run in runs]
    return [run for run, reason in reasons if not reason], [Refused(run.name, each) for run, each in reasons if each]


def reason_against(run: MeasuredRun) -> str:
    """Return why a run cannot be used; empty if it can."""
    return _too_fast(run) or _too_large(run) or _too_far(run)


def _too_fast(run: MeasuredRun) -> str:
    if run.step_seconds is None or (isinstance(run.subject, ModelCost) and not run.subject.trained_by_gradient):
        return ""
    flops = _least_flops(run) * run.training.global_batch
    share = flops / run.step_seconds / (run.machine.devices * run.machine.device.rate(run.training.precision.compute))
    if share <= 1:
        return ""
    needed = f"{percent(share)} of the arithmetic of {run.machine.devices} × {run.machine.device.name}"
    return f"a step of {duration(run.step_seconds)} would need {needed}; is it in seconds and for the whole batch?"


def _least_flops(run: MeasuredRun) -> float:
    """Return the FLOPs of a sample without the half of attention that a causal mask hides."""
    if isinstance(run.subject, ModelCost):
        return run.subject.training_flops
    return flops_of_sample(run.subject, run.training, causal=True)


def _too_large(run: MeasuredRun) -> str:
    held = run.machine.device.memory_bytes
    if run.memory_bytes is None or run.memory_bytes <= held:
        return ""
    found = f"{run.memory_column} of {size(run.memory_bytes)}"
    return f"{found} exceeds the {size(held)} of {run.machine.device.name}; is it in bytes and of one device?"


def _too_far(run: MeasuredRun) -> str:
    if run.step_seconds is not None:
        estimate = cold_seconds(run)
        if not 1 / FAR <= run.step_seconds / estimate <= FAR:
            return f"a step of {duration(run.step_seconds)}, but the estimate is {duration(estimate)}: {_CAUSE}"
    if run.memory_bytes is not None:
        estimate = peak_interval(run).middle
        if not 1 / FAR <= run.memory_bytes / estimate <= FAR:
            return f"{run.memory_column} of {size(run.memory_bytes)}, but the estimate is {size(estimate)}: {_CAUSE}"
    return ""


_CAUSE = "a unit or a setting is probably wrong or missing"
