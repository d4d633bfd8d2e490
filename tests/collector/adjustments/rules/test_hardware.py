"""Heat and power."""

import pytest

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.rules.hardware import failed_until_ns, margin_with
from tests.collector.adjustments.rules.runs import (
    NOW,
    SECOND,
    adjustment,
    case,
    event,
    find,
    ranks,
    situation,
    to_of,
    value,
)


@pytest.mark.parametrize(("left", "slowed", "to"), [(120.0, False, 0.1), (50.0, False, 0.2), (120.0, True, 0.2)])
def test_heat_throttles_by_as_much_as_is_urgent(left: float, slowed: bool, to: float) -> None:
    """A forecast leads to the next choice; with less than a minute left, or slow clocks, to the one after it."""
    hot = situation(event("thermal_slowdown"), heat_seconds_left=left, slowed_by_heat=slowed)
    assert to_of(find("throttle_heat", [value("throttle")], hot)) == to


@pytest.mark.parametrize(("facts", "words"), [
    ({"slowed_by_heat": True}, "clocks fall because of heat"),
    ({"temperature_margin_celsius": 2.0}, "the hottest GPU is 2 °C below the temperature at which clocks fall"),
    ({"temperature_margin_celsius": None, "heat_seconds_left": 40.0}, "clocks are forecast to fall in 40 s"),
])  # fmt: skip
def test_the_reason_names_what_was_measured(facts: dict[str, float], words: str) -> None:
    """People read why the run is slowed down."""
    change = find("throttle_heat", [value("throttle")], situation(**facts))
    assert change is not None
    assert change.because == words
    assert set(change.predicted) == (
        set() if facts.get("temperature_margin_celsius", 30.0) is None else {"margin_celsius"}
    )


def test_a_forecast_that_is_over_raises_nothing() -> None:
    """A condition stays active for a minute; the throttle follows this second's forecast."""
    assert find("throttle_heat", [value("throttle")], situation(event("thermal_slowdown"))) is None


@pytest.mark.parametrize(("margin", "to"), [(3.0, 0.1), (3.5, None), (None, None)])
def test_a_gpu_near_its_limit_is_hot_without_a_forecast(margin: float | None, to: float | None) -> None:
    """From 3 °C below the limit on, the throttle is raised; an unknown margin changes nothing."""
    found = situation(temperature_margin_celsius=margin)
    assert to_of(find("throttle_heat", [value("throttle")], found)) == to


@pytest.mark.parametrize(("ago", "facts", "to"), [
    (15, {"temperature_margin_celsius": 2.0}, None), (25, {"temperature_margin_celsius": 2.0}, 0.2),
    (25, {"heat_seconds_left": 80.0}, None), (50, {"heat_seconds_left": 80.0}, 0.2),
    (5, {"temperature_margin_celsius": 0.0, "slowed_by_heat": True}, 0.3),
])  # fmt: skip
def test_a_step_is_given_time_to_cool(ago: float, facts: dict[str, float], to: float | None) -> None:
    """The next one waits until the warming is measured again, and longer for forecasts; fallen clocks do not wait."""
    raised = [adjustment("throttle", 0, 0.1, ago=ago, rule="throttle_heat", protects=True)]
    assert to_of(find("throttle_heat", [value("throttle", 0.1)], situation(**facts), raised)) == to


def test_a_throttle_is_released_as_far_as_the_prediction_allows() -> None:
    """The lowest share is chosen with which the GPU is predicted to stay 4 °C below its limit."""
    now = [value("throttle", 0.3)]
    warm = situation(temperature_celsius=80.0, temperature_margin_celsius=9.0)
    assert to_of(find("release_throttle", now, warm)) == 0.2
    warmer = situation(temperature_celsius=83.0, temperature_margin_celsius=8.0)
    assert find("release_throttle", now, warmer) is None
    cool = situation(temperature_celsius=60.0, temperature_margin_celsius=30.0)
    assert to_of(find("release_throttle", now, cool)) == 0
    near = situation(temperature_celsius=84.0, temperature_margin_celsius=7.9)
    assert find("release_throttle", now, near) is None


def test_a_throttle_that_was_too_little_is_not_tried_soon() -> None:
    """After the throttle was raised from 0.1, it stays above that for half an hour, and then longer each time."""
    cool = situation(temperature_celsius=60.0, temperature_margin_celsius=30.0)
    once = [adjustment("throttle", 0.1, 0.2, ago=1000, rule="throttle_heat", protects=True)]
    assert find("release_throttle", [value("throttle", 0.2)], cool, once) is None
    later = [adjustment("throttle", 0.1, 0.2, ago=1900, rule="throttle_heat", protects=True)]
    assert to_of(find("release_throttle", [value("throttle", 0.2)], cool, later)) == 0
    twice = [*later, adjustment("throttle", 0.1, 0.2, ago=5000, rule="throttle_heat", protects=True)]
    of = case(ranks([value("throttle", 0.2)]), cool, twice)
    assert failed_until_ns(of, of.values[0], 0.1) == NOW + int((3600 - 1900) * SECOND)
    assert failed_until_ns(of, of.values[0], 0.2) == 0


def test_the_predicted_margin_follows_the_power() -> None:
    """Without throttling a GPU at 70 °C with 20 % of sleep warms by the share of power that it draws more."""
    found = situation(temperature_celsius=70.0, temperature_margin_celsius=20.0)
    assert margin_with(found, 0.2, 0.0, 30.0) == pytest.approx(20.0 - 40.0 * (1.0 / 0.84 - 1.0))
    assert margin_with(found, 0.2, 0.2, 30.0) == pytest.approx(20.0)
    warming = situation(temperature_celsius=70.0, temperature_margin_celsius=20.0, warming=0.1)
    assert margin_with(warming, 0.2, 0.2, 30.0) == pytest.approx(20.0 - 5.0)
    assert margin_with(situation(temperature_celsius=None), 0.2, 0.0, 30.0) is None


@pytest.mark.parametrize(("margin", "warming", "to"), [
    (14.0, 0.5, 0.1), (14.0, 0.7, 0.3), (8.0, 0.28, 0.1), (3.5, 0.3, 0.3), (14.0, 0.3, None), (2.5, 0.0, 0.1),
    (2.5, -0.1, None),
])  # fmt: skip
def test_warming_decides_when_and_how_much(margin: float, warming: float, to: float | None) -> None:
    """Near the limit a throttle must be predicted to hold; further away another step can follow; cooling needs none."""
    found = situation(temperature_celsius=92.0 - margin, temperature_margin_celsius=margin, warming=warming)
    assert to_of(find("throttle_heat", [value("throttle")], found)) == to


@pytest.mark.parametrize(("throttle", "slowed", "to"), [(0.7, True, True), (0.7, False, None), (0.5, True, None)])
def test_a_pause_is_the_last_resort(throttle: float, slowed: bool, to: bool | None) -> None:
    """All ranks pause only if clocks still fall at the highest throttle."""
    raised = [adjustment("throttle", 0.5, throttle, ago=60, rule="throttle_heat", protects=True)]
    hot = situation(temperature_margin_celsius=0.0, slowed_by_heat=slowed)
    assert to_of(find("pause_to_cool", [value("throttle", throttle), value("pause")], hot, raised)) == to


@pytest.mark.parametrize(("margin", "to"), [(8.0, False), (7.0, None)])
def test_a_pause_ends_when_the_gpus_are_cool(margin: float, to: bool | None) -> None:
    """The run goes on when its hottest GPU is 8 °C below the limit."""
    found = situation(temperature_margin_celsius=margin)
    assert to_of(find("resume", [value("pause", True)], found)) == to


@pytest.mark.parametrize(
    ("battery", "now", "to"), [(True, 0, 0.3), (True, 0.5, None), (False, 0, None), (None, 0, None)]
)
def test_a_battery_is_spared(battery: bool | None, now: float, to: float | None) -> None:
    """On battery a training sleeps at least 30 % of the time; an unknown source of power changes nothing."""
    assert to_of(find("spare_battery", [value("throttle", now)], situation(on_battery=battery))) == to


@pytest.mark.parametrize(("rule", "margin", "to"), [
    ("spare_battery", 30.0, 0), ("throttle_heat", 30.0, None), ("spare_battery", 2.0, None),
])  # fmt: skip
def test_mains_give_the_full_speed_back(rule: str, margin: float, to: Value | None) -> None:
    """Only what the battery had taken is given back, and not to a hot GPU."""
    slowed = [adjustment("throttle", 0, 0.3, ago=900, rule=rule, protects=True)]
    found = situation(on_battery=False, temperature_margin_celsius=margin)
    assert to_of(find("use_mains", [value("throttle", 0.3)], found, slowed)) == to


def test_heat_is_not_released_below_what_a_battery_needs() -> None:
    """On battery a cool GPU is released to 30 %, not further."""
    found = situation(on_battery=True)
    assert to_of(find("release_throttle", [value("throttle", 0.5)], found)) == 0.3
    assert find("release_throttle", [value("throttle", 0.3)], found) is None
