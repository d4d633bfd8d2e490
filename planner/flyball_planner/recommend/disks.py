"""How much storage, of which kind, and at what price."""

from collections.abc import Sequence
from math import ceil, isnan

from msgspec import Struct

from flyball_planner.catalogue.tables import Row, table
from flyball_planner.interval import Interval

FREE_SHARE = 0.2
"""Left free: file systems and SSDs slow down, and MongoDB needs room to compact, when nearly full."""

LADDER = ("HDD 7200 rpm", "SATA III SSD", "NVMe SSD PCIe 3.0 x4", "NVMe SSD PCIe 4.0 x4", "NVMe SSD PCIe 5.0 x4")
"""Local disks, the cheapest kind first."""


class Disks(Struct, frozen=True):
    """What has to be kept, how fast it has to be read, and what does that."""

    needed: Interval  # bytes, with free room
    kind: str
    several: int  # side by side
    because: str


class StoragePrice(Struct, frozen=True):
    """What keeping it costs with one provider."""

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
    """The cheapest kind of disk that is fast enough; of the fastest, as many as it takes."""
    needed = kept.times(1 + FREE_SHARE)
    asked = _asked(read_bytes_per_second, write_bytes_per_second, operations_per_second)
    rows = {row["name"]: row for row in table("storage")}
    for kind in LADDER:
        reads, writes, operations = _speeds(rows[kind])
        enough = reads >= read_bytes_per_second and writes >= write_bytes_per_second
        if enough and operations >= operations_per_second:
            return Disks(needed, kind, 1, f"{kind}: the simplest disk for {asked}")
    reads, writes, _ = _speeds(rows[LADDER[-1]])
    several = ceil(max(read_bytes_per_second / reads, write_bytes_per_second / writes))
    return Disks(needed, LADDER[-1], several, f"{several} x {LADDER[-1]} side by side, for {asked}")


def _speeds(row: Row) -> tuple[float, float, float]:
    """Bytes read and written and operations a second.

    Where a maker prints no speed of writing, it is taken for that of reading; where operations are not known, solid
    state does as many as are wanted.
    """
    reads = float(row["read_mb_per_second"]) * 1e6
    writes = float(row["write_mb_per_second"] or "nan") * 1e6
    return reads, reads if isnan(writes) else writes, float(row["read_operations_per_second"] or "inf")


def _asked(reads: float, writes: float, operations: float) -> str:
    said = [f"{reads / 1e6:,.2f} MB/s of data"]
    said += [f"{writes / 1e6:,.0f} MB/s of checkpoints"] if writes else []
    said += [f"{operations:,.0f} operations a second"] if operations else []
    return " and ".join(said)


def storage_prices(stored_bytes: float, months: float) -> Sequence[StoragePrice]:
    """What providers ask for keeping so much, the cheapest first."""
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
