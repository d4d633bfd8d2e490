"""Fits the memory model's two fitted constants again without the suite that is judged."""

from dataclasses import replace
from statistics import mean

from flyball_planner.accuracy.memory_rows import estimate_row, meant, measured_bytes
from flyball_planner.accuracy.rows.words import read_method, words
from flyball_planner.accuracy.tables import Row, Tables
from flyball_planner.errors import PlanError
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.training import Method

FILE = "memory_measured.csv"
NOT_FITTED = "lambda-monitor"  # its batches were chosen to fill the card
SHARES = (0.0, 0.05, 0.10, 0.15, 0.20, 0.25)
COPIES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
UNKNOWN_SHARE = 0.10
UNKNOWN_COPIES = 0.0


def fitted_without(tables: Tables, suite: str) -> Constants:
    """The constants as they would be had this suite never been seen."""
    others = [row for row in tables.of(FILE) if row.suite not in {suite, NOT_FITTED}]
    quantised = [row for row in others if read_method(row.configuration) is Method.QLORA]
    reserved = [row for row in others if _shows_cache(row)]
    found = replace(CONSTANTS, allocator_share=UNKNOWN_SHARE, quantised_copies=UNKNOWN_COPIES)
    found = min((replace(found, quantised_copies=each) for each in COPIES), key=lambda each: _error(quantised, each))
    return min((replace(found, allocator_share=each) for each in SHARES), key=lambda each: _error(reserved, each))


def _shows_cache(row: Row) -> bool:
    told = words(row.configuration, "mem_meaning")
    return "reserved" in told or "nodes" in told


def _error(rows: list[Row], constants: Constants) -> float:
    """The mean over suites of their mean errors; rows that cannot be predicted teach nothing."""
    by_suite: dict[str, list[float]] = {}
    for row in rows:
        try:
            predicted = meant(row.configuration, estimate_row(row.configuration, constants)).middle
            by_suite.setdefault(row.suite, []).append(abs(predicted / measured_bytes(row) - 1))
        except PlanError:
            continue
    return mean(mean(errors) for errors in by_suite.values()) if by_suite else 0.0
