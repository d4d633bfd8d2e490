"""`flyball calibrate RUNS`: what measured runs teach, and how near the estimates come with and without them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import CommandError
from flyball.command.output import CommandResult, FormOption, OutputOption, tell
from flyball.command.specifications import WRONG, HardwareFileOption, load_runs, use_hardware

if TYPE_CHECKING:
    from flyball_planner.calibration.compare import Calibration

FOOTER = "Made by flyball calibrate. Figures in brackets are 90 % intervals: nine times in ten the truth lies within."
EXAMPLE = (
    "Examples: flyball calibrate --columns; flyball calibrate measured.csv; flyball calibrate measured.csv -o "
    "report.html; flyball plan run.yaml --calibration measured.csv"
)


def calibrate(
    runs: Annotated[
        Path | None, typer.Argument(metavar="RUNS", help="Measured runs in CSV, JSON or YAML; - is YAML on the input.")
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="What such a file may say, column by column.")] = False,
    format_: FormOption = None,
    output: OutputOption = None,
    hardware_file: HardwareFileOption = None,
) -> None:
    """Learn from measured runs: estimated against actual, and how far the estimates were off and are now."""
    from flyball_planner.calibration.compare import calibrate as learn

    if columns:
        return tell(_columns(), format_, output)
    if runs is None:
        raise CommandError("name a file of measured runs; flyball calibrate --columns says what it holds", WRONG)
    use_hardware(hardware_file)
    found = learn(load_runs(runs))
    if not found.learned:
        reasons = "\n".join(f"  {each}" for each in found.refused)
        raise CommandError(f"{runs}: no run can be used:\n{reasons}", WRONG)
    return tell(told(found), format_, output)


def told(found: "Calibration") -> CommandResult:
    """A calibration, ready for every format."""
    from flyball_planner.report.calibrated import charts, document, sections

    return CommandResult(
        f"Calibration by {found.source}", sections(found), document(found), lambda: charts(found), FOOTER
    )


def _columns() -> CommandResult:
    from flyball_planner.specification.runs import describe_columns
    from flyball_reports.section import Section, Table

    described = describe_columns()
    rows = tuple((each.name, each.reader.expected, each.meaning) for each in described)
    text = "A line a run; a column that is not needed may be left out, and so may a cell. The keys of a list are these."
    sections = (Section("", (text,), (Table(rows, ("Column", "Expected", "Meaning")),)),)
    document = [{"name": each.name, "expected": each.reader.expected, "meaning": each.meaning} for each in described]
    return CommandResult("Columns of measured runs", sections, document)
