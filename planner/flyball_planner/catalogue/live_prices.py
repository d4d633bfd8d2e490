"""Today's prices from gpuhunt (MPL-2.0), an optional package that queries public price lists over the network."""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from importlib import import_module
from typing import Protocol

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.catalogue.prices import Offer, ranked
from flyball_reports.errors import InputError


class Item(Protocol):
    """An instance type as gpuhunt returns it."""

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
Report = Callable[[str], None]

PUBLISHED = ("aws", "azure", "cloudrift", "gcp", "lambdalabs", "nebius", "oci", "runpod", "verda")
"""Providers whose lists gpuhunt collects and publishes (gpuhunt 0.1.34, catalog.py, OFFLINE_PROVIDERS). The others are
marketplaces that it queries live; if one of them does not answer, gpuhunt fails for all."""


def live_offers(
    device: str | ComputeDevice,
    today: date,
    providers: Sequence[str] = (),
    query: Query | None = None,
    report: Report = lambda _: None,
) -> Sequence[Offer]:
    """Return today's offers of a device, on demand and on spot, with the date that the caller passes.

    Providers that had to be left out are passed to `report`.
    """
    wanted = device if isinstance(device, ComputeDevice) else find_device(device)
    items = _items(query or _gpuhunt(), providers, report)
    called = {name for name in {(each.gpu_name, each.gpu_memory) for each in items} if _is(*name, wanted)}
    places: dict[tuple[str, str, str], list[Item]] = {}
    for item in items:
        if (item.gpu_name, item.gpu_memory) in called:
            places.setdefault((item.provider, item.instance_name, item.location), []).append(item)
    return ranked([_offer(each, wanted, today) for each in places.values()])


def _gpuhunt() -> Query:
    # Suppress gpuhunt's tracebacks; the error is reported once by this module.
    logging.getLogger("gpuhunt").addHandler(logging.NullHandler())
    try:
        query: Query = import_module("gpuhunt").query
    except (ImportError, AttributeError):
        message = "live prices need the package gpuhunt (pip install gpuhunt); without --live, dated prices are used"
        raise InputError(message) from None
    return query


def _items(query: Query, providers: Sequence[str], report: Report) -> list[Item]:
    try:
        return list(query(provider=list(providers) or None, min_gpu_count=1))
    except Exception as error:  # whatever fails in gpuhunt, dated prices remain available
        if providers:
            raise InputError(
                f"gpuhunt returned no live prices ({error}); without --live, dated prices are used"
            ) from error
        items = _items(query, PUBLISHED, report)
        report(f"a marketplace did not answer ({error}); offers only include {', '.join(PUBLISHED)}")
        return items


def _is(name: str | None, memory_gb: float | None, wanted: ComputeDevice) -> bool:
    if not name or not memory_gb:
        return False
    try:
        return find_device(f"{name} {memory_gb:g}GB").name == wanted.name
    except InputError:
        return False


def _offer(items: Sequence[Item], device: ComputeDevice, today: date) -> Offer:
    """Return the offer of one instance type in one region: on demand, on spot or both."""
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
        caveat="on spot only; may be withdrawn" if on_demand is None else "",
        note="gpuhunt distinguishes memory sizes, but not SXM from PCIe",
    )
