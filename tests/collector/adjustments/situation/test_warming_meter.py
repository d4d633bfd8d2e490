"""The warming of the hottest GPU."""

import pytest

from flyball_collector.adjustments.situation.warming_meter import WINDOW_SECONDS, WarmingMeter


def measured(margins: list[float | None], *, since: float = 0.0, gpus: str = "aaaaaaaaaa") -> float | None:
    """Return the warming after readings every five seconds."""
    meter, found = WarmingMeter(), None
    for number, margin in enumerate(margins):
        found = meter.take(gpus[number], margin, 5.0 * number, since)
    return found


def test_a_falling_margin_is_warming() -> None:
    """A margin that falls by one degree in five seconds is a warming of 0.2 °C a second."""
    assert measured([20, 19, 18, 17]) == pytest.approx(0.2)
    assert measured([20, 20, 20, 20]) == pytest.approx(0.0)
    assert measured([20, 20, 19, 19]) == pytest.approx(0.08)


def test_only_the_last_seconds_count() -> None:
    """Earlier readings, and those from before a change, are forgotten."""
    assert measured([40, 30, 20, 20, 20, 20]) == pytest.approx(0.0)
    assert WINDOW_SECONDS < 20
    assert measured([40, 30, 20, 20, 20], since=9.0) == pytest.approx(0.0)


@pytest.mark.parametrize(("margins", "gpus"), [
    ([20.0], "a"), ([20.0, 19.0], "aa"), ([20.0, 19.0, 18.0], "aab"), ([20.0, 19.0, None, 18.0, 17.0], "aaaaa"),
])  # fmt: skip
def test_too_few_readings_of_one_gpu_are_unknown(margins: list[float | None], gpus: str) -> None:
    """Another hottest GPU, or an unknown margin, begins a new measurement."""
    assert measured(margins, gpus=gpus) is None
