"""Reports on recommended hardware: the needs and the options, with prices, regions and dates."""

from collections.abc import Sequence

from flyball_planner.catalogue.prices import dated
from flyball_planner.recommend.devices import DeviceOption
from flyball_planner.recommend.disks import StoragePrice
from flyball_planner.recommend.hosts import HostOption
from flyball_planner.recommend.recommendation import HardwareRecommendation
from flyball_reports.figures import duration, figure, money, size, spread
from flyball_reports.line_chart import ChartLine, lines_chart
from flyball_reports.section import Chart, ReportTable, Section
from flyball_reports.svg import round_hours

SHOWN = 8
DEVICES = "Devices"
_HOST_HEADS = ("Offer", "Region and date", "Cores", "Memory", "Time", "Cost")


def sections(found: HardwareRecommendation) -> tuple[Section, ...]:
    """Return the needs, then the options of each kind, best first."""
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


def charts(found: HardwareRecommendation) -> dict[str, Chart]:
    """Return a chart of cost over time with one dot per device."""
    priced = [each for each in found.devices[:SHOWN] if each.bill]
    if len(priced) < 2:
        return {}
    points = [(f"{each.count} × {each.device.name}", (each.hours.middle, each.usd)) for each in priced]
    lines = [ChartLine(name, (point,), dots=(point,)) for name, point in points]
    names = ("time of the complete run", "cost")
    return {DEVICES: lines_chart("cost", "Cost of a shorter run.", names, lines, (_hours, money), round_hours)}


def _needs(found: HardwareRecommendation) -> ReportTable:
    rows = [
        ("Time", spread(found.hours, _hours)),
        ("Cores", spread(found.cores, figure)),
        ("Memory", spread(found.ram_bytes, size)),
        ("Disk", f"{spread(found.disks.needed, size)} on {found.disks.several} × {found.disks.kind}"),
        ("Cost", spread(found.usd, money) if found.usd else "price unknown"),
    ]
    if found.database is not None:
        shards = f", {found.database.shards} servers" if found.database.shards else ""
        memory = f"{spread(found.database.ram_bytes, size)} of memory, {found.database.cores} cores{shards}"
        rows.insert(4, ("MongoDB", memory))
    return ReportTable(tuple(rows))


def _devices(options: Sequence[DeviceOption]) -> tuple[ReportTable, ...]:
    rows = tuple(map(_device, options))
    heads = ("Devices", "Time", "On demand", "Spot", "Offer", "Region and date")
    return (ReportTable(rows, heads, (1, 2, 3)),) if rows else ()


def _device(option: DeviceOption) -> tuple[str, ...]:
    late = "" if option.in_time else ", too slow"
    first = (f"{option.count:,} × {option.device.name}", f"{spread(option.hours, _hours)}{late}")
    bill = option.bill
    if bill is None:
        return (*first, "–", "–", "price unknown", "")
    prices = (bill.on_demand_usd, bill.spot_usd)
    costs = tuple("–" if price is None else money(price.middle) for price in prices)
    offer = f"{bill.instances:,} × {bill.offer.provider} {bill.offer.instance}"
    return (*first, *costs, offer, f"{bill.offer.region}, {dated(bill.offer.as_of)}")


def _hosts(options: Sequence[HostOption]) -> tuple[ReportTable, ...]:
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
    return (ReportTable(rows, _HOST_HEADS, (2, 3, 4, 5)),) if rows else ()


def _storage(prices: Sequence[StoragePrice]) -> tuple[ReportTable, ...]:
    rows = tuple(
        (f"{each.provider} {each.name}", f"{each.region}, {dated(each.as_of)}", money(each.usd)) for each in prices
    )
    return (ReportTable(rows, ("Offer", "Region and date", "Cost"), (2,)),) if rows else ()


def _hours(hours: float) -> str:
    return duration(3600 * hours)
