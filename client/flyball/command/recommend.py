"""`flyball recommend`: hardware that trains a data set in a given time, with its cost."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from flyball.command.errors import WrongArgument
from flyball.command.limits import FEWEST_HOURS, MOST_HOURS, count_of_samples, finite
from flyball.command.output import CommandResult, OutputOption, ResultFormatOption, write_result
from flyball.command.specifications import CalibrationOption, calibrated, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flyball_planner.recommend.recommendation import HardwareRecommendation

EXAMPLES = ("flyball recommend --samples 1000000 --hours 48", "flyball recommend --plan run.yaml --hours 24")

USUAL_TOKENS = 500.0  # of a sample of text


def recommend(
    hours: Annotated[
        float,
        typer.Option(
            "--hours", metavar="HOURS", min=FEWEST_HOURS, max=MOST_HOURS, callback=finite, help="Time for the training."
        ),
    ],
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            "-n",
            metavar="NUMBER",
            parser=count_of_samples,
            help="Samples of a hierarchical learner, which waits mostly for its services.",
        ),
    ] = None,
    tokens: Annotated[
        float | None,
        typer.Option(
            "--tokens",
            "-t",
            metavar="NUMBER",
            callback=finite,
            help=f"Tokens of a sample.  [default: {USUAL_TOKENS:g}]",
        ),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="A specification to train in that time.")
    ] = None,
    device: Annotated[
        list[str] | None, typer.Option("--device", metavar="DEVICE", help="Only this device; may be repeated.")
    ] = None,
    calibration: CalibrationOption = None,
    format_: ResultFormatOption = None,
    output: OutputOption = None,
) -> None:
    """Recommend devices, memory, cores, storage and a database, with dated prices."""
    from flyball_planner.plan.context import context_of
    from flyball_planner.recommend.demand import Demand
    from flyball_planner.recommend.recommendation import recommend as recommended
    from flyball_reports.errors import InputError

    _check_options(samples, plan, {"--tokens": tokens}, {"--device": device, "--calibration": calibration})
    try:
        if plan is None:
            found = recommended(Demand(samples or 0, hours, USUAL_TOKENS if tokens is None else tokens))
        else:
            specification = calibrated(load(plan), calibration)
            subject, training = specification.subject, specification.training
            demand = Demand(training.samples, hours, float(training.sequence))
            known = partial(context_of, specification)
            found = recommended(demand, subject, training, tuple(device or ()), context_for=known)
    except InputError as error:
        raise WrongArgument(str(error)) from None
    write_result(_result_of(found), format_, output)


def _check_options(
    samples: int | None, plan: Path | None, with_samples: "Mapping[str, object]", with_plan: "Mapping[str, object]"
) -> None:
    """Raise an error unless exactly one of --samples and --plan is given, with options that belong to it."""
    if (samples is None) == (plan is None):
        raise WrongArgument("name either --samples or --plan FILE")
    given, others = ("--samples", with_plan) if plan is None else ("--plan", with_samples)
    for option, value in others.items():
        if value is not None:
            raise WrongArgument(f"{option} has no effect with {given}; leave it out")


def _result_of(found: "HardwareRecommendation") -> CommandResult:
    from flyball_planner.report.recommendation_report import charts, sections

    return CommandResult("Recommended hardware", sections(found), _document(found), lambda: charts(found))


def _document(found: "HardwareRecommendation") -> dict[str, Any]:
    return {
        "hours": to_builtins(found.hours),
        "cores": to_builtins(found.cores),
        "ram_bytes": to_builtins(found.ram_bytes),
        "disks": to_builtins(found.disks),
        "database": to_builtins(found.database) if found.database else None,
        "usd": to_builtins(found.usd) if found.usd else None,
        "devices": [
            {
                "device": each.device.name,
                "devices": each.count,
                "in_time": each.in_time,
                "hours": to_builtins(each.hours),
                "usd": each.bill.usd if each.bill else None,
                "description": each.description(),
            }
            for each in found.devices
        ],
        "database_hosts": [to_builtins(each) for each in found.database_hosts],
        "hosts": [to_builtins(each) for each in found.hosts],
        "storage_prices": [to_builtins(each) for each in found.storage_prices],
        "reasons": list(found.reasons),
        "warnings": list(found.warnings),
    }
