"""Fits the memory model's three fitted constants without the suite that is judged."""

from collections.abc import Callable, Sequence
from statistics import mean, median

from msgspec.structs import replace

from flyball_planner.accuracy.memory_rows import estimate_row, matching_interval, measured_bytes
from flyball_planner.accuracy.rows.vocabulary import words
from flyball_planner.accuracy.tables import TableRow, Tables
from flyball_planner.interval import Interval
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_reports.errors import InputError

FILE = "memory_measured.csv"
NOT_FITTED = "lambda-monitor"  # its batches were chosen to fill the card
SHARES = (0.0, 0.05, 0.10, 0.15, 0.20, 0.25)
USUAL_SHARE = 0.10  # if no suite shows the allocator's cache; the fit is also moved halfway towards it
SPREADS = (0.12, 0.14, 0.16)  # the least: 1.645 × the scatter within and between suites, 5 % each
COVERED = 0.88  # of the rows of the average suite: four of a hundred contradict themselves (see the documents)

Compared = tuple[Interval, float]


def fitted_without(tables: Tables, suite: str) -> Constants:
    """Return the constants fitted without this suite."""
    others = [row for row in tables.of(FILE) if row.suite not in {suite, NOT_FITTED}]
    return _with_spread(_with_omitted(_with_share(CONSTANTS, others), others), others)


def _with_share(start: Constants, rows: list[TableRow]) -> Constants:
    usable = [row for row in rows if _shows_cache(row)]
    usual = replace(start, allocator_share=USUAL_SHARE)
    if not usable:
        return usual
    best = min((replace(start, allocator_share=each) for each in SHARES), key=lambda each: _error(usable, each))
    return replace(start, allocator_share=(best.allocator_share + USUAL_SHARE) / 2)


def _with_omitted(start: Constants, rows: list[TableRow]) -> Constants:
    """Return the mean of the suites' medians, moved halfway towards nothing, because suites are few."""
    none = replace(start, omitted_share=0.0)
    missing = _by_suite(rows, none, lambda found: median(actual / each.middle - 1 for each, actual in found))
    return replace(start, omitted_share=max(0.0, mean(missing) / 2)) if missing else start


def _with_spread(start: Constants, rows: list[TableRow]) -> Constants:
    """Return the smallest spread whose intervals hold nine of ten rows of the average suite, or the largest."""
    for spread in SPREADS:
        wide = replace(start, whole_spread=spread)
        held = _by_suite(rows, wide, lambda found: mean(each.holds(actual) for each, actual in found))
        if not held:
            return start
        if mean(held) >= COVERED:
            return wide
    return replace(start, whole_spread=SPREADS[-1])


def _shows_cache(row: TableRow) -> bool:
    meaning = words(row.configuration, "mem_meaning")
    return "reserved" in meaning or "nodes" in meaning


def _error(rows: list[TableRow], constants: Constants) -> float:
    """Return the mean over suites of their mean errors."""
    errors = _by_suite(rows, constants, lambda found: mean(abs(each.middle / actual - 1) for each, actual in found))
    return mean(errors) if errors else 0.0


def _by_suite(
    rows: list[TableRow], constants: Constants, summarise: Callable[[Sequence[Compared]], float]
) -> list[float]:
    """Return one figure per suite; rows that cannot be predicted are skipped."""
    found: dict[str, list[Compared]] = {}
    for row in rows:
        try:
            predicted = matching_interval(row.configuration, estimate_row(row.configuration, constants))
            found.setdefault(row.suite, []).append((predicted, measured_bytes(row)))
        except InputError:
            continue
    return [summarise(each) for each in found.values()]
