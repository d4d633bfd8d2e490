"""Tests of the cost of a plan."""

from flyball_planner.catalogue.machines import machine
from flyball_planner.interval import Interval
from flyball_planner.plan.cost import cost_section
from flyball_planner.specification.specification import PriceChoice

HOUR = Interval.exactly(3600.0)
AWS = PriceChoice(provider="AWS")


def test_idle_devices_of_an_instance_are_named_with_their_cost() -> None:
    """Three V100 are rented as an instance of four, so a quarter of its price is for a device that idles."""
    found = cost_section(machine("V100 SXM2 16GB", 3), HOUR, AWS)
    full = cost_section(machine("V100 SXM2 16GB", 4), HOUR, AWS)
    assert found.cost_usd == full.cost_usd
    assert full.cost_usd is not None
    assert f"; 1 of their 4 devices are paid but idle, ${full.cost_usd.middle / 4:.2f} of the cost" in found.price_basis


def test_a_full_instance_has_no_idle_devices() -> None:
    """No idle device is named where the layout uses all of them, or where the price is per device."""
    assert "idle" not in cost_section(machine("V100 SXM2 16GB", 4), HOUR, AWS).price_basis
    given = PriceChoice(usd_per_device_hour=2.0)
    assert "idle" not in cost_section(machine("V100 SXM2 16GB", 3), HOUR, given).price_basis
