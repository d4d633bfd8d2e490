"""Fits the memory model's two fitted constants without the suite that is judged."""

from statistics import mean

from msgspec.structs import replace

from flyball_planner.accuracy.memory_rows import estimate_row, matching_interval, measured_bytes
from flyball_planner.accuracy.rows.words import read_checkpointing, read_method, words
from flyball_planner.accuracy.tables import TableRow, Tables
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.training import Checkpointing, Method
from flyball_reports.errors import InputError

FILE = "memory_measured.csv"
NOT_FITTED = "lambda-monitor"  # its batches were chosen to fill the card
SHARES = (0.0, 0.05, 0.10, 0.15, 0.20, 0.25)
USUAL_SHARE = 0.10  # if no suite shows the allocator's cache; the fit is also moved halfway towards it
COPIES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
UNKNOWN_COPIES = 1.0  # if no run over 4-bit weights shows what its layers store: the middle of the plausible range
UNKNOWN_SPREAD = 0.6  # about the distance to the ends of that range


def fitted_without(tables: Tables, suite: str) -> Constants:
    """Return the constants fitted without this suite."""
    others = [row for row in tables.of(FILE) if row.suite not in {suite, NOT_FITTED}]
    return _with_share(_with_copies(CONSTANTS, others), others)


def _with_copies(start: Constants, rows: list[TableRow]) -> Constants:
    usable = [row for row in rows if _keeps_quantised(row)]
    if not usable:
        return replace(start, quantised_copies=UNKNOWN_COPIES, quantised_spread=UNKNOWN_SPREAD)
    return min((replace(start, quantised_copies=each) for each in COPIES), key=lambda each: _error(usable, each))


def _with_share(start: Constants, rows: list[TableRow]) -> Constants:
    usable = [row for row in rows if _shows_cache(row)]
    usual = replace(start, allocator_share=USUAL_SHARE)
    if not usable:
        return usual
    best = min((replace(start, allocator_share=each) for each in SHARES), key=lambda each: _error(usable, each))
    return replace(start, allocator_share=(best.allocator_share + USUAL_SHARE) / 2)


def _keeps_quantised(row: TableRow) -> bool:
    """Return True if a run trains over 4-bit weights and stores what its layers need."""
    configuration = row.configuration
    return read_method(configuration) is Method.QLORA and read_checkpointing(configuration) is Checkpointing.NONE


def _shows_cache(row: TableRow) -> bool:
    meaning = words(row.configuration, "mem_meaning")
    return "reserved" in meaning or "nodes" in meaning


def _error(rows: list[TableRow], constants: Constants) -> float:
    """Return the mean over suites of their mean errors; rows that cannot be predicted are skipped."""
    by_suite: dict[str, list[float]] = {}
    for row in rows:
        try:
            predicted = matching_interval(row.configuration, estimate_row(row.configuration, constants)).middle
            by_suite.setdefault(row.suite, []).append(abs(predicted / measured_bytes(row) - 1))
        except InputError:
            continue
    return mean(mean(errors) for errors in by_suite.values()) if by_suite else 0.0
