"""Fits the memory model's two fitted constants again without the suite that is judged."""

from statistics import mean

from msgspec.structs import replace

from flyball_planner.accuracy.memory_rows import estimate_row, meant, measured_bytes
from flyball_planner.accuracy.rows.words import read_checkpointing, read_method, words
from flyball_planner.accuracy.tables import Row, Tables
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.training import Checkpointing, Method
from flyball_reports.errors import InputError

FILE = "memory_measured.csv"
NOT_FITTED = "lambda-monitor"  # its batches were chosen to fill the card
SHARES = (0.0, 0.05, 0.10, 0.15, 0.20, 0.25)
USUAL_SHARE = 0.10  # where no suite shows the allocator's cache; also what the fit is drawn halfway back to
COPIES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
UNKNOWN_COPIES = 1.0  # where no run over 4-bit weights shows what its layers keep: amid what is thinkable …
UNKNOWN_SPREAD = 0.6  # … of which nothing and everything lie about so far off


def fitted_without(tables: Tables, suite: str) -> Constants:
    """The constants as they would be had this suite never been seen."""
    others = [row for row in tables.of(FILE) if row.suite not in {suite, NOT_FITTED}]
    return _with_share(_with_copies(CONSTANTS, others), others)


def _with_copies(start: Constants, rows: list[Row]) -> Constants:
    telling = [row for row in rows if _keeps_quantised(row)]
    if not telling:
        return replace(start, quantised_copies=UNKNOWN_COPIES, quantised_spread=UNKNOWN_SPREAD)
    return min((replace(start, quantised_copies=each) for each in COPIES), key=lambda each: _error(telling, each))


def _with_share(start: Constants, rows: list[Row]) -> Constants:
    telling = [row for row in rows if _shows_cache(row)]
    usual = replace(start, allocator_share=USUAL_SHARE)
    if not telling:
        return usual
    best = min((replace(start, allocator_share=each) for each in SHARES), key=lambda each: _error(telling, each))
    return replace(start, allocator_share=(best.allocator_share + USUAL_SHARE) / 2)


def _keeps_quantised(row: Row) -> bool:
    """Whether a run trains over 4-bit weights and keeps what its layers need."""
    told = row.configuration
    return read_method(told) is Method.QLORA and read_checkpointing(told) is Checkpointing.NONE


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
        except InputError:
            continue
    return mean(mean(errors) for errors in by_suite.values()) if by_suite else 0.0
