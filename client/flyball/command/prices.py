"""`flyball prices`: what providers ask for a device, with place and date; for a plan, what the whole run would cost."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError
from flyball.command.limits import MOST_DEVICES, MOST_HOURS, finite
from flyball.command.output import CommandResult, FormOption, OutputOption, tell
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
    hours: Annotated[
        float | None,
        typer.Option(min=0, max=MOST_HOURS, callback=finite, help="How long the devices are needed; else 1."),
    ] = None,
    devices: Annotated[int | None, typer.Option(min=1, max=MOST_DEVICES, help="How many of them; else 1.")] = None,
    provider: Annotated[str, typer.Option(help="Only this provider's offers.")] = "",
    live: Annotated[bool, typer.Option("--live", help="Ask the providers now, through the package gpuhunt.")] = False,
    format_: FormOption = None,
    output: OutputOption = None,
) -> None:
    """Compare what providers ask. Every price has its place and its date; check it before you buy."""
    from flyball_reports.errors import InputError

    if bool(device) == (plan is not None):
        raise CommandError("name either a device or --plan FILE", WRONG)
    if plan and (hours is not None or devices is not None):
        raise CommandError("--hours and --devices follow from --plan; leave them out", WRONG)
    if not live:
        provider = _known(provider)
    try:
        if plan:
            told = _of_plan(plan, provider, live)
        else:
            told = _of_device(device, 1.0 if hours is None else hours, devices or 1, provider, live)
    except InputError as error:
        raise CommandError(str(error), WRONG) from None
    tell(told, format_, output)


def _known(provider: str) -> str:
    """A provider of the dated offers, by its own name."""
    from flyball_planner.catalogue.prices import PROVIDERS
    from flyball_reports.specification.entry import Entry
    from flyball_reports.specification.value_readers import Unfit, choice

    try:
        return str(choice(PROVIDERS).read(Entry(provider, 0))) if provider else ""
    except Unfit as fault:
        raise CommandError(f"--provider {provider}: expected {fault}", WRONG) from None


def _of_device(device: str, hours: float, devices: int, provider: str, live: bool) -> CommandResult:
    from flyball_planner.catalogue.bills import compare
    from flyball_planner.catalogue.devices import find_device
    from flyball_planner.catalogue.prices import of_provider, offers

    found = find_device(device)
    asked = _live(found, provider) if live else of_provider(offers(found), provider)
    return _told(f"{devices} × {found.name} for {hours:g} h", compare(asked, hours, devices))


def _of_plan(path: Path, provider: str, live: bool) -> CommandResult:
    from flyball_planner.catalogue.bills import compare
    from flyball_planner.catalogue.prices import of_provider, offers
    from flyball_planner.plan.choose import choose_for
    from flyball_planner.plan.whole import whole_seconds

    specification = load(path)
    machine, price = specification.machine, specification.price
    best = choose_for(specification).best
    hours = whole_seconds(specification.subject, best).times(1 / 3600)
    provider = provider or price.provider
    asked = _live(machine.device, provider) if live else offers(machine.device)
    found = of_provider(asked, provider, price.region)
    return _told(f"{specification.title}: {hours.middle:,.3g} h", compare(found, hours, machine.devices))


def _live(device: "Device", provider: str) -> "Sequence[Offer]":
    from flyball_planner.catalogue.live import live_offers
    from flyball_planner.catalogue.prices import of_provider

    every = live_offers(device, datetime.now(UTC).date(), tell=partial(typer.echo, err=True))
    found = of_provider(every, provider)
    if every and not found:
        others = ", ".join(sorted({each.provider for each in every}))
        raise CommandError(f"--provider {provider} has no live offer of {device.name}; {others} have some", WRONG)
    return found


def _told(title: str, bills: "Sequence[Bill]") -> CommandResult:
    from flyball_reports.section import Section, Table

    heads = ("Offer", "Region", "Prices as of", "Instances", "Idle", "On demand", "Spot", "Caveat")
    table = Table(tuple(map(_row, bills)), heads, (3, 4, 5, 6))
    text = () if bills else ("No such offer is known: give cost.usd_per_device_hour in the specification.",)
    sections = (Section("", text, (table,) if bills else ()),)
    return CommandResult(title, sections, [to_builtins(each) for each in bills])


def _row(bill: "Bill") -> tuple[str, ...]:
    from flyball_reports.figures import money

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
