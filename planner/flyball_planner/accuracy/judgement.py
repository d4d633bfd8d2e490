"""The common steps of all judges: predict each row, set aside rows that cannot be predicted, and summarise."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from flyball_planner.accuracy.result import EXACT, Judgement, Miss, Result, Skipped, Unsuited
from flyball_planner.accuracy.statistics import baseline_error, errors
from flyball_planner.accuracy.tables import RowConfiguration, TableRow
from flyball_planner.interval import Interval
from flyball_reports.errors import InputError

GIVEN_ROWS = 5  # rows of a suite that a calibration may use
FOLDS = 3


class PredictedRow(Struct, frozen=True):
    """A row with its prediction."""

    row: TableRow
    predicted: Interval
    measured: float
    scale: float | None = None  # what a constant baseline is multiplied with


class Predictions(Struct, frozen=True):
    """The predicted rows of one suite and metric, and the others."""

    judged: Sequence[PredictedRow] = ()
    ineligible: Sequence[Skipped] = ()
    unpredicted: Sequence[Skipped] = field(default=())


def predict_rows(
    rows: Sequence[TableRow],
    metric: str,
    predict: Callable[[RowConfiguration], Interval],
    measure: Callable[[TableRow], float],
    scale: Callable[[RowConfiguration], float | None] = lambda _: None,
) -> Predictions:
    """Predict each row from its configuration; `measure` and `predict` raise `Unsuited` for incomplete rows."""
    judged: list[PredictedRow] = []
    ineligible: list[Skipped] = []
    unpredicted: list[Skipped] = []
    for row in rows:
        try:
            measured = measure(row)
            judged.append(PredictedRow(row, predict(row.configuration), measured, scale(row.configuration)))
        except Unsuited as reason:
            ineligible.append(Skipped(row.file, row.suite, row.id, metric, str(reason)))
        except (InputError, ValueError) as reason:
            unpredicted.append(Skipped(row.file, row.suite, row.id, metric, str(reason)))
    return Predictions(judged, ineligible, unpredicted)


def sum_up(outcomes: Predictions, metric: str, mode: str, details: Mapping[str, float] | None = None) -> Judgement:
    """Summarise the rows of one suite in one result; without scales there is no baseline."""
    judged = outcomes.judged
    if not judged and not outcomes.unpredicted:
        return Judgement(ineligible=outcomes.ineligible)
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
        coverage90=None if mode == EXACT else found.coverage90,  # exact values have no interval
        width90=None if mode == EXACT else found.width90,
        rank_correlation=found.rank_correlation,
        baseline_ape=baseline_error(scales, measured) if len(scales) == len(measured) else None,
        details=details or {},
    )
    return Judgement(
        [result], outcomes.ineligible, outcomes.unpredicted, [_miss(each, metric, mode) for each in judged]
    )


def calibration_folds(
    rows: Sequence[TableRow], given: int = GIVEN_ROWS
) -> Iterator[tuple[list[TableRow], list[TableRow]]]:
    """Yield splits of a suite into a few given rows and rows to predict; each row is predicted once.

    A suite with few more rows than are given has no split.
    """
    if len(rows) < given + FOLDS:
        return
    for fold in range(FOLDS):
        others = [row for position, row in enumerate(rows) if position % FOLDS != fold]
        spread = [others[(2 * position + 1) * len(others) // (2 * given)] for position in range(given)]
        yield spread, list(rows[fold::FOLDS])


def _miss(outcome: PredictedRow, metric: str, mode: str) -> Miss:
    row = outcome.row
    error = outcome.predicted.middle / outcome.measured - 1
    return Miss(row.file, row.suite, row.id, metric, mode, outcome.measured, outcome.predicted.middle, error)
