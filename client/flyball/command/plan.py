"""`flyball plan FILE`: memory, time and cost of a training before it runs."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.output import (
    CommandResult,
    OutputOption,
    ResultFormat,
    ResultFormatOption,
    VerboseOption,
    check_writable,
    write_result,
)
from flyball.command.specifications import (
    CalibrationOption,
    HardwareFileOption,
    calibrated,
    load,
    use_hardware,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flyball_planner.plan.plan import Plan
    from flyball_reports.section import Chart

EXAMPLES = (
    "flyball plan run.yaml",
    "flyball plan run.yaml -o plan.html",
    "flyball plan run.yaml -f json | jq .memory",
    "flyball examples transformer | flyball plan -",
)


def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A specification in YAML; - reads the standard input.")],
    output: OutputOption = None,
    format_: ResultFormatOption = None,
    verbose: VerboseOption = False,
    hardware_file: HardwareFileOption = None,
    calibration: CalibrationOption = None,
) -> None:
    """Estimate the memory, time and cost of a training, what limits it, and what to change first."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's BLAS would start threads that only spin
    from flyball.command.errors import WrongArgument
    from flyball_planner.plan.make import make_plan
    from flyball_reports.errors import InputError

    use_hardware(hardware_file)
    specification = calibrated(load(file), calibration)
    report = specification.report
    if format_ is None and output is None:
        format_ = ResultFormat(report.format) if report.format else None
        output = check_writable("report.output", file.parent / report.output) if report.output else None
    try:
        made = make_plan(specification)
    except InputError as error:
        raise WrongArgument(f"{file}: {error}") from None
    write_result(result_of(made, verbose=verbose or report.verbose), format_, output)


def result_of(made: "Plan", *, verbose: bool = False) -> CommandResult:
    """Return a plan, ready for every format."""
    from flyball_planner.report.document import document
    from flyball_planner.report.render import FOOTER
    from flyball_planner.report.sections import sections

    return CommandResult(made.title, sections(made, verbose=verbose), document(made), partial(_charts, made), FOOTER)


def _charts(made: "Plan") -> "Mapping[str, Chart]":
    from flyball_planner.report.charts import charts

    return charts(made)
