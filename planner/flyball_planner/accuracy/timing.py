"""Judges the time of a step: cold, calibrated with a few rows, and whether the first choice of layouts is the best."""

import math
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from flyball_planner.accuracy.judging import Outcome, Outcomes, calibration_folds, sum_up
from flyball_planner.accuracy.result import CALIBRATED, COLD, Findings, Result
from flyball_planner.accuracy.tables import Row, Tables
from flyball_planner.accuracy.timed_rows import FILE, Timed, TimedRows, seconds_of, timed_rows, work_of
from flyball_planner.calibration.belief import NINETY, Belief, narrow, predict_interval
from flyball_planner.calibration.measured import kind_of
from flyball_planner.interval import Interval
from flyball_planner.precision import Format
from flyball_planner.timing.coefficients import fitted, with_pace
from flyball_planner.timing.estimate import flops_a_sample, logarithms

METRIC = "step_time"
REGRET = "layout_regret"
STRANGENESS = 0.2
"""Deviation of a logarithm between a suite's devices, kinds of models and arithmetics, beside what the coefficients
say."""

Likeness = tuple[str, str, Format]


def judge_step_time(tables: Tables) -> Findings:
    """Every suite of trainings that are given by their dimensions."""
    found = Findings()
    for suite, rows in tables.suites(FILE).items():
        known = timed_rows(rows, METRIC)
        cold = predicted(known.timed, fitted(suite))
        found += _summed(cold, known, COLD)
        found += judge_regret(cold, COLD)
        warm = list(calibrated(known.timed, with_pace(fitted(suite))))
        if warm:
            found += _summed(warm, TimedRows(known.timed, (), ()), CALIBRATED)
            found += judge_regret(warm, CALIBRATED)
    return found


def predicted(rows: Sequence[Timed], belief: Belief) -> list[tuple[Timed, Interval]]:
    """Each row with its interval."""
    if not rows:
        return []
    work = work_of(rows)
    columns = predict_interval(belief, lambda point: logarithms(work, point))
    return [
        (row, _interval(float(low), float(middle), float(high), row.run.spread))
        for row, low, middle, high in zip(rows, *columns, strict=True)
    ]


def _interval(low: float, middle: float, high: float, spread: float) -> Interval:
    """Wider by what is not known of the model."""
    if not spread:
        return Interval(low, middle, high)
    reach = math.hypot(math.log(high / middle), NINETY * spread)
    return Interval(middle * math.exp(-reach), middle, middle * math.exp(reach))


def calibrated(rows: Sequence[Timed], belief: Belief) -> Iterable[tuple[Timed, Interval]]:
    """Each row, predicted after a few others of the suite were given."""
    by_row = {id(each.row): each for each in rows}
    for given, others in calibration_folds([each.row for each in rows]):
        seen = _timed(given, by_row)
        predict = partial(logarithms, work_of(seen))
        for kind, asked in _by_kind(_timed(others, by_row)):
            doubts = np.array([doubt(each, kind) for each in seen])
            yield from predicted(asked, narrow(belief, predict, seconds_of(seen), doubts=doubts))


def _by_kind(rows: Sequence[Timed]) -> Iterable[tuple[Likeness, list[Timed]]]:
    found: dict[Likeness, list[Timed]] = {}
    for each in rows:
        found.setdefault(likeness(each), []).append(each)
    return found.items()


def likeness(timed: Timed) -> Likeness:
    """Device, kind of model, and the format that it multiplies in; the two of 16 bits are alike."""
    kind, compute = kind_of(timed.run.subject, timed.run.machine), timed.run.training.precision.compute
    return kind.device, kind.family, Format.BF16 if compute is Format.FP16 else compute


def doubt(seen: Timed, asked: Likeness) -> float:
    """How much less sure a run is that differs from what is asked for in device, kind of model or arithmetic."""
    differences = sum(one != other for one, other in zip(likeness(seen), asked, strict=True))
    return math.hypot(seen.run.spread, STRANGENESS * math.sqrt(differences))


def judge_regret(predictions: Sequence[tuple[Timed, Interval]], mode: str) -> Findings:
    """What it would have cost to follow the planner: the measured time of its first choice over the best measured one.

    Rows compete that train the same model with the same batch on the same devices.
    """
    groups: dict[tuple[object, ...], list[tuple[Timed, Interval]]] = {}
    for each in predictions:
        groups.setdefault(_competition(each[0]), []).append(each)
    contests = [group for group in groups.values() if len(group) > 1]
    if not contests:
        return Findings()
    excess = np.array([_excess(group) for group in contests])
    first = contests[0][0][0].row
    details = {"groups": float(len(contests)), "rows": float(sum(map(len, contests))), "worst": float(excess.max())}
    return Findings(
        [
            Result(
                file=first.file,
                suite=first.suite,
                metric=REGRET,
                mode=mode,
                eligible=len(contests),
                predicted=len(contests),
                median_ape=float(np.median(excess)),
                mean_ape=float(excess.mean()),
                bias=float(excess.mean()),
                details=details,
            )
        ]
    )


def _competition(timed: Timed) -> tuple[object, ...]:
    run, row = timed.run, timed.row.configuration
    task = (run.subject, run.training.sequence, run.training.global_batch, run.training.precision.name)
    return (*task, run.machine.device.name, run.machine.devices, row["model"], row["framework"], row["precision"])


def _excess(group: Sequence[tuple[Timed, Interval]]) -> float:
    chosen = min(group, key=lambda each: each[1].middle)[0]
    return chosen.seconds / min(each.seconds for each, _ in group) - 1


def _timed(rows: Sequence[Row], by_row: dict[int, Timed]) -> list[Timed]:
    return [by_row[id(row)] for row in rows]


def _summed(predictions: Sequence[tuple[Timed, Interval]], known: TimedRows, mode: str) -> Findings:
    judged = [Outcome(each.row, interval, each.seconds, ideal_seconds(each)) for each, interval in predictions]
    details = _by_reach(predictions)
    if judged:
        details["baseline_mean_ape"] = _single_utilisation_error(judged)
    return sum_up(Outcomes(judged, known.ineligible, known.unpredicted), METRIC, mode, details)


def ideal_seconds(timed: Timed) -> float:
    """At the printed rate: what a single utilisation is divided into."""
    run = timed.run
    flops = flops_a_sample(run.subject, run.training) * run.training.global_batch
    return flops / (run.machine.devices * run.machine.device.rate(run.training.precision.compute))


def _single_utilisation_error(judged: Sequence[Outcome]) -> float:
    """Mean error of the one utilisation that makes it smallest on these very rows."""
    ratios = np.array([each.measured / (each.scale or 1.0) for each in judged])
    errors = [float(np.mean(np.abs(1 / (share * ratios) - 1))) for share in 1 / ratios]
    return min(errors)


def _by_reach(predictions: Sequence[tuple[Timed, Interval]]) -> dict[str, float]:
    """Mean errors within a node and across nodes, where a suite has both or either."""
    within = np.array([each.run.machine.nodes == 1 for each, _ in predictions], dtype=bool)
    errors = np.array([abs(interval.middle / each.seconds - 1) for each, interval in predictions])
    parts = {"within_node": errors[within], "across_nodes": errors[~within]} if len(errors) else {}
    return {f"mean_ape_{name}": float(part.mean()) for name, part in parts.items() if len(part)}
