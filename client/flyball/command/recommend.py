"""`flyball recommend`: which hardware a data set and a desired time ask for, and what that costs."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError
from flyball.command.output import FormOption, OutputOption, Told, tell
from flyball.command.specifications import WRONG, CalibrationOption, calibrated, load

if TYPE_CHECKING:
    from flyball_planner.recommend import Recommendation

EXAMPLE = "Examples: flyball recommend --samples 1000000 --hours 48; flyball recommend --plan run.yaml --hours 24"


def recommend(
    hours: Annotated[float, typer.Option("--hours", help="When it should be through.")],
    samples: Annotated[int, typer.Option("--samples", "-n", help="Samples of a service-bound learner.")] = 0,
    tokens: Annotated[float, typer.Option("--tokens", "-t", help="Tokens of a sample.")] = 500.0,
    plan: Annotated[
        Path | None, typer.Option("--plan", help="A specification: which devices train it in time.")
    ] = None,
    device: Annotated[list[str] | None, typer.Option("--device", help="Only these devices; may be repeated.")] = None,
    calibration: CalibrationOption = None,
    format_: FormOption = None,
    output: OutputOption = None,
) -> None:
    """Recommend devices, memory, cores, storage and a database, with dated prices."""
    from flyball_planner.errors import PlanError
    from flyball_planner.plan.known import known_of
    from flyball_planner.recommend import Demand
    from flyball_planner.recommend import recommend as recommended

    if (samples > 0) == (plan is not None):
        raise CommandError("name either --samples or --plan FILE", WRONG)
    try:
        if plan is None:
            found = recommended(Demand(samples, hours, tokens))
        else:
            said = calibrated(load(plan), calibration)
            demand = Demand(said.training.samples, hours, float(said.training.sequence))
            known = partial(known_of, said)
            found = recommended(demand, said.subject, said.training, tuple(device or ()), known=known)
    except PlanError as error:
        raise CommandError(str(error), WRONG) from None
    tell(_told(found), format_, output)


def _told(found: "Recommendation") -> Told:
    from flyball_planner.report.recommended import charts, sections

    return Told("Recommended hardware", sections(found), _document(found), lambda: charts(found))


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
