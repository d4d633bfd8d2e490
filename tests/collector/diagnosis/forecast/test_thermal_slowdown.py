"""GPUs that are slowed down by heat, or soon will be."""

import numpy as np
import pytest
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.forecast.thermal_slowdown import ThermalSlowdown, from_limit
from flyball_collector.diagnosis.kinds import Severity

Floats = NDArray[np.float64]
START = 1.7e9


def play(every: float = 1.0, /, **readings: Floats) -> list[Event]:
    """Play one GPU with these readings, one every `every` seconds; return its events. Of several GPUs: time × GPU."""
    first = next(iter(readings.values()))
    gpus = 1 if first.ndim == 1 else first.shape[1]
    machines, detector, conditions = Machines(1, gpus=gpus), ThermalSlowdown(ForecastSettings()), Conditions()
    events: list[Event] = []
    for number in range(len(first)):
        gpu = {
            name.replace("__", "/"): np.atleast_1d(values[number]).astype(float) for name, values in readings.items()
        }
        view = ArrayView(machines, START + every * number, gpu=gpu)
        events += conditions.apply(detector.observe(view), view.now_ns)
    return events


def measured(celsius: Floats, seed: int = 1) -> Floats:
    """Return the values as a sensor reports them: whole degrees with some noise."""
    return np.asarray(np.round(celsius + np.random.default_rng(seed).normal(0, 0.4, len(celsius))))


def seconds(event: Event) -> float:
    return event.time_ns / 1e9 - START


def failing(rate: float, rest: float = 60.0) -> Floats:
    """Return temperatures with a failure of the cooling after 200 s: they rise from 63 °C."""
    return np.asarray(63 + np.clip(rate * (np.arange(int(200 + 30 / rate)) - 200), 0, rest))


@pytest.mark.parametrize(("rate", "ahead"), [(0.1, 30), (0.2, 15), (0.5, 10), (1.0, 4)])
def test_a_failing_cooler_is_reported_before_the_slowdown(rate: float, ahead: float) -> None:
    """The alarm comes before the device's own threshold is reached, with a time that is about right."""
    events = play(gpu_temperature_celsius=measured(failing(rate)), gpu_slowdown_temperature_celsius=np.full(2000, 87.0))
    raised, meets = events[0], 200 + 24 / rate
    assert raised.state is State.RAISED
    assert raised.severity is Severity.CRITICAL
    assert meets - seconds(raised) >= ahead
    assert raised.seconds_left == pytest.approx(meets - seconds(raised), rel=0.5, abs=10)


@pytest.mark.parametrize(
    ("every", "rate", "ahead"),
    [(10, 0.1, 60), (10, 0.2, 20), (10, 0.3, 10), (30, 0.05, 90), (30, 0.1, 60), (57, 0.03, 114), (57, 0.05, 114)],
)
def test_sparse_readings_are_enough(every: int, rate: float, ahead: float) -> None:
    """A few readings that warm steadily suffice, with a time and an interval that shows the uncertainty."""
    celsius = measured(failing(rate))[::every]
    events = play(every, gpu_temperature_celsius=celsius, gpu_slowdown_temperature_celsius=np.full(len(celsius), 87.0))
    raised, meets = events[0], every * int(np.argmax(celsius >= 87))
    assert meets - seconds(raised) >= ahead
    assert raised.seconds_left == pytest.approx(meets - seconds(raised), rel=0.6, abs=every)
    assert raised.seconds_left_low <= raised.seconds_left <= raised.seconds_left_high  # type: ignore[operator]  # set
    assert "warming; it will be throttled" in raised.because


@pytest.mark.parametrize("every", [10, 30, 57])
def test_a_start_with_sparse_readings_raises_no_alarm(every: int) -> None:
    """Some temperatures rise for three or four readings before they level off below the limit."""
    time = np.maximum(np.arange(1800) - 60, 0)
    started = []
    for seed, (slow, part) in enumerate([(20, 0.5), (60, 0.5), (90, 0.3), (240, 0.2)]):
        warmth = 1 - part * np.exp(-time / 4) - (1 - part) * np.exp(-time / slow)
        started += [measured(30 + (rest - 30) * warmth, seed)[::every] for rest in (75.0, 83.0)]
    celsius = np.stack(started, axis=1)
    limit = np.full(celsius.shape, 87.0)
    assert play(every, gpu_temperature_celsius=celsius, gpu_slowdown_temperature_celsius=limit) == []


@pytest.mark.parametrize("every", [15, 20, 30])
def test_levelling_off_below_the_limit_is_recognised_with_sparse_readings(every: int) -> None:
    """Of 40 heat sinks that take two minutes to warm, at most one is reported."""
    time = np.maximum(np.arange(1200) - 130, 0)
    warmed = [measured(42 + 45 * (1 - np.exp(-time / 120)), seed)[::every] for seed in range(40)]
    celsius = np.minimum(np.stack(warmed, axis=1), 89.0)
    limit = np.full(celsius.shape, 90.0)
    events = play(every, gpu_temperature_celsius=celsius, gpu_slowdown_temperature_celsius=limit)
    assert len({event.subject for event in events}) <= 1


def test_readings_of_other_hosts_in_between_change_nothing() -> None:
    """Seconds without a reading of a GPU neither confirm nor end its forecast."""
    celsius = measured(failing(0.1))[::10]
    between = np.full(2 * len(celsius), np.nan)
    between[::2] = celsius
    alone, among = (
        play(every, gpu_temperature_celsius=readings, gpu_slowdown_temperature_celsius=np.full(len(readings), 87.0))[0]
        for every, readings in ((10, celsius), (5, between))
    )
    assert (alone.time_ns, alone.seconds_left) == (among.time_ns, among.seconds_left)


def test_the_drivers_margin_is_preferred_to_the_threshold() -> None:
    """Newer GPUs report the degrees left."""
    assert play(gpu_temperature_margin_celsius=measured(87 - failing(0.2)))


def test_memory_temperature_is_evaluated_too() -> None:
    """The memory may be throttled before the core is warm."""
    events = play(
        gpu_temperature_celsius=np.full(300, 60.0), gpu_memory_temperature_celsius=measured(failing(0.3)[:300] + 10)
    )
    assert "memory" in events[0].because


@pytest.mark.parametrize("rest", [70.0, 80.0, 84.0])
def test_a_start_that_levels_off_raises_no_alarm(rest: float) -> None:
    """A die that warms within seconds and its heat sink within minutes may end three degrees below the limit."""
    time = np.maximum(np.arange(900) - 60, 0)
    started = []
    for seed, (quick, slow, part) in enumerate([(3, 20, 0.5), (5, 60, 0.5), (4, 90, 0.3), (2, 40, 0.7)]):
        warmth = 1 - part * np.exp(-time / quick) - (1 - part) * np.exp(-time / slow)
        started.append(measured(30 + (rest - 30) * warmth, seed))
    celsius = np.stack(started, axis=1)
    assert play(gpu_temperature_celsius=celsius, gpu_slowdown_temperature_celsius=np.full(celsius.shape, 87.0)) == []


def test_the_part_that_reaches_its_limit_first_is_reported() -> None:
    """Core and memory have the same distance to their limits; the core warms faster and is reported."""
    second = np.arange(300.0)
    core = measured(np.maximum(63.0, 87 - 0.2 * (300 - second)))
    memory = measured(95 - 0.1 * (380 - np.maximum(second, 100.0)), 2)
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


def test_a_slowdown_from_before_a_restart_is_not_a_forecast() -> None:
    """Far below the limit with throttled clocks, nothing new is reported, and no risk with an unknown time."""
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
        assert conditions.apply(detector.observe(view), view.now_ns) == []


def test_a_plateau_close_to_the_limit_raises_no_alarm() -> None:
    """Some boards are designed to run one degree below the limit."""
    assert play(gpu_temperature_margin_celsius=np.random.default_rng(3).integers(1, 4, 3600).astype(np.float64)) == []


def test_a_single_spike_raises_no_alarm() -> None:
    """One reading is not a trend."""
    margin = np.full(120, 20.0)
    margin[60] = 4.0
    assert play(gpu_temperature_margin_celsius=margin) == []


@pytest.mark.parametrize(("reason", "severity"), [("hw_thermal", Severity.CRITICAL), ("sw_thermal", Severity.WARNING)])
def test_a_slowdown_is_reported_within_seconds(reason: str, severity: Severity) -> None:
    """The driver's flag counts, whatever the temperatures are, and the condition ends with it."""
    slowed = np.zeros(200)
    slowed[50:100] = 1
    raised, cleared = play(**{f"gpu_throttle_active__{reason}": slowed})
    assert seconds(raised) <= 54
    assert raised.severity is severity
    assert raised.seconds_left == 0
    assert cleared.state is State.CLEARED


def test_a_flash_of_the_drivers_flag_is_not_a_slowdown() -> None:
    """The bits may flash when clocks change."""
    slowed = np.zeros(100)
    slowed[[20, 50, 51]] = 1
    assert play(gpu_throttle_active__hw_thermal=slowed) == []


def test_without_any_limit_nothing_is_reported() -> None:
    """A temperature alone means nothing: what is hot for one board is normal for another."""
    assert play(gpu_temperature_celsius=np.linspace(30, 110, 300)) == []


@pytest.mark.parametrize(
    ("margin", "words"),
    [
        (7.4, "7 °C below its limit"),
        (0.2, "at its limit"),
        (-0.3, "at its limit"),
        (-9.0, "9 °C above its limit"),
        (float("nan"), "hot"),
    ],
)
def test_margins_are_described_for_people(margin: float, words: str) -> None:
    """A negative margin is shown as degrees above the limit."""
    assert from_limit(margin) == words
