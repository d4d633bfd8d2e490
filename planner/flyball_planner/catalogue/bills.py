"""The cost of a run with each offer, on demand and on spot."""

from collections.abc import Sequence
from math import ceil, inf

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.prices import Offer
from flyball_planner.interval import Interval
from flyball_reports.errors import InputError
from flyball_reports.figures import money, plural


class Bill(Struct, frozen=True):
    """The cost of a run with one offer. Complete instances are paid, used or not."""

    offer: Offer
    instances: int
    idle_devices: int  # paid but not used
    on_demand_usd: Interval | None
    spot_usd: Interval | None

    @property
    def usd(self) -> float:
        """Return the most likely cost: on demand, or on spot if there is no other price."""
        best = self.on_demand_usd or self.spot_usd
        if best is None:
            raise ValueError(f"{self.offer.provider} {self.offer.instance} has no price")
        return best.middle

    def description(self) -> str:
        """Return a line with the cost and the price's region and date."""
        idle = f", {self.idle_devices} of their devices idle" if self.idle_devices else ""
        return f"{money(self.usd)} with {self.instances} × {self.offer.description()}{idle}"


def compare(
    found: Sequence[Offer],
    hours: Interval | float,
    devices: int,
    *,
    repeated: float = 0.0,
) -> Sequence[Bill]:
    """Return the bills for some devices and hours, the cheapest first and offers with a caveat last.

    `repeated` is the share of the time on spot that interruptions cost again. The upper end of a spot bill uses the
    price on demand, which providers use as a cap. Fractions of a device are left out. Instances smaller than a usual
    node get a caveat, because their devices are connected by a network instead of links.
    """
    least = hours.low if isinstance(hours, Interval) else hours
    if not 0 <= least < inf or devices < 1 or repeated < 0:
        raise InputError(
            f"cannot compute a price for {hours} hours, {devices} devices and {100 * repeated:.0f} % repeated on spot"
        )
    span = hours if isinstance(hours, Interval) else Interval.exactly(hours)
    together = {name: min(devices, find_device(name).devices_a_node) for name in {each.device for each in found}}
    complete = [_with_caveat(each, together[each.device]) for each in found if each.devices >= 1]
    bills = [_bill(each, span, devices, repeated) for each in complete]
    return sorted(bills, key=lambda bill: (bool(bill.offer.caveat), bill.usd, bill.offer.provider, bill.offer.instance))


def _bill(offer: Offer, hours: Interval, devices: int, repeated: float) -> Bill:
    instances = ceil(devices / offer.devices)
    on_demand = offer.on_demand_usd_per_hour
    return Bill(
        offer=offer,
        instances=instances,
        idle_devices=int(instances * offer.devices) - devices,
        on_demand_usd=None if on_demand is None else hours.times(on_demand * instances),
        spot_usd=_spot(offer, hours.times(1 + repeated), instances),
    )


def _with_caveat(offer: Offer, together: int) -> Offer:
    """Add a caveat to an offer whose instances are smaller than a node."""
    if offer.devices >= together:
        return offer
    caveat = f"only {plural(round(offer.devices), 'device')} per instance, so devices communicate over a network"
    return replace(offer, caveat="; ".join(filter(None, (offer.caveat, caveat))))


def _spot(offer: Offer, hours: Interval, instances: int) -> Interval | None:
    if offer.spot_usd_per_hour is None:
        return None
    cost = hours.times(offer.spot_usd_per_hour * instances)
    highest = max(offer.spot_usd_per_hour, offer.on_demand_usd_per_hour or 0.0)
    return Interval(cost.low, cost.middle, hours.times(highest * instances).high)  # rounded like the others
