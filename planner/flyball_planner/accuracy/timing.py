"""Judges step times: cold, calibrated with a few rows, and by the choice of layouts."""

import math
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from flyball_planner.accuracy.judgement import PredictedRow, Predictions, calibration_folds, sum_up
from flyball_planner.accuracy.result import CALIBRATED, COLD, Judgement, Result
from flyball_planner.accuracy.tables import TableRow, Tables
from flyball_planner.accuracy.timed_rows import FILE, Timed, TimedRows, seconds_of, timed_rows, work_of
from flyball_planner.belief import NINETY, Belief, predict_interval
from flyball_planner.calibration.cluster import learn_cluster
from flyball_planner.calibration.measured_runs import kind_of
from flyball_planner.interval import Interval
from flyball_planner.precision import NumberFormat
from flyball_planner.timing.device_belief import believed
from flyball_planner.timing.estimate import flops_per_sample, logarithms

METRIC = "step_time"
REGRET = "layout_regret"
STRANGENESS = 0.2
"""Standard deviation of the logarithm between a suite's devices, kinds of models and formats, in addition to the
coefficients' uncertainty."""

Likeness = tuple[str, str, NumberFormat]
Predicted = Sequence[tuple[Timed, Interval]]


def judge_step_time(tables: Tables) -> Judgement:
    """Judge every suite of trainings that are described by dimensions."""
    found = Judgement()
    for suite, rows in tables.suites(FILE).items():
        known = timed_rows(rows, METRIC)
        cold = cold_predictions(known.timed, suite)
        found += _summed(cold, known, COLD)
        found += judge_regret([cold], COLD)
        folds = list(calibrated(known.timed, suite))
        if folds:
            warm = [each for fold in folds for each in fold.judged]
            found += _summed(warm, TimedRows(known.timed, (), ()), CALIBRATED)
            found += judge_regret([fold.every for fold in folds], CALIBRATED)
    return found


def cold_predictions(rows: Sequence[Timed], suite: str) -> Predicted:
    """Return each row as predicted by what is known without its suite."""
    alike: dict[str, list[Timed]] = {}
    for each in rows:
        alike.setdefault(each.run.machine.device.name, []).append(each)
    beliefs = {name: believed(some[0].run.machine.device, suite) for name, some in alike.items()}
    found = {id(each[0]): each for name, some in alike.items() for each in predicted(some, beliefs[name])}
    return [found[id(row)] for row in rows]


def predicted(rows: Sequence[Timed], belief: Belief) -> Predicted:
    """Return each row with its interval."""
    if not rows:
        return []
    work = work_of(rows)
    columns = predict_interval(belief, lambda point: logarithms(work, point))
    return [
        (row, _interval(float(low), float(middle), float(high), row.run.spread))
        for row, low, middle, high in zip(rows, *columns, strict=True)
    ]


def _interval(low: float, middle: float, high: float, spread: float) -> Interval:
    """Widen an interval by the uncertainty of the model."""
    if not spread:
        return Interval(low, middle, high)
    reach = math.hypot(math.log(high / middle), NINETY * spread)
    return Interval(middle * math.exp(-reach), middle, middle * math.exp(reach))


class Fold(Struct, frozen=True):
    """All rows as predicted after five were given, among which layouts are chosen, and those that the fold judges."""

    judged: Predicted
    every: Predicted


def calibrated(rows: Sequence[Timed], suite: str) -> Iterable[Fold]:
    """Yield each fold; every row is judged once, after a few others of the suite were given."""
    by_row = {id(each.row): each for each in rows}
    for given, others in calibration_folds([each.row for each in rows]):
        wanted = {id(row) for row in others}
        every = list(learned_from(_timed(given, by_row), rows, suite))
        yield Fold([each for each in every if id(each[0].row) in wanted], every)


def learned_from(given: Sequence[Timed], others: Sequence[Timed], suite: str) -> Iterable[tuple[Timed, Interval]]:
    """Yield some rows as predicted after the given ones of their suite, as `flyball calibrate` learns them."""
    predict, seconds = partial(logarithms, work_of(given)), seconds_of(given)
    for kind, wanted in _by_kind(others):
        uncertainty = np.array([uncertainty_of(each, kind) for each in given])
        usual = believed(wanted[0].run.machine.device, suite)
        yield from predicted(wanted, learn_cluster(usual, predict, seconds, uncertainty))


def _by_kind(rows: Sequence[Timed]) -> Iterable[tuple[Likeness, list[Timed]]]:
    found: dict[Likeness, list[Timed]] = {}
    for each in rows:
        found.setdefault(likeness(each), []).append(each)
    return found.items()


def likeness(timed: Timed) -> Likeness:
    """Return device, kind of model and format of the arithmetic; both 16-bit formats count as equal."""
    kind, compute = kind_of(timed.run.subject, timed.run.machine), timed.run.training.precision.compute
    return kind.device, kind.family, NumberFormat.BF16 if compute is NumberFormat.FP16 else compute


def uncertainty_of(seen: Timed, wanted: Likeness) -> float:
    """Return the additional uncertainty of a run with another device, kind of model or format."""
    differences = sum(one != other for one, other in zip(likeness(seen), wanted, strict=True))
    return math.hypot(seen.run.spread, STRANGENESS * math.sqrt(differences))


def judge_regret(folds: Sequence[Predicted], mode: str) -> Judgement:
    """Judge the planner's choices: the measured time of its first choice relative to the best measured one.

    Rows compete if they train the same model with the same batch on the same devices, and were predicted together.
    """
    contests = [contest for fold in folds for contest in _contests(fold)]
    if not contests:
        return Judgement()
    excess = np.array([_excess(group) for group in contests])
    first = contests[0][0][0].row
    details = {"groups": float(len(contests)), "rows": float(sum(map(len, contests))), "worst": float(excess.max())}
    return Judgement(
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


def excesses(predictions: Predicted) -> list[float]:
    """Return for each contest by how much the chosen row is slower than the best."""
    return [_excess(group) for group in _contests(predictions)]


def _contests(predictions: Predicted) -> list[Predicted]:
    groups: dict[tuple[object, ...], list[tuple[Timed, Interval]]] = {}
    for each in predictions:
        groups.setdefault(_competition(each[0]), []).append(each)
    return [group for group in groups.values() if len(group) > 1]


def _competition(timed: Timed) -> tuple[object, ...]:
    run, row = timed.run, timed.row.configuration
    task = (run.subject, run.training.sequence, run.training.global_batch, run.training.precision.name)
    return (*task, run.machine.device.name, run.machine.devices, row["model"], row["framework"], row["precision"])


def _excess(group: Predicted) -> float:
    chosen = min(group, key=lambda each: each[1].middle)[0]
    return chosen.seconds / min(each.seconds for each, _ in group) - 1


def _timed(rows: Sequence[TableRow], by_row: dict[int, Timed]) -> list[Timed]:
    return [by_row[id(row)] for row in rows]


def _summed(predictions: Predicted, known: TimedRows, mode: str) -> Judgement:
    judged = [PredictedRow(each.row, interval, each.seconds, ideal_seconds(each)) for each, interval in predictions]
    details = _by_reach(predictions)
    if judged:
        details["baseline_mean_ape"] = _single_utilisation_error(judged)
    return sum_up(Predictions(judged, known.ineligible, known.unpredicted), METRIC, mode, details)


def ideal_seconds(timed: Timed) -> float:
    """Return the time at the nominal rate, which a single utilisation divides."""
    run = timed.run
    flops = flops_per_sample(run.subject, run.training) * run.training.global_batch
    return flops / (run.machine.devices * run.machine.device.rate(run.training.precision.compute))


def _single_utilisation_error(judged: Sequence[PredictedRow]) -> float:
    """Return the mean error of the single utilisation that minimises it on the same rows."""
    ratios = np.array([each.measured / (each.scale or 1.0) for each in judged])
    errors = [float(np.mean(np.abs(1 / (share * ratios) - 1))) for share in 1 / ratios]
    return min(errors)


def _by_reach(predictions: Predicted) -> dict[str, float]:
    """Return mean errors within a node and across nodes, if the suite has them."""
    within = np.array([each.run.machine.nodes == 1 for each, _ in predictions], dtype=bool)
    errors = np.array([abs(interval.middle / each.seconds - 1) for each, interval in predictions])
    parts = {"within_node": errors[within], "across_nodes": errors[~within]} if len(errors) else {}
    return {f"mean_ape_{name}": float(part.mean()) for name, part in parts.items() if len(part)}
