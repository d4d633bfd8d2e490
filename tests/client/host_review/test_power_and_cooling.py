"""The power of a host under full load, the reserve of its supply, and the risk of heat."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball.host.hardware_parts import HostTier
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.cooling import cooling_risk
from flyball.host_review.power_budget import is_server, power_budget
from tests.client.host_review.recorded_hosts import recorded


def test_the_parts_add_up_and_the_supply_has_a_reserve() -> None:
    """Processor 170 W, GPU 450 W and 75 W for the rest: a supply of 850 W keeps 18 %."""
    power = power_budget(recorded("workstation"))
    assert power.watts == 695.0
    assert sum(each.watts for each in power.parts) == power.watts
    assert power.headroom_watts == 155.0
    assert power.headroom_share == pytest.approx(0.182, abs=0.001)
    assert power.supply_needed_watts == pytest.approx(868.75)


def test_a_node_with_eight_gpus_needs_much_for_its_fans() -> None:
    """By the data sheet, a DGX H100 draws at most 10.2 kW; the sum here is within 10 % of it."""
    node = recorded("node")
    dgx = replace(node, processor=replace(node.processor, tdp_watts=700.0))  # two Xeon 8480C of 350 W
    assert power_budget(dgx).watts == pytest.approx(10_200, rel=0.1)


def test_cards_for_servers_are_in_a_server_although_its_cores_are_unknown() -> None:
    """The node keeps its fans and its low risk of heat if only its tier is lower, for want of a known processor."""
    node = recorded("node")
    unknown = replace(node, tier=HostTier.MEDIUM, limits=replace(node.limits, virtualization=None))
    assert power_budget(unknown).watts == power_budget(node).watts
    assert cooling_risk(unknown).level == "low"
    names = ("H100 SXM5", "B200", "GB200 (per GPU)", "GH200 96GB", "Instinct MI300X")
    cards = ("H100 PCIe", "A100 PCIe 80GB", "GeForce RTX 4090", "Instinct MI210", "L40S")
    found = [is_server(_with_card(each)) for each in (*names, *cards)]
    assert found == [True] * len(names) + [False] * len(cards)


def _with_card(name: str) -> HardwareProfile:
    return replace(WORKSTATION, gpus=(replace(WORKSTATION.gpus[0], catalogue_name=name),))


def test_an_unknown_part_makes_the_sum_unknown() -> None:
    """A sum without the processor would be taken for the whole: it is unknown, and the part is named."""
    power = power_budget(recorded("container"))
    assert power.watts is None
    assert power.unknown == ("processor",)
    assert power.headroom_share is None


@given(watts=st.floats(10, 2000), more=st.floats(0, 500))
def test_a_higher_limit_never_lowers_the_power(watts: float, more: float) -> None:
    """The sum grows with the power limit of a GPU."""

    def total(limit: float) -> float:
        profile = recorded_workstation(limit)
        return power_budget(profile).watts or 0.0

    assert total(watts) <= total(watts + more)


WORKSTATION = recorded("workstation")


def recorded_workstation(limit: float) -> HardwareProfile:
    """Return the workstation with another power limit."""
    return replace(WORKSTATION, gpus=(replace(WORKSTATION.gpus[0], power_limit_watts=limit),))


def test_a_cool_server_has_a_low_risk() -> None:
    """Temperatures far below the limits in a rack are a low risk."""
    risk = cooling_risk(recorded("server"))
    assert (risk.level, risk.because) == ("low", ("the hottest sensor is at 35 °C",))


@pytest.mark.parametrize(
    ("celsius", "watts", "level"),
    [(40.0, 300.0, "low"), (64.0, 250.0, "medium"), (74.0, 400.0, "medium"), (82.0, 400.0, "high")],
)
def test_a_gpu_near_its_limit_is_a_risk(celsius: float, watts: float, level: str) -> None:
    """Near the slowdown temperature now, or on the straight line to the power limit."""
    gpu = replace(WORKSTATION.gpus[0], temperature_celsius=celsius, power_watts=watts)
    assert cooling_risk(replace(WORKSTATION, gpus=(gpu,))).level == level


def test_a_laptop_and_a_card_without_fans_in_a_desktop_are_risks() -> None:
    """The case counts too: a thin one, and one without the air flow that a passive card needs."""
    assert cooling_risk(recorded("laptop")).level == "medium"
    passive = replace(WORKSTATION.gpus[0], catalogue_name="A100 PCIe 80GB")
    risk = cooling_risk(replace(WORKSTATION, gpus=(passive,)))
    assert risk.level == "medium"
    assert "A100 PCIe 80GB has no fan" in risk.because[0]
    assert cooling_risk(replace(recorded("server"), tier=HostTier.SERVER)).level == "low"


def test_no_sensor_is_an_unknown_risk() -> None:
    """Without any temperature and any sign, the risk is unknown, not low."""
    risk = cooling_risk(HardwareProfile(tier=HostTier.LOW))
    assert risk.level is None
    assert risk.because == ("no sensor reports a temperature",)
