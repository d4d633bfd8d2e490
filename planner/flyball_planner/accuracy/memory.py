"""Judges predicted memory by measured peaks: each suite cold and calibrated, and whether what ran was said to fit."""

from collections.abc import Callable, Sequence
from functools import cache, partial

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.judging import Outcome, Outcomes, calibration_folds, predict_rows, sum_up
from flyball_planner.accuracy.memory_fitting import NOT_FITTED, fitted_without
from flyball_planner.accuracy.memory_rows import estimate_row, meant, measured_bytes
from flyball_planner.accuracy.result import CALIBRATED, COLD, Findings, Result
from flyball_planner.accuracy.rows.settings import read_device
from flyball_planner.accuracy.rows.words import read_method
from flyball_planner.accuracy.tables import Configuration, Row, Tables
from flyball_planner.interval import Interval
from flyball_planner.memory.calibrate import Observation, calibrate
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
    """What was said of runs that ran, and of runs that ran out of memory."""

    ran: tuple[Fit, ...] = ()
    failed: tuple[Fit, ...] = ()


def judge_peak_memory(tables: Tables) -> Findings:
    """Every suite, cold and calibrated; then all of them together."""
    found = Findings()
    every: list[Outcome] = []
    told = Fits()
    for suite, rows in tables.suites(FILE).items():
        constants = fitted_without(tables, suite)
        cold = predict_rows(rows, METRIC, partial(_predict, constants), measured_bytes, _card)
        fitting = _told(rows, constants)
        found += sum_up(cold, METRIC, COLD) + _calibrated(rows, constants) + _fitting(suite, fitting)
        if suite != NOT_FITTED:
            every += cold.judged
            told = Fits(told.ran + fitting.ran, told.failed + fitting.failed)
    alone = [each for each in every if each.row.configuration.count("n_gpus", 1) == 1]
    several = [each for each in every if each.row.configuration.count("n_gpus", 1) > 1]
    return found + _together(ONE_DEVICE, alone) + _together(SEVERAL_DEVICES, several) + _fitting(EVERY, told)


def _together(name: str, outcomes: list[Outcome]) -> Findings:
    """One line over suites; their rows are listed already."""
    results = sum_up(Outcomes(outcomes), METRIC, COLD).results
    return Findings([replace(result, suite=name) for result in results])


def _predict(constants: Constants, configuration: Configuration) -> Interval:
    return meant(configuration, estimate_row(configuration, constants))


def _card(configuration: Configuration) -> float | None:
    """What a constant share would be taken of."""
    try:
        return read_device(configuration).memory_bytes
    except InputError:
        return None


def _calibrated(rows: Sequence[Row], constants: Constants) -> Findings:
    usable = [row for row in rows if _is_usable(row, constants)]
    judged: list[Outcomes] = []
    for given, asked in calibration_folds(usable):
        seen = [_observed(row) for row in given]
        judged.append(predict_rows(asked, METRIC, partial(_predict, calibrate(seen, constants)), measured_bytes, _card))
    every = Outcomes(
        [each for fold in judged for each in fold.judged], (), [each for fold in judged for each in fold.unpredicted]
    )
    return sum_up(every, METRIC, CALIBRATED)


def _observed(row: Row) -> Observation:
    quantised = read_method(row.configuration) is Method.QLORA
    return Observation(measured_bytes(row), _remembered(row.configuration), quantised)


def _remembered(configuration: Configuration) -> Callable[[Constants], Interval]:
    """Calibration asks for the same constants more than once."""

    @cache
    def predict(constants: Constants) -> Interval:
        return _predict(constants, configuration)

    return predict


def _is_usable(row: Row, constants: Constants) -> bool:
    try:
        measured_bytes(row)
        _predict(constants, row.configuration)
    except InputError:
        return False
    return True


def _told(rows: Sequence[Row], constants: Constants) -> Fits:
    ran: list[Fit] = []
    failed: list[Fit] = []
    for row in rows:
        try:
            verdict = fits(estimate_row(row.configuration, constants))[0]
        except InputError:
            continue  # already among those that were not predicted
        (failed if row.measured.get("mem_value") == OUT_OF_MEMORY else ran).append(verdict)
    return Fits(tuple(ran), tuple(failed))


def _fitting(suite: str, told: Fits) -> Findings:
    """Whether each run fits: those that ran should, those that ran out of memory must not."""
    every = told.ran + told.failed
    if not every:
        return Findings()
    details = {
        "ran_out_of_memory": float(len(told.failed)),
        "ran_out_of_memory_yet_fits": float(told.failed.count(Fit.YES)),
        "ran_yet_does_not_fit": told.ran.count(Fit.NO) / len(told.ran) if told.ran else 0.0,
        "uncertain": every.count(Fit.UNCERTAIN) / len(every),
    }
    return Findings([Result(FILE, suite, "fits", COLD, len(every), len(every), details=details)])
