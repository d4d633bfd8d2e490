"""Rows of a throughput table with their measurements, prepared to predict many at once."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.accuracy.result import Skipped, Unsuited
from flyball_planner.accuracy.tables import TableRow
from flyball_planner.accuracy.throughput_rows import ThroughputRun, run_of
from flyball_planner.layouts.layout import Layouts
from flyball_planner.timing.estimate import flops_per_sample
from flyball_planner.timing.work import Work, join
from flyball_planner.timing.work_builder import build_work
from flyball_reports.errors import InputError

FILE = "throughput.csv"
PUBLISHED = Path(__file__).with_name("data")
"""Published suites that no coefficient is fitted to: rows of articles and documentation with their sources."""


class Timed(Struct, frozen=True):
    """A row with its run, its work, and its measured step."""

    row: TableRow
    run: ThroughputRun
    work: Work
    seconds: float


class TimedRows(Struct, frozen=True):
    """The rows of one suite."""

    timed: Sequence[Timed]
    ineligible: Sequence[Skipped]
    unpredicted: Sequence[Skipped]


def timed_rows(rows: Sequence[TableRow], metric: str) -> TimedRows:
    """Return each row as a run; incomplete rows are set aside with the reason."""
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


def measured_seconds(row: TableRow, run: ThroughputRun) -> float:
    """Return the seconds of a step from whichever column is available."""
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
    raise Unsuited("the row has neither a step time nor a rate")


def _model_flops(run: ThroughputRun) -> float:
    return flops_per_sample(run.subject, run.training) * run.training.global_batch


def work_of(rows: Sequence[Timed]) -> Work:
    """Return the work of all rows as columns."""
    return join([each.work for each in rows])


def seconds_of(rows: Sequence[Timed]) -> NDArray[np.float64]:
    """Return the measured seconds of all rows."""
    return np.array([each.seconds for each in rows])
