"""Memory exhaustion, and memory use that only resembles it."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject import Subject

Floats = NDArray[np.float64]
START = 1.7e9
GIB = 2.0**30


def play(use: Iterable[float], every: float = 1.0, metric: str = "memory_used_ratio") -> list[Event]:
    """Play one host with this memory use; return its events."""
    machines, detector, conditions = Machines(1), MemoryExhaustion(ForecastSettings()), Conditions()
    events: list[Event] = []
    for number, value in enumerate(use):
        view = ArrayView(machines, START + every * number, host={metric: np.array([value])})
        events += conditions.apply(detector.observe(view), view.now_ns)
    return events


def play_hosts(*series: Floats, every: float = 1.0) -> list[list[Event]]:
    """Play a host with each of these series of memory use, all at the same time; return the events of each."""
    use = np.full((max(map(len, series)), len(series)), np.nan)
    for place, values in enumerate(series):
        use[: len(values), place] = values
    machines, detector, conditions = Machines(len(series)), MemoryExhaustion(ForecastSettings()), Conditions()
    events: list[list[Event]] = [[] for _ in series]
    for number, values in enumerate(use):
        view = ArrayView(machines, START + every * number, host={"memory_used_ratio": values})
        for event in conditions.apply(detector.observe(view), view.now_ns):
            events[machines.hosts.places[Subject(event.subject.host)]].append(event)
    return events


def play_gpu(used: Iterable[float], *, busy: float = 0.9) -> list[Event]:
    """Play one GPU of 80 GiB with the driver's figure; return its events."""
    machines, detector, conditions = Machines(1, gpus=1), MemoryExhaustion(ForecastSettings()), Conditions()
    events: list[Event] = []
    for number, value in enumerate(used):
        readings = {"gpu_memory_used_bytes": value * 80 * GIB, "gpu_memory_total_bytes": 80 * GIB}
        readings["gpu_utilization_ratio"] = busy
        view = ArrayView(machines, START + number, gpu={name: np.array([x]) for name, x in readings.items()})
        events += conditions.apply(detector.observe(view), view.now_ns)
    return events


def noise(count: int, spread: float, seed: int = 1) -> Floats:
    return np.asarray(np.random.default_rng(seed).normal(0, spread, count))


def seconds(event: Event) -> float:
    return event.time_ns / 1e9 - START


@pytest.mark.parametrize("metric", ["memory_used_ratio", "cgroup_memory_used_ratio", "shared_memory_used_ratio"])
def test_memory_that_fills_within_ten_seconds_is_reported_at_once(metric: str) -> None:
    """There is no warm-up: the critical alarm comes before the end, with seconds left."""
    use = np.concatenate([np.full(30, 0.3), np.linspace(0.3, 1.0, 11)[1:], np.full(5, 1.0)])
    raised = next(event for event in play(use + noise(45, 0.001), metric=metric) if event.state is State.RAISED)
    assert seconds(raised) < 40
    assert raised.severity is Severity.CRITICAL
    assert raised.seconds_left is not None
    assert raised.seconds_left < 10
    assert raised.subject.resource == {"m": "host", "c": "cgroup", "s": "/dev/shm"}[metric[0]]  # noqa: S108  a name


def test_accelerating_growth_is_reported_below_the_usual_level() -> None:
    """Quadratic growth goes from 89 % to full within a second: it is reported at 89 %."""
    use = np.concatenate([np.full(20, 0.4), 0.4 + 0.6 * (np.arange(11) / 10) ** 2])
    raised = next(event for event in play(use + noise(31, 0.0005)) if event.state is State.RAISED)
    assert seconds(raised) == 29


@pytest.mark.parametrize(("hours", "every"), [(0.1, 1.0), (3.0, 10.0), (12.0, 30.0), (24.0, 60.0)])
def test_growth_in_steps_is_reported_one_step_ahead(hours: float, every: float) -> None:
    """Twelve steps of 5 % with long rests look harmless until memory is full."""
    step = round(300 * hours / every)
    use = 0.4 + 0.05 * (np.arange(12 * step) // step)
    raised = [event for event in play(use + noise(len(use), 0.001), every) if event.state is State.RAISED]
    assert [seconds(event) // every for event in raised] == [11 * step]
    assert raised[0].seconds_left == pytest.approx(300 * hours, rel=0.2)


@pytest.mark.parametrize("steps", [[0.12, 0.05, 0.11, 0.11, 0.12], [0.12, 0.06, 0.1, 0.11, 0.12]])
def test_a_start_in_uneven_steps_raises_no_early_alarm(steps: list[float]) -> None:
    """Five steps of 5 to 12 % up to 85 %, one a second, may end at any step."""
    assert play(np.concatenate([np.full(20, 0.34), 0.34 + np.cumsum(steps), np.full(60, 0.85)])) == []


def test_steps_with_uneven_rests_raise_no_alarm() -> None:
    """After nine steps of 5 % up to 94 %, with rests of 2 to 8 minutes, the next step cannot be predicted."""
    levels = 0.49 + 0.05 * np.arange(10)
    rests = 12 * np.array([6, 2, 2, 7, 2, 8, 2, 8, 3, 20])
    assert play(np.repeat(levels, rests), every=5.0) == []


def test_steps_that_come_to_rest_raise_no_alarm() -> None:
    """A cache whose steps become less and less frequent up to 94 % is large enough."""
    use = np.repeat(0.4 + 0.06 * np.arange(10), 60 * np.arange(1, 11))
    assert play(use + noise(len(use), 0.001)) == []


def test_the_first_seconds_of_a_host_count() -> None:
    """A host that is first seen while its memory fills is reported too."""
    assert play(np.linspace(0.4, 1.0, 13))


def test_slow_growth_is_reported_with_its_time() -> None:
    """The forecast matches what happens, the interval contains it, and the text has the numbers."""
    use = 0.4 + 0.6 * np.arange(1800) / 1800 + noise(1800, 0.002)
    raised = play(use)[0]
    left = 1800 - seconds(raised)
    assert raised.seconds_left is not None
    assert raised.seconds_left_low is not None
    assert raised.seconds_left_high is not None
    assert left > 60
    assert raised.seconds_left == pytest.approx(left, rel=0.35)
    assert raised.seconds_left_low <= raised.seconds_left <= raised.seconds_left_high
    assert "growing by 2.0" in raised.because


def test_a_plateau_at_95_per_cent_raises_no_alarm() -> None:
    """Use that does not grow is not reported, however high it is."""
    assert play(0.95 + noise(2880, 0.004), every=30.0) == []


def test_a_step_to_97_per_cent_raises_no_alarm() -> None:
    """One jump is not a trend, for a host or for a GPU whose framework allocates everything at once."""
    use = np.concatenate([np.full(100, 0.3), np.full(900, 0.97)]) + noise(1000, 0.0005)
    assert play(use) == []
    assert play_gpu(use) == []


def test_a_sawtooth_raises_no_alarm() -> None:
    """Caches and garbage collectors that release memory reached this level before, and will again."""
    phase = np.arange(3000) / 300 % 1
    assert play(0.55 + 0.34 * phase + noise(3000, 0.002)) == []


def test_a_sawtooth_near_the_limit_is_reported_until_it_is_known() -> None:
    """After two releases, the next one is expected; a rise beyond the earlier ones is reported."""
    teeth = np.tile(np.linspace(0.4, 0.955, 300), 8)
    events = play(np.concatenate([teeth, np.linspace(0.4, 1.0, 334)]) + noise(2734, 0.002))
    raised = [seconds(event) // 300 for event in events if event.state is State.RAISED]
    assert raised == [0, 1, 9]


def test_a_warm_up_raises_no_alarm() -> None:
    """Growth slows down before it ends: a warm-up to a high level does not count as filling up."""
    warm = [(plateau, tau) for plateau in (0.6, 0.9, 0.95) for tau in (2, 10, 60, 300)]
    uses = [0.05 + (plateau - 0.05) * (1 - np.exp(-np.arange(1500) / tau)) for plateau, tau in warm]
    events = play_hosts(*(use + noise(1500, 0.001) for use in uses))
    assert [how for how, found in zip(warm, events, strict=True) if found] == []


def test_an_alarm_is_cleared_when_the_growth_ends() -> None:
    """Growth that stops before the limit is cleared once."""
    use = np.concatenate([0.5 + 0.44 * np.arange(600) / 600, np.full(900, 0.94)])
    assert [event.state for event in play(use) if event.state is not State.CHANGED] == [State.RAISED, State.CLEARED]


def test_a_long_growth_is_reported_without_fluctuation() -> None:
    """Severity only rises, confidence does not fall because of another scale, and full memory grows no faster."""
    use = np.concatenate([np.full(60, 0.4), np.linspace(0.4, 1.0, 600), np.full(10, 1.0)])
    events = play(np.clip(use + noise(670, 0.002), 0, 1), every=60)
    reported = [event for event in events if event.state is not State.CLEARED]
    assert len(reported) <= 8
    assert all(later.severity >= earlier.severity for earlier, later in pairwise(reported))
    assert all(later.confidence >= earlier.confidence - 0.01 for earlier, later in pairwise(reported))
    assert max(event.evidence["growth_ratio_per_second"] for event in reported) < 3e-5


@pytest.mark.parametrize("spread", [0.01, 0.02])
def test_growth_with_noisy_readings_is_reported_once(spread: float) -> None:
    """A reading far below the maximum does not end it, and neither does a long time until the maximum is exceeded."""
    use = np.clip(np.linspace(0.4, 1.0, 1080) + noise(1080, spread), 0, 1)
    reported = [event for event in play(use, every=10.0) if event.state is not State.CHANGED]
    assert [event.state for event in reported] == [State.RAISED]


def test_a_sawtooth_on_the_way_up_does_not_end_an_alarm() -> None:
    """Collections that release 4 % every twenty minutes do not end growth by 60 % in five hours."""
    minutes = np.arange(420)
    use = 0.4 + 0.6 * np.maximum(minutes - 120, 0) / 300 - 0.04 * (minutes / 20 % 1 < 0.5) + noise(420, 0.002)
    assert [event.state for event in play(np.minimum(use, 1.0), 60.0) if event.state is not State.CHANGED] == [
        State.RAISED
    ]


def test_repeated_exhaustions_are_all_reported() -> None:
    """A container that is killed again and again is reported each time: its earlier maximum does not count."""
    once = np.concatenate([np.linspace(0.2, 1.0, 400), np.full(200, 0.2)])
    raised = [event for event in play(np.tile(once, 3)) if event.state is State.RAISED]
    assert len(raised) == 3


def test_a_gpu_that_fills_while_it_computes_has_low_confidence() -> None:
    """Steady growth of the driver's figure may be a leak or a cache, so it is uncertain."""
    use = np.concatenate([np.full(60, 0.5), np.linspace(0.5, 1.0, 240)])
    raised = play_gpu(use + noise(300, 0.0005))[0]
    assert seconds(raised) < 300
    assert raised.confidence <= 0.5
    assert raised.subject.gpu
    assert "caches" in raised.because


def test_loading_a_model_raises_no_alarm() -> None:
    """Weights that fill an idle GPU in two minutes are expected."""
    use = np.concatenate([np.full(30, 0.02), np.linspace(0.02, 0.95, 120), np.full(600, 0.95)])
    assert play_gpu(use, busy=0.0) == []


def test_a_host_that_is_not_reporting_is_neither_raised_nor_cleared() -> None:
    """Unknown is not zero: a gap leaves a condition as it is."""
    use = np.concatenate([np.linspace(0.3, 0.97, 100), np.full(500, np.nan)])
    assert [event.state for event in play(use) if event.state is not State.CHANGED] == [State.RAISED]


@pytest.mark.parametrize("minutes", [10, 30, 120])
def test_minute_series_predict_exhaustions(minutes: int) -> None:
    """With a reading every 57 s, most exhaustions that take at least ten minutes are reported two readings ahead."""
    grown = [np.linspace(0.5, 1.0, minutes + 1) + noise(minutes + 1, 0.003, seed) for seed in range(10)]
    ends = [200 + int(np.argmax(np.append(grow, 1.0) >= 1)) for grow in grown]
    uses = [
        np.concatenate([0.5 + noise(200, 0.006, seed + 100), grow[grow < 1], np.full(3, 0.05)])
        for seed, grow in enumerate(grown)
    ]
    ahead = [
        any(event.state is State.RAISED and seconds(event) / 57 <= end - 2 for event in events)
        for end, events in zip(ends, play_hosts(*uses, every=57.0), strict=True)
    ]
    assert sum(ahead) >= 8


def test_services_with_high_use_raise_no_alarm() -> None:
    """These pods at 57 s have high plateaus, bursts of five per cent and uneven warm-ups, but are never full."""
    machines, detector, rng = Machines(60), MemoryExhaustion(ForecastSettings()), np.random.default_rng(4)
    base = np.where(np.arange(60) < 20, rng.uniform(0.05, 0.7, 60), rng.uniform(0.05, 0.88, 60))
    warm = np.minimum(np.cumsum(rng.gamma(0.4, 0.05, (1440, 60)), axis=0), 1)
    warm[:, 20:] = 1
    bursts = 0.05 * (np.repeat(rng.random((360, 60)), 4, axis=0) > 0.8)
    use = base * warm + bursts + 0.002 * rng.normal(size=warm.shape)
    raised = 0
    for number in range(len(use)):
        view = ArrayView(machines, START + 57 * number, host={"memory_used_ratio": use[number]})
        raised += int(next(iter(detector.observe(view))).enters.sum())
    assert raised == 0


def test_forecasts_follow_their_hosts() -> None:
    """A host that comes first in the order does not inherit the history of another."""
    detector, fleet = MemoryExhaustion(ForecastSettings()), Machines(3)
    for number in range(60):
        use = np.array([0.5, 0.3 + 0.65 * number / 60, 0.5])
        detector.observe(ArrayView(fleet, START + number, host={"memory_used_ratio": use}))
    fewer = Machines(3, first=1)
    view = ArrayView(fewer, START + 60, host={"memory_used_ratio": np.array([0.955, 0.5, 0.5])})
    claims = next(iter(detector.observe(view)))
    assert claims.stays[claims.subjects.places[Subject("host-00001", resource="host")]]
    assert claims.stays.sum() == 1
