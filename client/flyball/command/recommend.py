"""`flyball recommend`: which hardware a data set and a desired time ask for, and what that costs."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError
from flyball.command.limits import FEWEST_HOURS, MOST_HOURS, MOST_SAMPLES, finite
from flyball.command.output import CommandResult, FormOption, OutputOption, tell
from flyball.command.specifications import WRONG, CalibrationOption, calibrated, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flyball_planner.recommend import Recommendation

EXAMPLE = "Examples: flyball recommend --samples 1000000 --hours 48; flyball recommend --plan run.yaml --hours 24"

USUAL_TOKENS = 500.0  # of a sample of text


def recommend(
    hours: Annotated[
        float,
        typer.Option("--hours", min=FEWEST_HOURS, max=MOST_HOURS, callback=finite, help="When it should be through."),
    ],
    samples: Annotated[
        int | None, typer.Option("--samples", "-n", min=1, max=MOST_SAMPLES, help="Samples of a service-bound learner.")
    ] = None,
    tokens: Annotated[
        float | None,
        typer.Option("--tokens", "-t", callback=finite, help=f"Tokens of a sample; else {USUAL_TOKENS:g}."),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", help="A specification: which devices train it in time.")
    ] = None,
    device: Annotated[list[str] | None, typer.Option("--device", help="Only these devices; may be repeated.")] = None,
    calibration: CalibrationOption = None,
    format_: FormOption = None,
    output: OutputOption = None,
) -> None:
    """Recommend devices, memory, cores, storage and a database, with dated prices."""
    from flyball_planner.plan.known import known_of
    from flyball_planner.recommend import Demand
    from flyball_planner.recommend import recommend as recommended
    from flyball_reports.errors import InputError

    _together(samples, plan, {"--tokens": tokens}, {"--device": device, "--calibration": calibration})
    try:
        if plan is None:
            found = recommended(Demand(samples or 0, hours, USUAL_TOKENS if tokens is None else tokens))
        else:
            said = calibrated(load(plan), calibration)
            demand = Demand(said.training.samples, hours, float(said.training.sequence))
            known = partial(known_of, said)
            found = recommended(demand, said.subject, said.training, tuple(device or ()), known=known)
    except InputError as error:
        raise CommandError(str(error), WRONG) from None
    tell(_told(found), format_, output)


def _together(
    samples: int | None, plan: Path | None, with_samples: "Mapping[str, object]", with_plan: "Mapping[str, object]"
) -> None:
    """What is asked for is one of two, and each has options that say nothing for the other."""
    if (samples is None) == (plan is None):
        raise CommandError("name either --samples or --plan FILE", WRONG)
    said, others = ("--samples", with_plan) if plan is None else ("--plan", with_samples)
    for option, value in others.items():
        if value is not None:
            raise CommandError(f"{option} says nothing beside {said}; leave it out", WRONG)


def _told(found: "Recommendation") -> CommandResult:
    from flyball_planner.report.recommended import charts, sections

    return CommandResult("Recommended hardware", sections(found), _document(found), lambda: charts(found))


def _document(found: "Recommendation") -> dict[str, Any]:
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
                "told": each.told(),
            }
            for each in found.devices
        ],
        "database_hosts": [to_builtins(each) for each in found.database_hosts],
        "hosts": [to_builtins(each) for each in found.hosts],
        "storage_prices": [to_builtins(each) for each in found.storage_prices],
        "reasons": list(found.reasons),
        "warnings": list(found.warnings),
    }
