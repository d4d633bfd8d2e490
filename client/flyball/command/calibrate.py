"""`flyball calibrate RUNS`: better estimates from measured runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import WrongArgument
from flyball.command.models_file import ModelsFileOption, use_models
from flyball.command.output import CommandResult, OutputOption, ResultFormatOption, write_result
from flyball.command.specifications import HardwareFileOption, load_runs, use_hardware
from flyball_reports.figures import INTERVALS

if TYPE_CHECKING:
    from flyball_planner.calibration.comparison import CalibrationResult

FOOTER = f"Made by flyball calibrate. {INTERVALS}"
EXAMPLES = (
    "flyball calibrate --columns",
    "flyball calibrate measured.csv",
    "flyball calibrate measured.csv -o report.html",
    "flyball plan run.yaml --calibration measured.csv",
)


def calibrate(
    runs: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUNS", help="Measured runs in CSV, JSON or YAML; - reads YAML from the standard input."
        ),
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="List the columns of such a file.")] = False,
    format_: ResultFormatOption = None,
    output: OutputOption = None,
    hardware_file: HardwareFileOption = None,
    models_file: ModelsFileOption = None,
) -> None:
    """Learn from measured runs, and compare estimates and measurements before and after."""
    from flyball_planner.calibration.comparison import calibrate as learn

    if columns:
        return write_result(_columns(), format_, output)
    if runs is None:
        raise WrongArgument("name a file of measured runs; `flyball calibrate --columns` lists the columns of one")
    use_hardware(hardware_file)
    use_models(models_file)
    found = learn(load_runs(runs))
    if not found.learned:
        reasons = "\n".join(f"  {each}" for each in found.refused)
        raise WrongArgument(f"{runs}: none of the runs can be used:\n{reasons}")
    return write_result(result_of(found), format_, output)


def result_of(found: "CalibrationResult") -> CommandResult:
    """Return a calibration, ready for every format."""
    from flyball_planner.report.calibration_report import charts, document, sections

    return CommandResult(
        f"Calibration by {found.source}", sections(found), document(found), lambda: charts(found), FOOTER
    )


def _columns() -> CommandResult:
    from flyball_planner.specification.runs import describe_columns
    from flyball_reports.section import ReportTable, Section

    described = describe_columns()
    rows = tuple((each.name, each.reader.expected, each.meaning) for each in described)
    text = "One line a run. Unneeded columns and cells may be left out. Lists in JSON and YAML have these keys."
    sections = (Section("", (text,), (ReportTable(rows, ("Column", "Expected", "Meaning")),)),)
    document = [{"name": each.name, "expected": each.reader.expected, "meaning": each.meaning} for each in described]
    return CommandResult("Columns of measured runs", sections, document)
