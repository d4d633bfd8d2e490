"""Today's prices through gpuhunt (MPL-2.0), where it is installed; it asks providers' public lists over the network."""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from importlib import import_module
from typing import Protocol

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import Device
from flyball_planner.catalogue.prices import Offer, ranked
from flyball_reports.errors import InputError


class Item(Protocol):
    """What gpuhunt says of one instance type."""

    provider: str
    instance_name: str
    location: str
    price: float
    cpu: int
    memory: float
    gpu_count: int
    gpu_name: str | None
    gpu_memory: float | None
    spot: bool


Query = Callable[..., Iterable[Item]]
Tell = Callable[[str], None]

PUBLISHED = ("aws", "azure", "cloudrift", "gcp", "lambdalabs", "nebius", "oci", "runpod", "verda")
"""Providers whose lists gpuhunt collects and publishes (gpuhunt 0.1.34, catalog.py, OFFLINE_PROVIDERS). The others are
marketplaces that it asks as it goes, and one that does not answer makes it give up on all."""


def live_offers(
    device: str | Device,
    today: date,
    providers: Sequence[str] = (),
    query: Query | None = None,
    tell: Tell = lambda _: None,
) -> Sequence[Offer]:
    """Today's offers of a device, on demand and spot, dated with the day that the caller says it is.

    Who had to be left out is told.
    """
    wanted = device if isinstance(device, Device) else find_device(device)
    items = _items(query or _gpuhunt(), providers, tell)
    called = {name for name in {(each.gpu_name, each.gpu_memory) for each in items} if _is(*name, wanted)}
    places: dict[tuple[str, str, str], list[Item]] = {}
    for item in items:
        if (item.gpu_name, item.gpu_memory) in called:
            places.setdefault((item.provider, item.instance_name, item.location), []).append(item)
    return ranked([_offer(each, wanted, today) for each in places.values()])


def _gpuhunt() -> Query:
    # Its tracebacks would stand on the terminal; what went wrong is told once, by us.
    logging.getLogger("gpuhunt").addHandler(logging.NullHandler())
    try:
        query: Query = import_module("gpuhunt").query
    except (ImportError, AttributeError):
        message = "live prices need the package gpuhunt (pip install gpuhunt); leave them out to use the dated ones"
        raise InputError(message) from None
    return query


def _items(ask: Query, providers: Sequence[str], tell: Tell) -> list[Item]:
    try:
        return list(ask(provider=list(providers) or None, min_gpu_count=1))
    except Exception as error:  # whatever goes wrong in it, the user has dated prices to go on with
        if providers:
            raise InputError(f"gpuhunt gave no live prices ({error}); leave them out to use the dated ones") from error
        items = _items(ask, PUBLISHED, tell)
        tell(f"a marketplace did not answer ({error}); offers are of {', '.join(PUBLISHED)} alone")
        return items


def _is(name: str | None, memory_gb: float | None, wanted: Device) -> bool:
    if not name or not memory_gb:
        return False
    try:
        return find_device(f"{name} {memory_gb:g}GB").name == wanted.name
    except InputError:
        return False


def _offer(items: Sequence[Item], device: Device, today: date) -> Offer:
    """One instance type at one place: on demand, on spot or both."""
    first = items[0]
    on_demand = min((each.price for each in items if not each.spot), default=None)
    return Offer(
        provider=first.provider,
        instance=first.instance_name,
        device=device.name,
        devices=first.gpu_count,
        region=first.location,
        as_of=today.isoformat(),
        on_demand_usd_per_hour=on_demand,
        spot_usd_per_hour=min((each.price for each in items if each.spot), default=None),
        source="gpuhunt",
        vcpus=first.cpu,
        ram_bytes=first.memory * 2**30,
        caveat="on spot only: may be withdrawn" if on_demand is None else "",
        note="gpuhunt tells sizes of memory apart, not SXM from PCIe",
    )
