"""Tests of prices, each with region and date, and of bills."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.catalogue.bills import compare
from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.live_prices import live_offers
from flyball_planner.catalogue.prices import PROVIDERS, Offer, all_offers, offers
from flyball_planner.interval import Interval
from flyball_reports.errors import InputError

NODE = Offer("Cloud", "eight", "H100 SXM5", 8, "here", "2026-07-20", 80.0, 32.0, "a page", spot_as_of="2026-07-01")
SINGLE = Offer("Cloud", "one", "H100 SXM5", 1, "here", "2026-07-20", 12.0, None, "a page")


@pytest.mark.parametrize("offer", all_offers(), ids=lambda each: f"{each.provider} {each.instance}")
def test_every_offer_has_place_date_and_source(offer: Offer) -> None:
    """A price has a region, a date and a source, and spot never costs more than on demand."""
    assert offer.region
    assert offer.source
    assert offer.as_of.startswith(("202", "undated", "before 202"))
    assert offer.as_of in offer.description() or offer.spot_as_of in offer.description()
    assert find_device(offer.device).name == offer.device
    assert 0.05 <= offer.usd_per_device_hour <= 40
    if offer.spot_usd_per_hour is not None:
        assert offer.spot_as_of
        assert offer.on_demand_usd_per_hour is None or offer.spot_usd_per_hour <= offer.on_demand_usd_per_hour


def test_several_providers_offer_the_common_cards() -> None:
    """AWS, GCP, Azure, Lambda and RunPod have prices for the common devices."""
    for device in ("A100 80GB", "H100"):
        assert {"AWS", "GCP", "Azure", "Lambda", "RunPod"} <= {each.provider for each in offers(device)}
    assert not offers("GeForce GTX 1660 Ti")


def test_the_list_of_providers_is_complete() -> None:
    """The list has exactly the providers with offers."""
    assert set(PROVIDERS) == {each.provider for each in all_offers()}


def test_offers_with_a_caveat_come_last() -> None:
    """Prices that need a caveat are at the end of the list."""
    caveats = [bool(each.caveat) for each in offers("H100")]
    assert caveats == sorted(caveats)
    assert caveats[0] is False
    assert caveats[-1] is True


def test_bills_count_full_instances() -> None:
    """Twelve devices in nodes of eight are billed as sixteen; single ones as twelve."""
    node, single = compare([NODE, SINGLE], hours=10, devices=12)
    assert (single.instances, single.idle_devices, single.usd) == (12, 0, 1440)
    assert (node.instances, node.idle_devices, node.usd) == (2, 4, 1600)
    assert "as of 2026-07-20" in node.description()
    assert "4 of their devices idle" in node.description()


def test_single_instances_have_a_caveat() -> None:
    """Eight single-device instances lack NVLink and get a caveat; one instance does not."""
    expensive, cheap = compare([SINGLE, NODE, replace(SINGLE, on_demand_usd_per_hour=1.0)], hours=1, devices=8)[:2]
    assert (expensive.offer.instance, expensive.offer.caveat) == ("eight", "")
    assert "only 1 device per instance" in cheap.description()
    assert compare([SINGLE], hours=1, devices=1)[0].offer.caveat == ""


def test_spot_costs_lie_between_spot_and_on_demand_prices() -> None:
    """The middle is the spot price with repeated work; the upper end is the on-demand price."""
    (bill,) = compare([NODE], hours=10, devices=8, repeated=0.1)
    assert bill.spot_usd is not None
    assert (bill.spot_usd.low, bill.spot_usd.middle, bill.spot_usd.high) == pytest.approx((352.0, 352.0, 880.0))
    (unknown,) = compare([SINGLE], hours=10, devices=1)
    assert unknown.spot_usd is None


@given(low=st.floats(0, 1e3), more=st.floats(0, 1e3), devices=st.integers(1, 4096))
def test_bills_grow_with_hours(low: float, more: float, devices: int) -> None:
    """An interval of hours gives an interval of costs in the same order."""
    for bill in compare([NODE, SINGLE], Interval(low, low + more / 2, low + more), devices):
        assert bill.on_demand_usd is not None
        assert bill.on_demand_usd.low <= bill.usd <= bill.on_demand_usd.high
        assert bill.instances * bill.offer.devices >= devices


def test_fractions_of_a_device_are_not_compared() -> None:
    """Offers of a fraction of an A10 are not billed as an A10."""
    assert all(bill.offer.devices >= 1 for bill in compare(offers("A10"), 1, 1))
    assert any(each.devices < 1 for each in offers("A10"))


def test_invalid_hours_and_devices_are_refused() -> None:
    """Negative hours and zero devices are errors."""
    with pytest.raises(InputError, match="-1 hours"):
        compare([NODE], -1, 1)
    with pytest.raises(InputError, match="0 devices"):
        compare([NODE], 1, 0)


def test_an_offer_without_a_price_is_an_error() -> None:
    """The error names the offer that has no price."""
    with pytest.raises(ValueError, match="Cloud one has no price"):
        replace(SINGLE, on_demand_usd_per_hour=None).usd_per_hour  # noqa: B018  reading the property raises


@dataclass
class Item:
    """An item as gpuhunt returns it."""

    provider: str = "aws"
    instance_name: str = "p5.48xlarge"
    location: str = "us-east-1"
    price: float = 55.0
    cpu: int = 192
    memory: float = 2048.0
    gpu_count: int = 8
    gpu_name: str | None = "H100"
    gpu_memory: float | None = 80.0
    spot: bool = False


def test_live_prices_have_the_given_date() -> None:
    """Other devices are left out, spot and on demand are separated, and the caller gives the date."""
    used_filters: dict[str, Any] = {}

    def query(**filters: object) -> list[Item]:
        used_filters.update(filters)
        others = [Item(gpu_name="A100"), Item(gpu_name="GH200X"), Item(gpu_name=None)]
        return [Item(), Item(price=20.0, spot=True), Item(location="us-west-2", spot=True), *others]

    both, spot = live_offers("H100", date(2026, 11, 21), ["aws"], query)
    assert used_filters["provider"] == ["aws"]
    assert (both.spot_usd_per_hour, both.on_demand_usd_per_hour, both.as_of) == (20.0, 55.0, "2026-11-21")
    assert (spot.region, spot.on_demand_usd_per_hour, spot.caveat) == (
        "us-west-2",
        None,
        "on spot only; may be withdrawn",
    )


def test_failed_queries_of_live_prices_are_errors() -> None:
    """A network failure is an error that suggests the dated prices."""

    def broken(**_: object) -> list[Item]:
        raise OSError("no route to host")

    with pytest.raises(InputError, match=r"no route to host.*dated prices"):
        live_offers("H100", date(2026, 11, 21), query=broken)


def test_a_missing_gpuhunt_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """If gpuhunt is not installed, the error explains how to install it and suggests the dated prices."""
    monkeypatch.setitem(__import__("sys").modules, "gpuhunt", None)
    with pytest.raises(InputError, match=r"pip install gpuhunt.*dated prices"):
        live_offers("H100", date(2026, 11, 21))


def test_a_price_on_spot_alone_is_a_bill_whatever_the_rounding() -> None:
    """Without a price on demand, the upper end is the spot price itself, and hours × price × instances rounds alike."""
    only = replace(NODE, on_demand_usd_per_hour=None, spot_usd_per_hour=22.37)
    (bill,) = compare([only], Interval.exactly(868.4467734105167), 98 * 8)
    assert bill.spot_usd == Interval.exactly(868.4467734105167 * (22.37 * 98))
