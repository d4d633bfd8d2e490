"""How much storage, of which kind, and at what price."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from flyball_planner.catalogue.prices import dated
from flyball_planner.catalogue.tables import table
from flyball_planner.interval import Interval

FREE_SHARE = 0.2
"""Left free: file systems and SSDs slow down, and MongoDB needs room to compact, when nearly full."""

LADDER = ("HDD 7200 rpm", "SATA III SSD", "NVMe SSD PCIe 3.0 x4", "NVMe SSD PCIe 4.0 x4", "NVMe SSD PCIe 5.0 x4")
"""Local disks, the cheapest kind first."""


@dataclass(frozen=True, slots=True)
class Disks:
    """What has to be kept, how fast it has to be read, and what does that."""

    needed: Interval  # bytes, with free room
    read_bytes_per_second: float
    read_operations_per_second: float
    kind: str
    several: int  # side by side
    because: str


@dataclass(frozen=True, slots=True)
class StoragePrice:
    """What keeping it costs with one provider."""

    provider: str
    name: str
    region: str
    as_of: str
    usd: float
    source: str

    def told(self) -> str:
        """With place and date."""
        return f"${self.usd:,.2f} with {self.provider} {self.name}, {self.region}, {dated(self.as_of)}"


def choose_disks(kept: Interval, read_bytes_per_second: float, operations_per_second: float = 0.0) -> Disks:
    """The cheapest kind of disk that reads fast enough; of the fastest, as many as it takes."""
    needed = kept.times(1 + FREE_SHARE)
    asked = _asked(read_bytes_per_second, operations_per_second)
    rows = {row["name"]: row for row in table("storage")}
    speed = 0.0
    for kind in LADDER:
        row = rows[kind]
        # Where operations are not known, a disk that seeks is too slow for many and a solid-state one is not.
        operations = float(row["read_operations_per_second"] or "inf")
        speed = float(row["read_mb_per_second"]) * 1e6
        if speed >= read_bytes_per_second and operations >= operations_per_second:
            said = f"{kind}: the simplest disk for {asked}"
            return Disks(needed, read_bytes_per_second, operations_per_second, kind, 1, said)
    several = ceil(read_bytes_per_second / speed)
    said = f"{several} x {LADDER[-1]} side by side, for {asked}"
    return Disks(needed, read_bytes_per_second, operations_per_second, LADDER[-1], several, said)


def _asked(read_bytes_per_second: float, operations_per_second: float) -> str:
    operations = f" and {operations_per_second:,.0f} operations a second" if operations_per_second else ""
    return f"{read_bytes_per_second / 1e6:,.2f} MB/s{operations}"


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
