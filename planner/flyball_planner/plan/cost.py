"""The cost of a run: at the user's price, or with the known offers."""

from collections.abc import Sequence

from flyball_planner.catalogue.bills import Bill, compare
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.catalogue.prices import Offer, of_provider, offers
from flyball_planner.interval import Interval
from flyball_planner.plan.plan import CostSection, OfferRow
from flyball_planner.specification.specification import PriceChoice
from flyball_reports.figures import money


def cost_section(machine: TrainingMachine, seconds: Interval, price: PriceChoice) -> CostSection:
    """Return the cost of the complete run."""
    hours = seconds.times(1 / 3600)
    device_hours = hours.times(machine.devices)
    bills = compare(chosen_offers(machine, price), hours, machine.devices)
    rows = tuple(map(_row, bills))
    if price.usd_per_device_hour is not None:
        basis = f"at ${price.usd_per_device_hour:,.2f} per device-hour, as specified"
        return CostSection(device_hours, device_hours.times(price.usd_per_device_hour), basis, rows)
    best = _cheapest(bills, spot=price.spot)
    if best is None:
        return CostSection(device_hours, None, _no_offer(price), rows)
    bill, cost = best
    return CostSection(device_hours, cost, _basis(bill, cost), rows)


def usd_of(machine: TrainingMachine, seconds: float, price: PriceChoice) -> float | None:
    """Return the most likely cost of a run of this length."""
    hours = seconds * (1 / 3600)
    if price.usd_per_device_hour is not None:
        return hours * machine.devices * price.usd_per_device_hour
    best = _cheapest(compare(chosen_offers(machine, price), hours, machine.devices), spot=price.spot)
    return None if best is None else best[1].middle


def chosen_offers(machine: TrainingMachine, price: PriceChoice) -> Sequence[Offer]:
    """Return the offers of the chosen provider and region."""
    return of_provider(offers(machine.device), price.provider, price.region)


def _cheapest(bills: Sequence[Bill], *, spot: bool) -> tuple[Bill, Interval] | None:
    wanted = [(bill, bill.spot_usd if spot and bill.spot_usd else bill.on_demand_usd) for bill in bills]
    priced = [(bill, cost) for bill, cost in wanted if cost is not None]
    return min(priced, key=lambda each: (bool(each[0].offer.caveat), each[1].middle), default=None)


def _no_offer(price: PriceChoice) -> str:
    offer = " by ".join(filter(None, ("no offer", price.provider))) + (f" in {price.region}" if price.region else "")
    wider = "omit cost.provider and cost.region, or " if price.provider or price.region else ""
    return f"{offer} is known: {wider}set cost.usd_per_device_hour"


def _basis(bill: Bill, cost: Interval) -> str:
    offer = bill.offer
    kind, as_of = ("on demand", offer.as_of)
    if cost is bill.spot_usd:
        kind, as_of = "spot", offer.spot_as_of or offer.as_of
    caveat = f"; {offer.caveat}" if offer.caveat else ""
    instances = f"{bill.instances} × {offer.provider} {offer.instance} in {offer.region}"
    return f"with {instances}, {kind}, {_dated(as_of)}{_idle(bill, cost)}{caveat}"


def _idle(bill: Bill, cost: Interval) -> str:
    """Return what devices of complete instances cost that the layout does not use."""
    if not bill.idle_devices:
        return ""
    paid = round(bill.instances * bill.offer.devices)
    wasted = money(cost.middle * bill.idle_devices / paid)
    return f"; {bill.idle_devices} of their {paid} devices are paid but idle, {wasted} of the cost"


def _dated(as_of: str) -> str:
    return as_of if as_of.startswith("undated") else f"as of {as_of}"


def _row(bill: Bill) -> OfferRow:
    offer = bill.offer
    return OfferRow(
        provider=offer.provider,
        instance=offer.instance,
        region=offer.region,
        as_of=offer.as_of,
        instances=bill.instances,
        devices=round(bill.instances * offer.devices),
        usd_per_hour=offer.on_demand_usd_per_hour,
        spot_usd_per_hour=offer.spot_usd_per_hour,
        cost_usd=bill.on_demand_usd,
        spot_cost_usd=bill.spot_usd,
        source=offer.source,
        caveat=offer.caveat,
    )
