"""Heat that slows a GPU down, or will."""

import numpy as np
import pytest
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.forecast.thermal import ThermalSlowdown, from_limit
from flyball_collector.diagnosis.kinds import Severity

Floats = NDArray[np.float64]
START = 1.7e9


def play(every: float = 1.0, /, **readings: Floats) -> list[Event]:
    """The events of one GPU with these readings, one a second or more seldom."""
    machines, detector, conditions = Machines(1, gpus=1), ThermalSlowdown(ForecastSettings()), Conditions()
    events: list[Event] = []
    for number in range(len(next(iter(readings.values())))):
        gpu = {name.replace("__", "/"): values[number : number + 1].astype(float) for name, values in readings.items()}
        view = ArrayView(machines, START + every * number, gpu=gpu)
        events += conditions.take(detector.observe(view), view.now_ns)
    return events


def told(celsius: Floats, seed: int = 1) -> Floats:
    """As a sensor tells it: whole degrees, with some noise."""
    return np.asarray(np.round(celsius + np.random.default_rng(seed).normal(0, 0.4, len(celsius))))


def seconds(event: Event) -> float:
    return event.time_ns / 1e9 - START


def failing(rate: float, rest: float = 60.0) -> Floats:
    """Cooling fails after 200 s: the temperature rises from 63 °C."""
    return np.asarray(63 + np.clip(rate * (np.arange(int(200 + 30 / rate)) - 200), 0, rest))


@pytest.mark.parametrize(("rate", "ahead"), [(0.1, 30), (0.2, 15), (0.5, 10), (1.0, 4)])
def test_a_failing_cooler_is_told_before_the_slowdown(rate: float, ahead: float) -> None:
    """The alarm comes before the device's own threshold is met, with a time that is about right."""
    events = play(gpu_temperature_celsius=told(failing(rate)), gpu_slowdown_temperature_celsius=np.full(2000, 87.0))
    raised, meets = events[0], 200 + 24 / rate
    assert raised.state is State.RAISED
    assert raised.severity is Severity.CRITICAL
    assert meets - seconds(raised) >= ahead
    assert raised.seconds_left == pytest.approx(meets - seconds(raised), rel=0.5, abs=10)


@pytest.mark.parametrize(
    ("every", "rate", "ahead"),
    [(10, 0.1, 60), (10, 0.2, 20), (10, 0.3, 10), (30, 0.05, 90), (30, 0.1, 60), (57, 0.03, 114), (57, 0.05, 114)],
)
def test_seldom_readings_tell_it_as_well(every: int, rate: float, ahead: float) -> None:
    """A few that warm steadily do, with a time and an interval around it that says how sure it is."""
    celsius = told(failing(rate))[::every]
    events = play(every, gpu_temperature_celsius=celsius, gpu_slowdown_temperature_celsius=np.full(len(celsius), 87.0))
    raised, meets = events[0], every * int(np.argmax(celsius >= 87))
    assert meets - seconds(raised) >= ahead
    assert raised.seconds_left == pytest.approx(meets - seconds(raised), rel=0.6, abs=every)
    assert raised.seconds_left_low <= raised.seconds_left <= raised.seconds_left_high  # type: ignore[operator]  # told
    assert "warming: slowed down in" in raised.because


@pytest.mark.parametrize("every", [10, 30, 57])
def test_a_start_that_is_read_seldom_is_no_alarm(every: int) -> None:
    """Some rise for three or four readings before they rest below the limit."""
    time = np.maximum(np.arange(1800) - 60, 0)
    for seed, (slow, part) in enumerate([(20, 0.5), (60, 0.5), (90, 0.3), (240, 0.2)]):
        warmth = 1 - part * np.exp(-time / 4) - (1 - part) * np.exp(-time / slow)
        for rest in (75.0, 83.0):
            celsius = told(30 + (rest - 30) * warmth, seed)[::every]
            limit = np.full(len(celsius), 87.0)
            assert play(every, gpu_temperature_celsius=celsius, gpu_slowdown_temperature_celsius=limit) == []


@pytest.mark.parametrize("every", [15, 20, 30])
def test_a_rest_three_degrees_below_the_limit_is_seen_in_seldom_readings(every: int) -> None:
    """Of 40 heat sinks that take two minutes to warm, read seldom, at most one is told."""
    time = np.maximum(np.arange(1200) - 130, 0)
    limit, alarms = np.full(1200, 90.0), 0
    for seed in range(40):
        celsius = np.minimum(told(42 + 45 * (1 - np.exp(-time / 120)), seed), 89.0)[::every]
        alarms += bool(play(every, gpu_temperature_celsius=celsius, gpu_slowdown_temperature_celsius=limit[::every]))
    assert alarms <= 1


def test_readings_of_other_hosts_in_between_change_nothing() -> None:
    """Looks at which a GPU says nothing neither count nor break what is foreseen."""
    celsius = told(failing(0.1))[::10]
    between = np.full(2 * len(celsius), np.nan)
    between[::2] = celsius
    alone, among = (
        play(every, gpu_temperature_celsius=readings, gpu_slowdown_temperature_celsius=np.full(len(readings), 87.0))[0]
        for every, readings in ((10, celsius), (5, between))
    )
    assert (alone.time_ns, alone.seconds_left) == (among.time_ns, among.seconds_left)


def test_the_drivers_margin_counts_before_the_threshold() -> None:
    """Newer GPUs tell degrees left; that is what is watched."""
    assert play(gpu_temperature_margin_celsius=told(87 - failing(0.2)))


def test_memory_is_watched_too() -> None:
    """The memory may be slowed down before the core is warm."""
    events = play(
        gpu_temperature_celsius=np.full(300, 60.0), gpu_memory_temperature_celsius=told(failing(0.3)[:300] + 10)
    )
    assert "memory" in events[0].because


@pytest.mark.parametrize("rest", [70.0, 80.0, 84.0])
def test_a_start_that_comes_to_rest_is_no_alarm(rest: float) -> None:
    """A die that warms within seconds and its heat sink within minutes may rest three degrees below the limit."""
    time = np.maximum(np.arange(900) - 60, 0)
    for seed, (quick, slow, part) in enumerate([(3, 20, 0.5), (5, 60, 0.5), (4, 90, 0.3), (2, 40, 0.7)]):
        warmth = 1 - part * np.exp(-time / quick) - (1 - part) * np.exp(-time / slow)
        celsius = told(30 + (rest - 30) * warmth, seed)
        assert play(gpu_temperature_celsius=celsius, gpu_slowdown_temperature_celsius=np.full(900, 87.0)) == []


def test_the_part_that_meets_its_limit_first_is_told() -> None:
    """Core and memory both warm, as far from their limits; the core, which warms faster, is what is told."""
    second = np.arange(300.0)
    core = told(np.maximum(63.0, 87 - 0.2 * (300 - second)))
    memory = told(95 - 0.1 * (380 - np.maximum(second, 100.0)), 2)
    machines, detector = Machines(1, gpus=1), ThermalSlowdown(ForecastSettings())
    late = set[tuple[str, bool]]()
    for number in range(300):
        gpu = {
            "gpu_temperature_celsius": core[number : number + 1],
            "gpu_slowdown_temperature_celsius": np.full(1, 87.0),
            "gpu_memory_temperature_celsius": memory[number : number + 1],
        }
        [claims] = detector.observe(ArrayView(machines, START + number, gpu=gpu))
        if 270 <= number < 296:
            assert claims.seconds_left is not None
            late.add((claims.because(0).split()[0], bool(claims.seconds_left[0] < 40)))
    assert late == {("core", True)}


def test_a_slowdown_that_stood_before_a_restart_is_no_forecast() -> None:
    """Far below the limit with clocks that are slowed: nothing new is told, and no risk of unknown time."""
    slowed = {
        "gpu_temperature_margin_celsius": np.full(200, 41.0),
        "gpu_throttle_active__hw_thermal": np.ones(200),
        "gpu_throttle_active__sw_thermal": np.zeros(200),
    }
    [raised] = play(**slowed)
    conditions = Conditions()
    conditions.load([raised], raised.time_ns)
    machines, detector = Machines(1, gpus=1), ThermalSlowdown(ForecastSettings())
    for second in range(300, 500):
        gpu = {name.replace("__", "/"): values[:1] for name, values in slowed.items()}
        view = ArrayView(machines, START + second, gpu=gpu)
        assert conditions.take(detector.observe(view), view.now_ns) == []


def test_a_plateau_close_to_the_limit_is_no_alarm() -> None:
    """One degree below the limit for an hour is where some boards are meant to run."""
    assert play(gpu_temperature_margin_celsius=np.random.default_rng(3).integers(1, 4, 3600).astype(np.float64)) == []


def test_a_single_spike_is_no_alarm() -> None:
    """One reading is no trend."""
    margin = np.full(120, 20.0)
    margin[60] = 4.0
    assert play(gpu_temperature_margin_celsius=margin) == []


@pytest.mark.parametrize(("reason", "severity"), [("hw_thermal", Severity.CRITICAL), ("sw_thermal", Severity.WARNING)])
def test_a_slowdown_is_told_within_seconds(reason: str, severity: Severity) -> None:
    """What the driver says of its clocks counts, whatever is known of temperatures; and ends with it."""
    slowed = np.zeros(200)
    slowed[50:100] = 1
    raised, cleared = play(**{f"gpu_throttle_active__{reason}": slowed})
    assert seconds(raised) <= 54
    assert raised.severity is severity
    assert raised.seconds_left == 0
    assert cleared.state is State.CLEARED


def test_a_flash_of_the_drivers_flag_is_no_slowdown() -> None:
    """The bits may flash when clocks change."""
    slowed = np.zeros(100)
    slowed[[20, 50, 51]] = 1
    assert play(gpu_throttle_active__hw_thermal=slowed) == []


def test_without_any_limit_nothing_is_said() -> None:
    """A temperature alone tells nothing: what is hot for one board is usual for another."""
    assert play(gpu_temperature_celsius=np.linspace(30, 110, 300)) == []


@pytest.mark.parametrize(
    ("margin", "words"),
    [
        (7.4, "7 °C below its limit"),
        (0.2, "at its limit"),
        (-0.3, "at its limit"),
        (-9.0, "9 °C above its limit"),
        (float("nan"), "limit unknown"),
    ],
)
def test_degrees_are_said_as_people_do(margin: float, words: str) -> None:
    """Nothing is a negative number of degrees below something."""
    assert from_limit(margin) == words
