"""The fit of a temperature's approach to its rest, on heating curves of a die on a heat sink."""

import numpy as np

from flyball_collector.diagnosis.forecast.thermal_approach import approach
from tests.benchmarks.heating_curves import curves, first_events, holds


def test_a_rest_below_the_limit_raises_nothing() -> None:
    """Of 50 curves that rest 2 °C below the limit at most one is reported."""
    assert len(first_events(curves(np.random.default_rng(1), 50, -2))) <= 1


def test_slow_rises_just_above_the_limit_have_a_lead() -> None:
    """Curves that rest 2 °C above the limit are reported ahead, with intervals that hold the time."""
    drawn = curves(np.random.default_rng(2), 25, 2)
    ends, first = np.argmax(drawn.celsius >= drawn.limit, axis=0), first_events(drawn)
    forecasts = [(event, ends[gpu] - second) for gpu, (second, event) in first.items() if event.seconds_left]
    assert len(forecasts) >= 20
    assert float(np.median([lead for _, lead in forecasts])) >= 20
    assert sum(holds(event, float(lead)) for event, lead in forecasts) >= 0.85 * len(forecasts)


def test_a_rise_that_has_not_bent_leaves_its_rest_open() -> None:
    """In the first seconds of an approach, rests below the limit fit as well: the limit is not sure to be reached."""
    times = np.arange(16.0)[:, None]
    still = 40 * -np.expm1(-times / 80)
    found = approach(times, 38.0 - still, 15.0)
    assert found.reaches[0] < 0.95


def test_a_steady_rise_reaches_the_limit() -> None:
    """A failed cooler: 0.5 °C a second, 5 °C left, ten seconds to go."""
    times = np.arange(16.0)[:, None]
    found = approach(times, 12.5 - 0.5 * times, 15.0)
    assert found.reaches[0] > 0.95
    assert found.low[0] <= 10 <= found.high[0]
