"""What is told of recommended hardware: what is needed, what offers it, with prices, places and dates."""

from collections.abc import Sequence

from flyball_planner.catalogue.prices import dated
from flyball_planner.recommend.devices import DeviceOption
from flyball_planner.recommend.disks import StoragePrice
from flyball_planner.recommend.hosts import HostOption
from flyball_planner.recommend.recommendation import Recommendation
from flyball_reports.figures import duration, figure, money, size, spread
from flyball_reports.line_chart import Line, lines_chart
from flyball_reports.section import Chart, Section, Table
from flyball_reports.svg import round_hours

SHOWN = 8
DEVICES = "Devices"
_HOST_HEADS = ("Offer", "Where and when", "Cores", "Memory", "Time", "Cost")


def sections(found: Recommendation) -> tuple[Section, ...]:
    """The needs first, then each kind of what is offered, the best of it on top."""
    database = found.database.because if found.database else ()
    every = (
        Section("", tables=(_needs(found),)),
        Section("Warnings", points=found.warnings, tone="warning"),
        Section(DEVICES, tables=_devices(found.devices[:SHOWN])),
        Section("Machines", tables=_hosts(found.hosts[:SHOWN])),
        Section("Machines for the database", tables=_hosts(found.database_hosts[:SHOWN])),
        Section("Database", points=database),
        Section("Storage", tables=_storage(found.storage_prices[:SHOWN])),
        Section("Why", points=tuple(each for each in found.reasons if each not in database)),
    )
    return tuple(each for each in every if each.tables or each.points)


def charts(found: Recommendation) -> dict[str, Chart]:
    """Cost against time, one dot a device."""
    priced = [each for each in found.devices[:SHOWN] if each.bill]
    if len(priced) < 2:
        return {}
    points = [(f"{each.count} × {each.device.name}", (each.hours.middle, each.usd)) for each in priced]
    lines = [Line(name, (point,), dots=(point,)) for name, point in points]
    names = ("time of the whole run", "cost")
    return {DEVICES: lines_chart("cost", "What a shorter run costs.", names, lines, (_hours, money), round_hours)}


def _needs(found: Recommendation) -> Table:
    rows = [
        ("Time", spread(found.hours, _hours)),
        ("Cores", spread(found.cores, figure)),
        ("Memory", spread(found.ram_bytes, size)),
        ("Disk", f"{spread(found.disks.needed, size)} on {found.disks.several} × {found.disks.kind}"),
        ("Cost", spread(found.usd, money) if found.usd else "no price is known"),
    ]
    if found.database is not None:
        shards = f", {found.database.shards} servers" if found.database.shards else ""
        memory = f"{spread(found.database.ram_bytes, size)} of memory, {found.database.cores} cores{shards}"
        rows.insert(4, ("MongoDB", memory))
    return Table(tuple(rows))


def _devices(options: Sequence[DeviceOption]) -> tuple[Table, ...]:
    rows = tuple(map(_device, options))
    heads = ("Devices", "Time", "On demand", "Spot", "Offer", "Where and when")
    return (Table(rows, heads, (1, 2, 3)),) if rows else ()


def _device(option: DeviceOption) -> tuple[str, ...]:
    late = "" if option.in_time else ", too late"
    first = (f"{option.count:,} × {option.device.name}", f"{spread(option.hours, _hours)}{late}")
    bill = option.bill
    if bill is None:
        return (*first, "–", "–", "no price is known", "")
    prices = (bill.on_demand_usd, bill.spot_usd)
    costs = tuple("–" if price is None else money(price.middle) for price in prices)
    offer = f"{bill.instances:,} × {bill.offer.provider} {bill.offer.instance}"
    return (*first, *costs, offer, f"{bill.offer.region}, {dated(bill.offer.as_of)}")


def _hosts(options: Sequence[HostOption]) -> tuple[Table, ...]:
    rows = tuple(
        (
            f"{each.instances:,} × {each.provider} {each.instance}",
            f"{each.region}, {dated(each.as_of)}",
            f"{each.cores:,}",
            size(each.ram_bytes),
            spread(each.hours, _hours),
            money(each.usd.middle),
        )
        for each in options
    )
    return (Table(rows, _HOST_HEADS, (2, 3, 4, 5)),) if rows else ()


def _storage(prices: Sequence[StoragePrice]) -> tuple[Table, ...]:
    rows = tuple(
        (f"{each.provider} {each.name}", f"{each.region}, {dated(each.as_of)}", money(each.usd)) for each in prices
    )
    return (Table(rows, ("Offer", "Where and when", "Cost"), (2,)),) if rows else ()


def _hours(hours: float) -> str:
    return duration(3600 * hours)
