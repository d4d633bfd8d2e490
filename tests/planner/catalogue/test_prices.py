"""Prices, which are never without their place and date, and the bills that follow from them."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.catalogue import Offer, compare, find_device, offers
from flyball_planner.catalogue.live import live_offers
from flyball_planner.catalogue.prices import PROVIDERS, all_offers
from flyball_planner.interval import Interval
from flyball_reports.errors import InputError

NODE = Offer("Cloud", "eight", "H100 SXM5", 8, "here", "2026-07-20", 80.0, 32.0, "a page", spot_as_of="2026-07-01")
SINGLE = Offer("Cloud", "one", "H100 SXM5", 1, "here", "2026-07-20", 12.0, None, "a page")


@pytest.mark.parametrize("offer", all_offers(), ids=lambda each: f"{each.provider} {each.instance}")
def test_every_offer_has_place_date_and_source(offer: Offer) -> None:
    """A price says where and when it was asked, and spot never costs more than on demand."""
    assert offer.region
    assert offer.source
    assert offer.as_of.startswith(("202", "undated", "before 202"))
    assert offer.as_of in offer.told() or offer.spot_as_of in offer.told()
    assert find_device(offer.device).name == offer.device
    assert 0.05 <= offer.usd_per_device_hour <= 40
    if offer.spot_usd_per_hour is not None:
        assert offer.spot_as_of
        assert offer.on_demand_usd_per_hour is None or offer.spot_usd_per_hour <= offer.on_demand_usd_per_hour


def test_several_providers_offer_the_common_cards() -> None:
    """AWS, GCP, Azure and others are there for the cards that people rent."""
    for device in ("A100 80GB", "H100"):
        assert {"AWS", "GCP", "Azure", "Lambda", "RunPod"} <= {each.provider for each in offers(device)}
    assert not offers("GeForce GTX 1660 Ti")


def test_the_providers_that_can_be_named_are_those_with_offers() -> None:
    """All of them, and no other."""
    assert set(PROVIDERS) == {each.provider for each in all_offers()}


def test_offers_with_a_caveat_come_last() -> None:
    """A price that is not what one pays never heads the list."""
    caveats = [bool(each.caveat) for each in offers("H100")]
    assert caveats == sorted(caveats)
    assert caveats[0] is False
    assert caveats[-1] is True


def test_whole_instances_are_paid() -> None:
    """Twelve devices on eight-device nodes pay for sixteen; single ones pay for twelve, and are no node."""
    node, single = compare([NODE, SINGLE], hours=10, devices=12)
    assert (single.instances, single.idle_devices, single.usd) == (12, 0, 1440)
    assert (node.instances, node.idle_devices, node.usd) == (2, 4, 1600)
    assert "as of 2026-07-20" in node.told()
    assert "4 of their devices idle" in node.told()


def test_single_instances_are_no_node() -> None:
    """Eight instances of one device have a network where the node of eight has NVLink; one instance alone is fine."""
    dear, cheap = compare([SINGLE, NODE, replace(SINGLE, on_demand_usd_per_hour=1.0)], hours=1, devices=8)[:2]
    assert (dear.offer.instance, dear.offer.caveat) == ("eight", "")
    assert "only 1 of a node's 8 together" in cheap.told()
    assert compare([SINGLE], hours=1, devices=1)[0].offer.caveat == ""


def test_spot_reaches_from_its_price_to_the_one_on_demand() -> None:
    """Its middle is today's spot price with what is done again; nobody pays more than on demand."""
    (bill,) = compare([NODE], hours=10, devices=8, repeated=0.1)
    assert bill.spot_usd is not None
    assert (bill.spot_usd.low, bill.spot_usd.middle, bill.spot_usd.high) == pytest.approx((352.0, 352.0, 880.0))
    (unknown,) = compare([SINGLE], hours=10, devices=1)
    assert unknown.spot_usd is None


@given(low=st.floats(0, 1e3), more=st.floats(0, 1e3), devices=st.integers(1, 4096))
def test_bills_grow_with_hours(low: float, more: float, devices: int) -> None:
    """An interval of hours becomes an interval of money, in the same order."""
    for bill in compare([NODE, SINGLE], Interval(low, low + more / 2, low + more), devices):
        assert bill.on_demand_usd is not None
        assert bill.on_demand_usd.low <= bill.usd <= bill.on_demand_usd.high
        assert bill.instances * bill.offer.devices >= devices


def test_shares_of_a_device_serve_no_whole_one() -> None:
    """A third of an A10 is no cheap A10."""
    assert all(bill.offer.devices >= 1 for bill in compare(offers("A10"), 1, 1))
    assert any(each.devices < 1 for each in offers("A10"))


def test_nothing_to_price_is_refused() -> None:
    """Hours and devices must be there."""
    with pytest.raises(InputError, match="-1 hours"):
        compare([NODE], -1, 1)
    with pytest.raises(InputError, match="0 devices"):
        compare([NODE], 1, 0)


def test_an_offer_without_a_price_says_so() -> None:
    """It cannot be ranked, and the error names it."""
    with pytest.raises(ValueError, match="Cloud one has no price"):
        replace(SINGLE, on_demand_usd_per_hour=None).usd_per_hour  # noqa: B018  the property is what is asked


@dataclass
class Item:
    """An item as gpuhunt gives it."""

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


def test_live_prices_carry_the_day() -> None:
    """Items of other devices are left out, spot and on demand are told apart, and today is what the caller says."""
    asked: dict[str, Any] = {}

    def query(**filters: object) -> list[Item]:
        asked.update(filters)
        others = [Item(gpu_name="A100"), Item(gpu_name="GH200X"), Item(gpu_name=None)]
        return [Item(), Item(price=20.0, spot=True), Item(location="us-west-2", spot=True), *others]

    both, spot = live_offers("H100", date(2026, 11, 21), ["aws"], query)
    assert asked["provider"] == ["aws"]
    assert (both.spot_usd_per_hour, both.on_demand_usd_per_hour, both.as_of) == (20.0, 55.0, "2026-11-21")
    assert (spot.region, spot.on_demand_usd_per_hour, spot.caveat) == (
        "us-west-2",
        None,
        "on spot only: may be withdrawn",
    )


def test_live_prices_that_cannot_be_had() -> None:
    """A missing package or a lost network is told with the way out."""

    def broken(**_: object) -> list[Item]:
        raise OSError("no route to host")

    with pytest.raises(InputError, match=r"no route to host.*dated ones"):
        live_offers("H100", date(2026, 11, 21), query=broken)


def test_a_missing_gpuhunt_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not installed, the message says how to install it and how to go on without."""
    monkeypatch.setitem(__import__("sys").modules, "gpuhunt", None)
    with pytest.raises(InputError, match=r"pip install gpuhunt.*dated ones"):
        live_offers("H100", date(2026, 11, 21))
