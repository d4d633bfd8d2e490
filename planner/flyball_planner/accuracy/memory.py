"""Judges predicted memory by measured peaks: each suite cold and calibrated, and the verdicts on runs that ran or
failed."""

from collections.abc import Callable, Sequence
from functools import cache, partial

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.judgement import PredictedRow, Predictions, calibration_folds, predict_rows, sum_up
from flyball_planner.accuracy.memory_fitting import NOT_FITTED, fitted_without
from flyball_planner.accuracy.memory_rows import estimate_row, matching_interval, measured_bytes
from flyball_planner.accuracy.result import CALIBRATED, COLD, Judgement, Result
from flyball_planner.accuracy.rows.settings import read_device
from flyball_planner.accuracy.rows.words import read_method
from flyball_planner.accuracy.tables import RowConfiguration, TableRow, Tables
from flyball_planner.interval import Interval
from flyball_planner.memory.calibration import Observation, calibrate
from flyball_planner.memory.constants import Constants
from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.training import Method
from flyball_reports.errors import InputError

FILE = "memory_measured.csv"
METRIC = "peak_memory"
OUT_OF_MEMORY = "OOM"
EVERY = f"every suite but {NOT_FITTED}"
ONE_DEVICE, SEVERAL_DEVICES = f"{EVERY}, one device", f"{EVERY}, several devices"


class Fits(Struct, frozen=True):
    """The verdicts on runs that ran, and on runs that ran out of memory."""

    ran: tuple[Fit, ...] = ()
    failed: tuple[Fit, ...] = ()


def judge_peak_memory(tables: Tables) -> Judgement:
    """Judge every suite cold and calibrated, then all suites together."""
    found = Judgement()
    every: list[PredictedRow] = []
    verdicts = Fits()
    for suite, rows in tables.suites(FILE).items():
        constants = fitted_without(tables, suite)
        cold = predict_rows(rows, METRIC, partial(_predict, constants), measured_bytes, _card)
        fitting = _verdicts(rows, constants)
        found += sum_up(cold, METRIC, COLD) + _calibrated(rows, constants) + _fitting(suite, fitting)
        if suite != NOT_FITTED:
            every += cold.judged
            verdicts = Fits(verdicts.ran + fitting.ran, verdicts.failed + fitting.failed)
    alone = [each for each in every if each.row.configuration.count("n_gpus", 1) == 1]
    several = [each for each in every if each.row.configuration.count("n_gpus", 1) > 1]
    return found + _together(ONE_DEVICE, alone) + _together(SEVERAL_DEVICES, several) + _fitting(EVERY, verdicts)


def _together(name: str, outcomes: list[PredictedRow]) -> Judgement:
    """Return one result over suites; their rows are already listed."""
    results = sum_up(Predictions(outcomes), METRIC, COLD).results
    return Judgement([replace(result, suite=name) for result in results])


def _predict(constants: Constants, configuration: RowConfiguration) -> Interval:
    return matching_interval(configuration, estimate_row(configuration, constants))


def _card(configuration: RowConfiguration) -> float | None:
    """Return the scale of the constant baseline: the card's memory."""
    try:
        return read_device(configuration).memory_bytes
    except InputError:
        return None


def _calibrated(rows: Sequence[TableRow], constants: Constants) -> Judgement:
    usable = [row for row in rows if _is_usable(row, constants)]
    judged: list[Predictions] = []
    for given, others in calibration_folds(usable):
        seen = [_observed(row) for row in given]
        judged.append(
            predict_rows(others, METRIC, partial(_predict, calibrate(seen, constants)), measured_bytes, _card)
        )
    every = Predictions(
        [each for fold in judged for each in fold.judged], (), [each for fold in judged for each in fold.unpredicted]
    )
    return sum_up(every, METRIC, CALIBRATED)


def _observed(row: TableRow) -> Observation:
    quantised = read_method(row.configuration) is Method.QLORA
    return Observation(measured_bytes(row), _cached_prediction(row.configuration), quantised)


def _cached_prediction(configuration: RowConfiguration) -> Callable[[Constants], Interval]:
    """Return a cached prediction, because calibration asks for the same constants more than once."""

    @cache
    def predict(constants: Constants) -> Interval:
        return _predict(constants, configuration)

    return predict


def _is_usable(row: TableRow, constants: Constants) -> bool:
    try:
        measured_bytes(row)
        _predict(constants, row.configuration)
    except InputError:
        return False
    return True


def _verdicts(rows: Sequence[TableRow], constants: Constants) -> Fits:
    ran: list[Fit] = []
    failed: list[Fit] = []
    for row in rows:
        try:
            verdict = fits(estimate_row(row.configuration, constants))[0]
        except InputError:
            continue  # already listed as not predicted
        (failed if row.measured.get("mem_value") == OUT_OF_MEMORY else ran).append(verdict)
    return Fits(tuple(ran), tuple(failed))


def _fitting(suite: str, verdicts: Fits) -> Judgement:
    """Return the verdicts: runs that ran should fit, and runs that ran out of memory must not."""
    every = verdicts.ran + verdicts.failed
    if not every:
        return Judgement()
    details = {
        "ran_out_of_memory": float(len(verdicts.failed)),
        "ran_out_of_memory_yet_fits": float(verdicts.failed.count(Fit.YES)),
        "ran_yet_does_not_fit": verdicts.ran.count(Fit.NO) / len(verdicts.ran) if verdicts.ran else 0.0,
        "uncertain": every.count(Fit.UNCERTAIN) / len(every),
    }
    return Judgement([Result(FILE, suite, "fits", COLD, len(every), len(every), details=details)])
