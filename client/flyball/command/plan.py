"""`flyball plan FILE`: what a training will take, how long, at what cost, and what to change first."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.output import CommandResult, Form, FormOption, OutputOption, VerboseOption, tell, writable
from flyball.command.specifications import (
    WRONG,
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

EXAMPLE = (
    "Examples: flyball plan run.yaml; flyball plan run.yaml -o plan.html; flyball plan run.yaml -f json | jq .memory"
)


def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A specification in YAML; - is the standard input.")],
    output: OutputOption = None,
    format_: FormOption = None,
    verbose: VerboseOption = False,
    hardware_file: HardwareFileOption = None,
    calibration: CalibrationOption = None,
) -> None:
    """Say what a training will take: memory, time, money, what bounds it, and what to change first."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy's BLAS starts threads, which spin for nothing
    from flyball.command.errors import CommandError
    from flyball_planner.plan.make import make_plan
    from flyball_reports.errors import InputError

    use_hardware(hardware_file)
    specification = calibrated(load(file), calibration)
    said = specification.report
    if format_ is None and output is None:
        format_ = Form(said.format) if said.format else None
        output = writable("report.output", file.parent / said.output) if said.output else None
    try:
        made = make_plan(specification)
    except InputError as error:
        raise CommandError(f"{file}: {error}", WRONG) from None
    tell(told(made, verbose=verbose or said.verbose), format_, output)


def told(made: "Plan", *, verbose: bool = False) -> CommandResult:
    """A plan, ready for every format."""
    from flyball_planner.report.document import document
    from flyball_planner.report.render import FOOTER
    from flyball_planner.report.sections import sections

    return CommandResult(made.title, sections(made, verbose=verbose), document(made), partial(_charts, made), FOOTER)


def _charts(made: "Plan") -> "Mapping[str, Chart]":
    from flyball_planner.report.charts import charts

    return charts(made)
