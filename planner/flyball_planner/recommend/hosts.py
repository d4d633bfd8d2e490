"""Machines without accelerators: how many of which offer the cores and the memory that are needed."""

from collections.abc import Sequence
from math import ceil

from msgspec import Struct

from flyball_planner.catalogue.prices import dated
from flyball_planner.catalogue.tables import Row, table
from flyball_planner.interval import Interval

THREADS_A_CORE = 2
"""A virtual processor of these instances is one of a core's two threads."""


class HostOption(Struct, frozen=True):
    """So many instances of one type for so long."""

    provider: str
    instance: str
    region: str
    as_of: str
    instances: int
    cores: int  # of all of them
    ram_bytes: float
    hours: Interval
    usd: Interval
    source: str

    def told(self) -> str:
        """With place and date."""
        price = f"${self.usd.middle:,.2f} for {self.hours.middle:,.1f} h"
        return f"{price} with {self.instances} x {self.provider} {self.instance}, {self.region}, {dated(self.as_of)}"


def host_options(machines: int, cores: int, ram_bytes: float, hours: Interval) -> Sequence[HostOption]:
    """For so many machines of so many cores and so much memory each, the cheapest first.

    One instance may stand for several machines.
    """
    found = [_option(row, machines, cores, ram_bytes, hours) for row in table("hosts")]
    return sorted((each for each in found if each), key=lambda each: (each.usd.middle, each.provider, each.instance))


def _option(row: Row, machines: int, cores: int, ram_bytes: float, hours: Interval) -> HostOption | None:
    own_cores, own_ram = int(row["vcpus"]) // THREADS_A_CORE, float(row["ram_gib"]) * 2**30
    hold = min(own_cores // cores, int(own_ram // ram_bytes))
    if not hold:
        return None
    instances = ceil(machines / hold)
    return HostOption(
        provider=row["provider"],
        instance=row["instance"],
        region=row["region"],
        as_of=row["as_of"],
        instances=instances,
        cores=instances * own_cores,
        ram_bytes=instances * own_ram,
        hours=hours,
        usd=hours.times(float(row["usd_per_hour"]) * instances),
        source=row["source"],
    )
