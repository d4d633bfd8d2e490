"""Storage: how much, of which kind, and at what price."""

from collections.abc import Sequence
from math import ceil, isnan

from msgspec import Struct

from flyball_planner.catalogue.tables import Row, table
from flyball_planner.interval import Interval

FREE_SHARE = 0.2
"""Share of free space: file systems and SSDs slow down when nearly full, and MongoDB needs space to compact."""

LADDER = ("HDD 7200 rpm", "SATA III SSD", "NVMe SSD PCIe 3.0 x4", "NVMe SSD PCIe 4.0 x4", "NVMe SSD PCIe 5.0 x4")
"""Local disks, cheapest kind first."""


class Disks(Struct, frozen=True):
    """The storage that a training needs, and disks that are fast enough."""

    needed: Interval  # bytes, with free space
    kind: str
    several: int  # in parallel
    because: str


class StoragePrice(Struct, frozen=True):
    """The cost of storing the data with one provider."""

    provider: str
    name: str
    region: str
    as_of: str
    usd: float
    source: str


def choose_disks(
    kept: Interval,
    read_bytes_per_second: float,
    write_bytes_per_second: float = 0.0,
    operations_per_second: float = 0.0,
) -> Disks:
    """Return the cheapest kind of disk that is fast enough, or several of the fastest kind."""
    needed = kept.times(1 + FREE_SHARE)
    needs = _needs(read_bytes_per_second, write_bytes_per_second, operations_per_second)
    rows = {row["name"]: row for row in table("storage")}
    for kind in LADDER:
        reads, writes, operations = _speeds(rows[kind])
        enough = reads >= read_bytes_per_second and writes >= write_bytes_per_second
        if enough and operations >= operations_per_second:
            return Disks(needed, kind, 1, f"{kind}: the cheapest kind of disk for {needs}")
    reads, writes, _ = _speeds(rows[LADDER[-1]])
    several = ceil(max(read_bytes_per_second / reads, write_bytes_per_second / writes))
    return Disks(needed, LADDER[-1], several, f"{several} × {LADDER[-1]} in parallel for {needs}")


def _speeds(row: Row) -> tuple[float, float, float]:
    """Return bytes read, bytes written and operations per second.

    If a vendor states no write speed, the read speed is used; an unknown number of operations counts as unlimited.
    """
    reads = float(row["read_mb_per_second"]) * 1e6
    writes = float(row["write_mb_per_second"] or "nan") * 1e6
    return reads, reads if isnan(writes) else writes, float(row["read_operations_per_second"] or "inf")


def _needs(reads: float, writes: float, operations: float) -> str:
    needs = [f"{reads / 1e6:,.2f} MB/s of data"]
    needs += [f"{writes / 1e6:,.0f} MB/s of checkpoints"] if writes else []
    needs += [f"{operations:,.0f} operations per second"] if operations else []
    return " and ".join(needs)


def storage_prices(stored_bytes: float, months: float) -> Sequence[StoragePrice]:
    """Return the providers' prices for storing the data, cheapest first."""
    prices = (
        StoragePrice(
            provider=row["provider"],
            name=row["name"],
            region=row["region"],
            as_of=row["as_of"],
            usd=stored_bytes / 1e9 * float(row["usd_per_gb_month"]) * months,
            source=row["source"],
        )
        for row in table("storage_prices")
    )
    return sorted(prices, key=lambda each: each.usd)
