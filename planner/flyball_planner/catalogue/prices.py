"""What providers ask for devices. No price is without its place and its date, since all of them change."""

from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import Device
from flyball_planner.catalogue.tables import Row, table


class Offer(Struct, frozen=True):
    """One instance type at one place, as it was priced at one time."""

    provider: str
    instance: str
    device: str
    devices: float  # an instance; less than 1: a share of one
    region: str
    as_of: str  # an ISO date, or "undated" with the snapshot's name
    on_demand_usd_per_hour: float | None
    spot_usd_per_hour: float | None
    source: str
    spot_as_of: str = ""  # where it differs, spot is as old as this
    vcpus: int | None = None
    ram_bytes: float | None = None
    caveat: str = ""  # why this may not be what one pays
    confidence: str = ""
    note: str = ""

    @property
    def usd_per_hour(self) -> float:
        """The price on demand, or on spot where nothing else is offered."""
        price = self.on_demand_usd_per_hour if self.on_demand_usd_per_hour is not None else self.spot_usd_per_hour
        if price is None:
            raise ValueError(f"{self.provider} {self.instance} has no price")
        return price

    @property
    def usd_per_device_hour(self) -> float:
        """The same for one device."""
        return self.usd_per_hour / self.devices

    def told(self) -> str:
        """The price as it may be shown: with place and date."""
        parts = []
        if self.on_demand_usd_per_hour is not None:
            parts.append(f"${self.on_demand_usd_per_hour:,.2f}/h on demand ({dated(self.as_of)})")
        if self.spot_usd_per_hour is not None:
            parts.append(f"${self.spot_usd_per_hour:,.2f}/h spot ({dated(self.spot_as_of or self.as_of)})")
        caveat = f" [{self.caveat}]" if self.caveat else ""
        return f"{self.provider} {self.instance}, {self.region}: {', '.join(parts)}{caveat}"


PROVIDERS = ("AWS", "Azure", "CoreWeave", "GCP", "Lambda", "RunPod")
"""Whose offers are among the catalogue's."""


def offers(device: str | Device) -> Sequence[Offer]:
    """All known offers of a device, the cheapest per device first; those with a caveat come last."""
    name = device.name if isinstance(device, Device) else find_device(device).name
    return ranked([each for each in all_offers() if each.device == name])


def ranked(found: Sequence[Offer]) -> Sequence[Offer]:
    """Offers in the order in which they deserve a look."""
    return sorted(found, key=lambda each: (bool(each.caveat), each.usd_per_device_hour, each.provider, each.instance))


def of_provider(found: Sequence[Offer], provider: str, region: str = "") -> list[Offer]:
    """Those of a provider and a region, either of which may be a part of the name, or nothing for all."""
    return [
        each
        for each in found
        if provider.casefold() in each.provider.casefold() and region.casefold() in each.region.casefold()
    ]


@cache
def all_offers() -> tuple[Offer, ...]:
    """Every offer of the catalogue."""
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
    """How old a price is, in words."""
    return as_of if as_of.startswith("undated") else f"as of {as_of}"


def _optional(text: str) -> float | None:
    return float(text) if text else None
