"""Prices of devices by provider. No price is shown without its region and date, because prices change."""

from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.catalogue.tables import Row, table


class Offer(Struct, frozen=True):
    """The price of one instance type in one region at one time."""

    provider: str
    instance: str
    device: str
    devices: float  # per instance; less than 1: a share of a device
    region: str
    as_of: str  # an ISO date, or "undated" with the snapshot's name
    on_demand_usd_per_hour: float | None
    spot_usd_per_hour: float | None
    source: str
    spot_as_of: str = ""  # date of the spot price, if different
    vcpus: int | None = None
    ram_bytes: float | None = None
    caveat: str = ""  # why the actual price may differ
    confidence: str = ""
    note: str = ""

    @property
    def usd_per_hour(self) -> float:
        """Return the price on demand, or on spot if there is no other price."""
        price = self.on_demand_usd_per_hour if self.on_demand_usd_per_hour is not None else self.spot_usd_per_hour
        if price is None:
            raise ValueError(f"{self.provider} {self.instance} has no price")
        return price

    @property
    def usd_per_device_hour(self) -> float:
        """Return the price per device."""
        return self.usd_per_hour / self.devices

    def description(self) -> str:
        """Return a line with the price, its region and its date."""
        parts = []
        if self.on_demand_usd_per_hour is not None:
            parts.append(f"${self.on_demand_usd_per_hour:,.2f}/h on demand ({dated(self.as_of)})")
        if self.spot_usd_per_hour is not None:
            parts.append(f"${self.spot_usd_per_hour:,.2f}/h spot ({dated(self.spot_as_of or self.as_of)})")
        caveat = f" [{self.caveat}]" if self.caveat else ""
        return f"{self.provider} {self.instance}, {self.region}: {', '.join(parts)}{caveat}"


PROVIDERS = ("AWS", "Azure", "CoreWeave", "GCP", "Lambda", "RunPod")
"""Providers of the catalogue's offers."""


def offers(device: str | ComputeDevice) -> Sequence[Offer]:
    """Return all known offers of a device, the cheapest per device first and those with a caveat last."""
    name = device.name if isinstance(device, ComputeDevice) else find_device(device).name
    return ranked(_offers_of(name))


def ranked(found: Sequence[Offer]) -> Sequence[Offer]:
    """Sort offers: without a caveat first, then by price."""
    return sorted(found, key=lambda each: (bool(each.caveat), each.usd_per_device_hour, each.provider, each.instance))


def of_provider(found: Sequence[Offer], provider: str, region: str = "") -> list[Offer]:
    """Return the offers of a provider and region; both may be parts of names, or empty for all."""
    return [
        each
        for each in found
        if provider.casefold() in each.provider.casefold() and region.casefold() in each.region.casefold()
    ]


@cache
def _offers_of(device: str) -> tuple[Offer, ...]:
    """Return the offers of a device, without reading the others."""
    return tuple(_offer(row) for row in table("prices") if row["device"] == device)


@cache
def all_offers() -> tuple[Offer, ...]:
    """Return every offer of the catalogue."""
    return tuple(_offer(row) for row in table("prices"))


def _offer(row: Row) -> Offer:
    return Offer(
        provider=row["provider"],
        instance=row["instance"],
        device=row["device"],
        devices=float(row["devices"]),
        region=row["region"],
        as_of=row["as_of"],
        on_demand_usd_per_hour=_optional(row["on_demand_usd_per_hour"]),
        spot_usd_per_hour=_optional(row["spot_usd_per_hour"]),
        source=row["source"],
        spot_as_of=row["spot_as_of"],
        vcpus=int(row["vcpus"]) if row["vcpus"] else None,
        ram_bytes=float(row["ram_gib"]) * 2**30 if row["ram_gib"] else None,
        caveat=row["caveat"],
        confidence=row["confidence"],
        note=row["note"],
    )


def dated(as_of: str) -> str:
    """Return the date of a price in words."""
    return as_of if as_of.startswith("undated") else f"as of {as_of}"


def _optional(text: str) -> float | None:
    return float(text) if text else None
