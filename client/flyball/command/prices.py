"""`flyball prices`: cloud prices of a device, and the cost of a planned run."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import to_builtins

from flyball.command.errors import WrongArgument
from flyball.command.limits import MOST_DEVICES, MOST_HOURS, finite
from flyball.command.output import CommandResult, OutputOption, ResultFormatOption, write_result
from flyball.command.specifications import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flyball_planner.catalogue.bills import Bill
    from flyball_planner.catalogue.hardware import ComputeDevice
    from flyball_planner.catalogue.prices import Offer

EXAMPLES = (
    "flyball prices H100",
    "flyball prices A100 --hours 24 --devices 8",
    "flyball prices --plan run.yaml",
)


def prices(
    device: Annotated[str, typer.Argument(metavar="[DEVICE]", help="A device of `flyball hardware`.")] = "",
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="The cost of the whole run of this specification.")
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option(metavar="HOURS", min=0, max=MOST_HOURS, callback=finite, help="Rental time.  [default: 1]"),
    ] = None,
    devices: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, max=MOST_DEVICES, help="Number of devices.  [default: 1]")
    ] = None,
    provider: Annotated[str, typer.Option(metavar="NAME", help="Only offers of this provider, such as AWS.")] = "",
    live: Annotated[bool, typer.Option("--live", help="Fetch current prices with the package gpuhunt.")] = False,
    format_: ResultFormatOption = None,
    output: OutputOption = None,
) -> None:
    """Compare the prices of cloud providers. Each price has its region and date; check it before you buy."""
    from flyball_reports.errors import InputError

    if bool(device) == (plan is not None):
        raise WrongArgument("name either a device or --plan FILE")
    if plan and (hours is not None or devices is not None):
        raise WrongArgument("--hours and --devices follow from --plan; leave them out")
    if not live:
        provider = _known(provider)
    try:
        if plan:
            result = _of_plan(plan, provider, live)
        else:
            result = _of_device(device, 1.0 if hours is None else hours, devices or 1, provider, live)
    except InputError as error:
        raise WrongArgument(str(error)) from None
    write_result(result, format_, output)


def _known(provider: str) -> str:
    """Return the name of a provider with known offers."""
    from flyball_planner.catalogue.prices import PROVIDERS
    from flyball_reports.specification.source_value import SourceValue
    from flyball_reports.specification.value_readers import Unfit, choice

    try:
        return str(choice(PROVIDERS).read(SourceValue(provider, 0))) if provider else ""
    except Unfit as fault:
        hint = f"; {fault.hint}" if fault.hint else ""
        raise WrongArgument(f"--provider {provider}: expected {fault}{hint}") from None


def _of_device(device: str, hours: float, devices: int, provider: str, live: bool) -> CommandResult:
    from flyball_planner.catalogue.bills import compare
    from flyball_planner.catalogue.devices import find_device
    from flyball_planner.catalogue.prices import of_provider, offers

    found = find_device(device)
    offered = _live(found, provider) if live else of_provider(offers(found), provider)
    return _result_of(f"{devices} × {found.name} for {hours:g} h", compare(offered, hours, devices))


def _of_plan(path: Path, provider: str, live: bool) -> CommandResult:
    from flyball_planner.catalogue.bills import compare
    from flyball_planner.catalogue.prices import of_provider, offers
    from flyball_planner.plan.layout_choice import choose_for
    from flyball_planner.plan.whole_run import whole_seconds
    from flyball_reports.figures import duration

    specification = load(path)
    machine, price = specification.machine, specification.price
    best = choose_for(specification).best
    hours = whole_seconds(specification.subject, best).times(1 / 3600)
    provider = provider or price.provider
    offered = _live(machine.device, provider) if live else offers(machine.device)
    found = of_provider(offered, provider, price.region)
    return _result_of(f"{specification.title}: {duration(3600 * hours.middle)}", compare(found, hours, machine.devices))


def _live(device: "ComputeDevice", provider: str) -> "Sequence[Offer]":
    from flyball_planner.catalogue.live_prices import live_offers
    from flyball_planner.catalogue.prices import of_provider

    every = live_offers(device, datetime.now(UTC).date(), (), None, partial(typer.echo, err=True))
    found = of_provider(every, provider)
    if every and not found:
        others = ", ".join(sorted({each.provider for each in every}))
        raise WrongArgument(f"--provider {provider} does not offer {device.name} now; these do: {others}")
    return found


def _result_of(title: str, bills: "Sequence[Bill]") -> CommandResult:
    from flyball_reports.section import ReportTable, Section

    heads = ("Offer", "Region", "Prices as of", "Instances", "Idle", "On demand", "Spot", "Caveat")
    table = ReportTable(tuple(map(_row, bills)), heads, (3, 4, 5, 6))
    text = () if bills else ("No offer is known. Set cost.usd_per_device_hour in the specification.",)
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
