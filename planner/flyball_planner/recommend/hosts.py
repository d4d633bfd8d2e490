"""Machines without accelerators that offer the required cores and memory."""

from collections.abc import Sequence
from math import ceil

from msgspec import Struct

from flyball_planner.catalogue.prices import dated
from flyball_planner.catalogue.tables import Row, table
from flyball_planner.interval import Interval
from flyball_reports.figures import duration, money

THREADS_A_CORE = 2
"""A virtual processor of these instances is one of two threads of a core."""


class HostOption(Struct, frozen=True):
    """A number of instances of one type for a number of hours."""

    provider: str
    instance: str
    region: str
    as_of: str
    instances: int
    cores: int  # of all instances
    ram_bytes: float
    hours: Interval
    usd: Interval
    source: str

    def description(self) -> str:
        """Return a line with the price, its region and its date."""
        price = f"{money(self.usd.middle)} for {duration(3600 * self.hours.middle)}"
        return f"{price} with {self.instances} × {self.provider} {self.instance}, {self.region}, {dated(self.as_of)}"


def host_options(machines: int, cores: int, ram_bytes: float, hours: Interval) -> Sequence[HostOption]:
    """Return options for some machines with these cores and this memory each, cheapest first.

    One instance may replace several machines.
    """
    found = [_option(row, machines, cores, ram_bytes, hours) for row in table("hosts")]
    return sorted((each for each in found if each), key=lambda each: (each.usd.middle, each.provider, each.instance))


def _option(row: Row, machines: int, cores: int, ram_bytes: float, hours: Interval) -> HostOption | None:
    instance_cores, instance_ram = int(row["vcpus"]) // THREADS_A_CORE, float(row["ram_gib"]) * 2**30
    hold = min(instance_cores // cores, int(instance_ram // ram_bytes))
    if not hold:
        return None
    instances = ceil(machines / hold)
    return HostOption(
        provider=row["provider"],
        instance=row["instance"],
        region=row["region"],
        as_of=row["as_of"],
        instances=instances,
        cores=instances * instance_cores,
        ram_bytes=instances * instance_ram,
        hours=hours,
        usd=hours.times(float(row["usd_per_hour"]) * instances),
        source=row["source"],
    )
