"""`flyball prices`: what providers ask for a device, with place and date; for a plan, what the whole run would cost."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError
from flyball.command.output import FormOption, OutputOption, Told, tell
from flyball.command.specifications import WRONG, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flyball_planner.catalogue.bills import Bill
    from flyball_planner.catalogue.hardware import Device
    from flyball_planner.catalogue.prices import Offer

EXAMPLE = "Examples: flyball prices H100; flyball prices A100 --hours 24 --devices 8; flyball prices --plan run.yaml"


def prices(
    device: Annotated[str, typer.Argument(metavar="[DEVICE]", help="As in flyball hardware --list.")] = "",
    plan: Annotated[Path | None, typer.Option("--plan", help="The offers for this specification's whole run.")] = None,
    hours: Annotated[float, typer.Option(min=0, help="How long the devices are needed.")] = 1.0,
    devices: Annotated[int, typer.Option(min=1, help="How many of them.")] = 1,
    provider: Annotated[str, typer.Option(help="Only this provider's offers.")] = "",
    live: Annotated[bool, typer.Option("--live", help="Ask the providers now, through the package gpuhunt.")] = False,
    format_: FormOption = None,
    output: OutputOption = None,
) -> None:
    """Compare what providers ask. Every price has its place and its date; check it before you buy."""
    from flyball_planner.errors import PlanError

    if bool(device) == (plan is not None):
        raise CommandError("name either a device or --plan FILE", WRONG)
    try:
        told = _of_plan(plan, provider, live) if plan else _of_device(device, hours, devices, provider, live)
    except PlanError as error:
        raise CommandError(str(error), WRONG) from None
    tell(told, format_, output)


def _of_device(device: str, hours: float, devices: int, provider: str, live: bool) -> Told:
    from flyball_planner.catalogue.bills import compare
    from flyball_planner.catalogue.devices import find_device
    from flyball_planner.catalogue.prices import offers

    found = find_device(device)
    bills = compare(_of_provider(_live(found) if live else offers(found), provider), hours, devices)
    return _told(f"{devices} × {found.name} for {hours:g} h", bills)


def _of_plan(path: Path, provider: str, live: bool) -> Told:
    from flyball_planner.catalogue.bills import compare
    from flyball_planner.plan.choose import choose_for
    from flyball_planner.plan.cost import chosen_offers
    from flyball_planner.plan.whole import whole_seconds

    specification = load(path)
    machine = specification.machine
    best = choose_for(specification).best
    hours = whole_seconds(specification.subject, best).times(1 / 3600)
    asked = _live(machine.device) if live else chosen_offers(machine, specification.price)
    found = _of_provider(asked, provider)
    return _told(f"{specification.title}: {hours.middle:,.3g} h", compare(found, hours, machine.devices))


def _live(device: "Device") -> "Sequence[Offer]":
    from flyball_planner.catalogue.live import live_offers

    return live_offers(device, datetime.now(UTC).date())


def _of_provider(found: "Sequence[Offer]", provider: str) -> "Sequence[Offer]":
    return [each for each in found if provider.casefold() in each.provider.casefold()]


def _told(title: str, bills: "Sequence[Bill]") -> Told:
    from flyball_planner.report.section import Section, Table

    heads = ("Offer", "Region", "Prices as of", "Instances", "Idle", "On demand", "Spot", "Caveat")
    table = Table(tuple(map(_row, bills)), heads, (3, 4, 5, 6))
    text = () if bills else ("No offer is known: give cost.usd_per_device_hour in the specification.",)
    sections = (Section("", text, (table,) if bills else ()),)
    return Told(title, sections, [to_builtins(each) for each in bills])


def _row(bill: "Bill") -> tuple[str, ...]:
    from flyball_planner.report.words import money

    offer = bill.offer
    return (
        f"{offer.provider} {offer.instance}",
        offer.region,
        offer.as_of,
        f"{bill.instances}",
        f"{bill.idle_devices}",
        "–" if bill.on_demand_usd is None else money(bill.on_demand_usd.middle),
        "–" if bill.spot_usd is None else money(bill.spot_usd.middle),
        offer.caveat,
    )
