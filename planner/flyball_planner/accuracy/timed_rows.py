"""Rows of a throughput table with what they measured, ready to be predicted many at once."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.accuracy.result import Skipped, Unsuited
from flyball_planner.accuracy.tables import Row
from flyball_planner.accuracy.throughput_rows import Run, run_of
from flyball_planner.layouts.columns import Layouts
from flyball_planner.timing.build import build_work
from flyball_planner.timing.estimate import flops_a_sample
from flyball_planner.timing.work import Work, join
from flyball_reports.errors import InputError

FILE = "throughput.csv"


class Timed(Struct, frozen=True):
    """One row: what it describes, its work, and the seconds a step took."""

    row: Row
    run: Run
    work: Work
    seconds: float


class TimedRows(Struct, frozen=True):
    """The rows of one suite."""

    timed: Sequence[Timed]
    ineligible: Sequence[Skipped]
    unpredicted: Sequence[Skipped]


def timed_rows(rows: Sequence[Row], metric: str) -> TimedRows:
    """Each row as a run of known length; rows that say too little are kept apart with the reason."""
    timed: list[Timed] = []
    ineligible: list[Skipped] = []
    unpredicted: list[Skipped] = []
    for row in rows:
        try:
            run = run_of(row.configuration)
            seconds = measured_seconds(row, run)
            work = build_work(run.subject, run.training, Layouts.of(run.layout), run.machine)
            timed.append(Timed(row, run, work, seconds))
        except Unsuited as reason:
            ineligible.append(Skipped(row.file, row.suite, row.id, metric, str(reason)))
        except InputError as reason:
            unpredicted.append(Skipped(row.file, row.suite, row.id, metric, str(reason)))
    return TimedRows(timed, ineligible, unpredicted)


def measured_seconds(row: Row, run: Run) -> float:
    """Seconds of a step by whichever column tells them."""
    devices = run.machine.devices
    if seconds := row.shown("step_time_s"):
        return seconds
    if speed := row.shown("tokens_per_s_per_gpu"):
        return run.tokens / (speed * devices)
    if speed := row.shown("samples_per_s"):
        return run.training.global_batch / speed
    if rate := row.shown("tflops_per_gpu"):
        return _model_flops(run) / (rate * 1e12 * devices)
    if share := row.shown("mfu_pct"):
        peak = run.machine.device.rate(run.training.precision.compute)
        return _model_flops(run) / (share / 100 * peak * devices)
    raise Unsuited("neither a step's time nor a rate is stated")


def _model_flops(run: Run) -> float:
    return flops_a_sample(run.subject, run.training) * run.training.global_batch


def work_of(rows: Sequence[Timed]) -> Work:
    """All rows' work as columns."""
    return join([each.work for each in rows])


def seconds_of(rows: Sequence[Timed]) -> NDArray[np.float64]:
    """All rows' measured seconds."""
    return np.array([each.seconds for each in rows])
