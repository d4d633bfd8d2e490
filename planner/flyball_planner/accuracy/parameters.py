"""Judges numbers of parameters and multiplications by published and instantiated ones."""

import re

from flyball_planner.accuracy.judgement import predict_rows, sum_up
from flyball_planner.accuracy.parameter_rows import counted_model
from flyball_planner.accuracy.result import EXACT, Judgement, Unsuited
from flyball_planner.accuracy.tables import PARAMETERS_FILE, RowConfiguration, TableRow, Tables
from flyball_planner.interval import Interval

METRIC = "parameters"
MULTIPLICATIONS = "forward_macs"
OPERATIONS_A_MULTIPLICATION = 2.0


def judge_parameters(tables: Tables) -> Judgement:
    """Judge counts, which must agree to the printed digits, and multiplications of image networks."""
    found = Judgement()
    for rows in tables.suites(PARAMETERS_FILE).values():
        counts = predict_rows(rows, METRIC, _parameters, _count)
        details = {
            "to_the_printed_digits": float(sum(each.predicted.middle == each.measured for each in counts.judged))
        }
        found += sum_up(counts, METRIC, EXACT, details)
        found += sum_up(predict_rows(rows, MULTIPLICATIONS, _multiplications, _printed_macs), MULTIPLICATIONS, EXACT)
    return found


def printed(count: float, kind: str) -> float:
    """Round a count like its source."""
    if kind.startswith("exact"):
        return count
    digits = re.search(r"(\d+) decimals? in billions", kind)
    if digits:
        return round(count, int(digits[1]) - 9)
    if "rounded to 10k" in kind:
        return round(count, -4)
    raise Unsuited(f"the count is {kind!r}, which is not exact")


def _parameters(configuration: RowConfiguration) -> Interval:
    kind = configuration["params_kind"]
    printed(0, kind)  # nominal counts cannot be judged
    return Interval.exactly(printed(counted_model(configuration).parameters, kind))


def _count(row: TableRow) -> float:
    return round(_shown(row, "params"))  # some are printed in billions and lose a digit as floats


def _multiplications(configuration: RowConfiguration) -> Interval:
    return Interval.exactly(counted_model(configuration).forward_flops / OPERATIONS_A_MULTIPLICATION)


def _printed_macs(row: TableRow) -> float:
    return _shown(row, "fwd_gmacs_per_sample") * 1e9


def _shown(row: TableRow, column: str) -> float:
    value = row.shown(column)
    if value is None:
        raise Unsuited(f"the row has no {column}")
    return value
