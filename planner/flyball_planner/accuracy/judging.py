"""What every judge does: predict each row, keep apart the rows that cannot be, and sum up."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from flyball_planner.accuracy.result import EXACT, Findings, Miss, Result, Skipped, Unsuited
from flyball_planner.accuracy.statistics import baseline_error, errors
from flyball_planner.accuracy.tables import Configuration, Row
from flyball_planner.interval import Interval
from flyball_reports.errors import InputError

GIVEN_ROWS = 5  # what a calibration may see of a suite
FOLDS = 3


class Outcome(Struct, frozen=True):
    """One predicted row."""

    row: Row
    predicted: Interval
    measured: float
    scale: float | None = None  # what a single constant would be multiplied with


class Outcomes(Struct, frozen=True):
    """The rows of one suite and metric after prediction."""

    judged: Sequence[Outcome] = ()
    ineligible: Sequence[Skipped] = ()
    unpredicted: Sequence[Skipped] = field(default=())


def predict_rows(
    rows: Sequence[Row],
    metric: str,
    predict: Callable[[Configuration], Interval],
    measure: Callable[[Row], float],
    scale: Callable[[Configuration], float | None] = lambda _: None,
) -> Outcomes:
    """Predict each row from its configuration; `measure` and `predict` raise `Unsuited` where a row says too little."""
    judged: list[Outcome] = []
    ineligible: list[Skipped] = []
    unpredicted: list[Skipped] = []
    for row in rows:
        try:
            measured = measure(row)
            judged.append(Outcome(row, predict(row.configuration), measured, scale(row.configuration)))
        except Unsuited as reason:
            ineligible.append(Skipped(row.file, row.suite, row.id, metric, str(reason)))
        except (InputError, ValueError) as reason:
            unpredicted.append(Skipped(row.file, row.suite, row.id, metric, str(reason)))
    return Outcomes(judged, ineligible, unpredicted)


def sum_up(outcomes: Outcomes, metric: str, mode: str, details: Mapping[str, float] | None = None) -> Findings:
    """One line for the rows of one suite; rows without a scale have no baseline."""
    judged = outcomes.judged
    if not judged and not outcomes.unpredicted:
        return Findings(ineligible=outcomes.ineligible)
    first = judged[0].row if judged else outcomes.unpredicted[0]
    measured = [each.measured for each in judged]
    scales = [each.scale for each in judged if each.scale]
    found = errors([each.predicted for each in judged], measured)
    result = Result(
        file=first.file,
        suite=first.suite,
        metric=metric,
        mode=mode,
        eligible=len(judged) + len(outcomes.unpredicted),
        predicted=len(judged),
        median_ape=found.median_ape,
        mean_ape=found.mean_ape,
        bias=found.bias,
        coverage90=None if mode == EXACT else found.coverage90,  # what is exact has no interval
        width90=None if mode == EXACT else found.width90,
        rank_correlation=found.rank_correlation,
        baseline_ape=baseline_error(scales, measured) if len(scales) == len(measured) else None,
        details=details or {},
    )
    return Findings([result], outcomes.ineligible, outcomes.unpredicted, [_miss(each, metric, mode) for each in judged])


def calibration_folds(rows: Sequence[Row], given: int = GIVEN_ROWS) -> Iterator[tuple[list[Row], list[Row]]]:
    """Splits of a suite into a few rows that are given and rows to be predicted from them; each row is predicted once.

    A suite with hardly more rows than are given cannot be judged that way and has no split.
    """
    if len(rows) < given + FOLDS:
        return
    for fold in range(FOLDS):
        others = [row for position, row in enumerate(rows) if position % FOLDS != fold]
        spread = [others[(2 * position + 1) * len(others) // (2 * given)] for position in range(given)]
        yield spread, list(rows[fold::FOLDS])


def _miss(outcome: Outcome, metric: str, mode: str) -> Miss:
    row = outcome.row
    error = outcome.predicted.middle / outcome.measured - 1
    return Miss(row.file, row.suite, row.id, metric, mode, outcome.measured, outcome.predicted.middle, error)
