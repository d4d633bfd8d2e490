"""Memory that fills along a line is reported while half of it is free; what only looks like that is not."""

import numpy as np
import pytest
from numpy.typing import NDArray

from flyball_collector.diagnosis.event import State
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.straight_fit import straight_fit
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.kinds import Severity
from tests.benchmarks.straight_ramps import METRICS, first_events, holds, ramps
from tests.collector.diagnosis.forecast.test_memory import noise, play

Floats = NDArray[np.float64]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seconds", [60, 240])
def test_a_ramp_is_reported_while_half_of_its_room_is_free(seconds: int, metric: str) -> None:
    """On eight of ten ramps with noise the first word comes by then, with an interval that holds the end."""
    use, end = ramps(np.random.default_rng(seconds), seconds, 10)
    first = first_events(use, metric)
    assert sum(end - second >= seconds / 2 - 1 for second, _ in first.values()) >= 8
    assert sum(holds(event, end - second) for second, event in first.values()) >= 9


def test_a_filling_of_an_hour_is_reported_ten_minutes_before() -> None:
    """Its beginning is too long ago for the fine readings, and it is below the usual level by then."""
    use, end = ramps(np.random.default_rng(5), 3600, 10)
    first = first_events(use, "memory_used_ratio")
    assert sum(end - second >= 600 for second, _ in first.values()) >= 9


def test_what_comes_early_is_a_warning_that_becomes_critical() -> None:
    """Half of a ramp may still come to rest; severity and confidence rise as it goes on."""
    use = np.concatenate([np.full(100, 0.4), np.linspace(0.4, 1.0, 241)[1:]]) + noise(340, 0.001)
    reported = [event for event in play(np.minimum(use, 1.0)) if event.state is not State.CLEARED]
    assert reported[0].severity is Severity.WARNING
    assert reported[0].confidence < 0.5
    assert reported[-1].severity is Severity.CRITICAL
    critical = next(event for event in reported if event.severity is Severity.CRITICAL)
    assert critical.seconds_left is not None
    assert critical.seconds_left >= 60


def test_a_ramp_that_stops_is_cleared_within_two_minutes() -> None:
    """A data set that is loaded along a line and then rests was a false alarm, and a short one."""
    use = np.concatenate([np.full(100, 0.2), np.linspace(0.2, 0.65, 121)[1:], np.full(200, 0.65)]) + noise(420, 0.001)
    events = play(use)
    cleared = next(event for event in events if event.state is State.CLEARED)
    assert (cleared.time_ns / 1e9 - 1.7e9) - 220 <= 120


def test_growth_in_uneven_pieces_is_not_straight() -> None:
    """Jobs that load in pieces drawn again each second, and settle below 88 %, raise nothing in 200 starts."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        pieces = np.cumsum(rng.gamma(0.5, 2.0, 200)) / rng.uniform(20, 60)
        use = np.concatenate([np.full(40, 0.1), 0.1 + 0.75 * -np.expm1(-pieces)]) + 0.001 * rng.normal(size=240)
        times = np.repeat(np.arange(48.0)[:, None], 1, axis=1)
        fits = [straight_fit(times, use[end - 48 : end, None], 47.0) for end in range(60, 120, 4)]
        assert sum(bool((fit.uneven[0] < 0.05) & (fit.ragged[0] < 0.06) & fit.rested[0]) for fit in fits) == 0


def test_a_warm_up_bends() -> None:
    """An exponential approach to 97 % slows down by a fifth before it has used half of the room; a line does not."""
    time = np.arange(48.0)
    grown = np.maximum(time - 16, 0) / 31
    times = np.repeat(time[:, None], 2, axis=1)
    values = np.stack([0.1 + 0.87 * -np.expm1(-0.6 * grown), 0.1 + 0.4 * grown], axis=1)
    fit = straight_fit(times, values + noise(96, 0.001).reshape(48, 2), 47.0)
    assert fit.bend[0] < 0.85
    assert fit.bend[1] == pytest.approx(1.0, abs=0.03)
    assert fit.rested.all()


def test_a_sawtooth_that_moves_to_a_higher_level_raises_nothing() -> None:
    """The jump is not part of the growth, and a tooth as high as those before ends as they did, at any time of it."""
    teeth = 0.43 + 0.158 * (np.arange(200) % 19) / 18
    for jump in range(150, 170):
        use = np.concatenate([teeth[:jump], teeth[jump:] + 0.3]) + noise(200, 0.0005)
        assert use.max() < 0.9
        assert play(use) == []


def test_a_rest_of_a_few_slots_ends_a_growth() -> None:
    """A job that loaded in a few uneven pieces and rests at 91 % is not filling up, by readings of each minute."""
    use = [0.42] * 30 + [0.081, 0.127, 0.187, 0.311, 0.484, 0.562, 0.568] + [0.913] * 30
    machines, detector = Machines(1), MemoryExhaustion(ForecastSettings(), sparse_rules=None)
    for number, value in enumerate(use):
        view = ArrayView(machines, 1.7e9 + 60 * number, host={"memory_used_ratio": np.array([value])})
        assert not any(claims.enters.any() for claims in detector.observe(view))
