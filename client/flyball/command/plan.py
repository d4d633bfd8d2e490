"""`flyball plan FILE`: memory, time and cost of a training before it runs."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.emitted_files import EmitOption, ForOption, check_frameworks, write_emitted
from flyball.command.models_file import ModelsFileOption, use_models
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

    from flyball_planner.emit.emitted_run import EmittedRun
    from flyball_planner.plan.plan import Plan
    from flyball_planner.specification.specification import Specification
    from flyball_reports.section import Chart

EXAMPLES = (
    "flyball plan run.yaml",
    "flyball plan run.yaml -o plan.html",
    "flyball plan run.yaml --emit run/ --for deepspeed",
    "flyball plan run.yaml -f json | jq .memory",
    "flyball examples transformer | flyball plan -",
)


def plan(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A specification in YAML, JSON or TOML; - reads YAML from standard input."),
    ],
    output: OutputOption = None,
    format_: ResultFormatOption = None,
    verbose: VerboseOption = False,
    hardware_file: HardwareFileOption = None,
    models_file: ModelsFileOption = None,
    calibration: CalibrationOption = None,
    emit: EmitOption = None,
    frameworks: ForOption = None,
) -> None:
    """Estimate the memory, time and cost of a training, what limits it, and what to change first."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's BLAS would start threads that only spin
    from flyball.command.errors import WrongArgument
    from flyball_planner.plan.make import make_plan
    from flyball_reports.errors import InputError

    check_frameworks(emit, frameworks)
    use_hardware(hardware_file)
    use_models(models_file)
    specification = calibrated(load(file), calibration)
    report = specification.report
    if format_ is None and output is None:
        format_ = ResultFormat(report.format) if report.format else None
        output = check_writable("report.output", file.parent / report.output) if report.output else None
    try:
        made = make_plan(specification)
    except InputError as error:
        raise WrongArgument(f"{file}: {error}") from None
    if emit is not None:
        write_emitted({emit: _emitted_run(specification, made, file)}, frameworks)
    result = result_of(made, verbose=verbose or report.verbose, plots=report.plots, recommended=report.recommendations)
    write_result(result, format_, output)


def _emitted_run(specification: "Specification", made: "Plan", file: Path) -> "EmittedRun":
    """Return what is emitted of a plan."""
    from flyball.command.errors import WrongArgument
    from flyball_planner.emit.run_sources import run_of_plan
    from flyball_reports.errors import InputError

    try:
        return run_of_plan(specification, made)
    except InputError as error:
        raise WrongArgument(f"--emit: {file}: {error}") from None


def result_of(made: "Plan", *, verbose: bool = False, plots: bool = True, recommended: bool = True) -> CommandResult:
    """Return a plan, ready for every format; a specification may leave out its charts and recommendations."""
    from flyball_planner.report.document import document
    from flyball_planner.report.render import FOOTER
    from flyball_planner.report.sections import sections

    parts = sections(made, verbose=verbose, recommended=recommended)
    return CommandResult(made.title, parts, document(made), partial(_charts, made, plots=plots), FOOTER)


def _charts(made: "Plan", *, plots: bool) -> "Mapping[str, Chart]":
    from flyball_planner.report.charts import charts

    return charts(made) if plots else {}
