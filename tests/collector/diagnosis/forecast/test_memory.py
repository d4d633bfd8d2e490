"""Memory that will be used up, and memory that only looks so."""

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
    """The events of one host whose memory is used so."""
    machines, detector, conditions = Machines(1), MemoryExhaustion(ForecastSettings()), Conditions()
    events: list[Event] = []
    for number, value in enumerate(use):
        view = ArrayView(machines, START + every * number, host={metric: np.array([value])})
        events += conditions.take(detector.observe(view), view.now_ns)
    return events


def play_gpu(used: Iterable[float], *, busy: float = 0.9) -> list[Event]:
    """The same of one GPU of 80 GiB, by the driver's figure."""
    machines, detector, conditions = Machines(1, gpus=1), MemoryExhaustion(ForecastSettings()), Conditions()
    events: list[Event] = []
    for number, value in enumerate(used):
        readings = {"gpu_memory_used_bytes": value * 80 * GIB, "gpu_memory_total_bytes": 80 * GIB}
        readings["gpu_utilization_ratio"] = busy
        view = ArrayView(machines, START + number, gpu={name: np.array([told]) for name, told in readings.items()})
        events += conditions.take(detector.observe(view), view.now_ns)
    return events


def noise(count: int, spread: float, seed: int = 1) -> Floats:
    return np.asarray(np.random.default_rng(seed).normal(0, spread, count))


def seconds(event: Event) -> float:
    return event.time_ns / 1e9 - START


@pytest.mark.parametrize("metric", ["memory_used_ratio", "cgroup_memory_used_ratio", "shared_memory_used_ratio"])
def test_memory_that_fills_within_ten_seconds_is_told_at_once(metric: str) -> None:
    """No warm-up and no window is waited for: the alarm comes before the end, as critical, with seconds left."""
    use = np.concatenate([np.full(30, 0.3), np.linspace(0.3, 1.0, 11)[1:], np.full(5, 1.0)])
    raised = next(event for event in play(use + noise(45, 0.001), metric=metric) if event.state is State.RAISED)
    assert seconds(raised) < 40
    assert raised.severity is Severity.CRITICAL
    assert raised.seconds_left is not None
    assert raised.seconds_left < 10
    assert raised.subject.resource == {"m": "host", "c": "cgroup", "s": "/dev/shm"}[metric[0]]  # noqa: S108  a name


def test_what_fills_faster_and_faster_is_told_below_its_usual_level() -> None:
    """Growth by the square of the time leaps from 89 % to full within a second: told at 89 %."""
    use = np.concatenate([np.full(20, 0.4), 0.4 + 0.6 * (np.arange(11) / 10) ** 2])
    raised = next(event for event in play(use + noise(31, 0.0005)) if event.state is State.RAISED)
    assert seconds(raised) == 29


@pytest.mark.parametrize(("hours", "every"), [(0.1, 1.0), (3.0, 10.0), (12.0, 30.0), (24.0, 60.0)])
def test_a_staircase_is_told_a_step_ahead(hours: float, every: float) -> None:
    """Twelve steps of 5 % with long rests between them look full only when they are."""
    step = round(300 * hours / every)
    use = 0.4 + 0.05 * (np.arange(12 * step) // step)
    raised = [event for event in play(use + noise(len(use), 0.001), every) if event.state is State.RAISED]
    assert [seconds(event) // every for event in raised] == [11 * step]
    assert raised[0].seconds_left == pytest.approx(300 * hours, rel=0.2)


def test_a_start_in_uneven_steps_is_no_alarm_in_haste() -> None:
    """Five steps of 5 to 12 % to 85 %, a second each, may be the last as well as not."""
    steps = [0.12, 0.05, 0.11, 0.11, 0.12]
    assert play(np.concatenate([np.full(20, 0.34), 0.34 + np.cumsum(steps), np.full(60, 0.85)])) == []


def test_stairs_with_uneven_rests_are_no_alarm() -> None:
    """Nine steps of 5 % to 94 % with 2 to 8 minutes between them, of which none tells when the next will come."""
    levels = 0.49 + 0.05 * np.arange(10)
    rests = 12 * np.array([6, 2, 2, 7, 2, 8, 2, 8, 3, 20])
    assert play(np.repeat(levels, rests), every=5.0) == []


def test_stairs_that_come_to_rest_are_no_alarm() -> None:
    """A cache that grows in ever more seldom steps up to 94 % is large enough then."""
    use = np.repeat(0.4 + 0.06 * np.arange(10), 60 * np.arange(1, 11))
    assert play(use + noise(len(use), 0.001)) == []


def test_the_first_seconds_of_a_host_count() -> None:
    """A host that is seen for the first time while it fills is told as well."""
    assert play(np.linspace(0.4, 1.0, 13))


def test_a_slow_filling_is_told_with_its_time() -> None:
    """The forecast time holds what then happens, the interval contains it, and the words carry the numbers."""
    use = 0.4 + 0.6 * np.arange(1800) / 1800 + noise(1800, 0.002)
    raised = play(use)[0]
    left = 1800 - seconds(raised)
    assert raised.seconds_left is not None
    assert raised.seconds_left_low is not None
    assert raised.seconds_left_high is not None
    assert left > 60
    assert raised.seconds_left == pytest.approx(left, rel=0.35)
    assert raised.seconds_left_low <= raised.seconds_left <= raised.seconds_left_high
    assert "full in" in raised.because


def test_a_plateau_at_95_per_cent_for_a_day_is_no_alarm() -> None:
    """However high, what does not grow is not told."""
    assert play(0.95 + noise(8640, 0.004), every=10.0) == []


def test_a_step_to_97_per_cent_that_stays_is_no_alarm() -> None:
    """One jump is no trend, for a host as for a GPU whose framework takes all at once."""
    use = np.concatenate([np.full(100, 0.3), np.full(900, 0.97)]) + noise(1000, 0.0005)
    assert play(use) == []
    assert play_gpu(use) == []


def test_a_saw_tooth_is_no_alarm() -> None:
    """Caches and collectors that let go were there before and will be again."""
    phase = np.arange(7200) / 300 % 1
    assert play(0.55 + 0.34 * phase + noise(7200, 0.002)) == []


def test_a_saw_tooth_that_nearly_fills_memory_is_told_until_its_shape_is_known() -> None:
    """What let go twice by itself will again; a tooth that goes on beyond the others is told."""
    teeth = np.tile(np.linspace(0.4, 0.955, 300), 8)
    events = play(np.concatenate([teeth, np.linspace(0.4, 1.0, 334)]) + noise(2734, 0.002))
    raised = [seconds(event) // 300 for event in events if event.state is State.RAISED]
    assert raised == [0, 1, 9]


@pytest.mark.parametrize("plateau", [0.6, 0.9, 0.95])
def test_a_warm_up_is_no_alarm(plateau: float) -> None:
    """What comes to rest slows down before; a warm-up to a high level is not taken for a filling."""
    for tau in (2, 10, 60, 300):
        use = 0.05 + (plateau - 0.05) * (1 - np.exp(-np.arange(1500) / tau))
        assert play(use + noise(1500, 0.001)) == []


def test_an_alarm_ends_when_the_growth_ends() -> None:
    """A filling that stops short is cleared, once."""
    use = np.concatenate([0.5 + 0.44 * np.arange(600) / 600, np.full(900, 0.94)])
    assert [event.state for event in play(use) if event.state is not State.CHANGED] == [State.RAISED, State.CLEARED]


def test_a_long_filling_is_told_without_wavering() -> None:
    """Severity only rises, confidence does not fall because another scale speaks, and what is full grows no faster."""
    use = np.concatenate([np.full(60, 0.4), np.linspace(0.4, 1.0, 600), np.full(10, 1.0)])
    events = play(np.clip(use + noise(670, 0.002), 0, 1), every=60)
    told = [event for event in events if event.state is not State.CLEARED]
    assert len(told) <= 8
    assert all(later.severity >= earlier.severity for earlier, later in pairwise(told))
    assert all(later.confidence >= earlier.confidence - 0.01 for earlier, later in pairwise(told))
    assert max(event.evidence["growth_ratio_per_second"] for event in told) < 3e-5


@pytest.mark.parametrize("spread", [0.01, 0.02])
def test_a_filling_whose_readings_scatter_is_told_once(spread: float) -> None:
    """A reading far below the highest one ends nothing, nor does it when growth takes long to exceed a high one."""
    use = np.clip(np.linspace(0.4, 1.0, 1080) + noise(1080, spread), 0, 1)
    told = [event for event in play(use, every=10.0) if event.state is not State.CHANGED]
    assert [event.state for event in told] == [State.RAISED]


def test_teeth_on_the_way_up_do_not_end_an_alarm() -> None:
    """Collections that give back 4 % every twenty minutes are no end of growth by 60 % in five hours."""
    minutes = np.arange(420)
    use = 0.4 + 0.6 * np.maximum(minutes - 120, 0) / 300 - 0.04 * (minutes / 20 % 1 < 0.5) + noise(420, 0.002)
    assert [event.state for event in play(np.minimum(use, 1.0), 60.0) if event.state is not State.CHANGED] == [
        State.RAISED
    ]


def test_each_exhaustion_in_turn_is_told() -> None:
    """A container that is killed again and again is told each time: having been full is no level to live with."""
    once = np.concatenate([np.linspace(0.2, 1.0, 400), np.full(200, 0.2)])
    raised = [event for event in play(np.tile(once, 3)) if event.state is State.RAISED]
    assert len(raised) == 3


def test_a_gpu_that_fills_while_it_computes_is_told_with_little_confidence() -> None:
    """Steady growth of the driver's figure may be a leak; it may be a cache, so it is not sure."""
    use = np.concatenate([np.full(60, 0.5), np.linspace(0.5, 1.0, 240)])
    raised = play_gpu(use + noise(300, 0.0005))[0]
    assert seconds(raised) < 300
    assert raised.confidence <= 0.5
    assert raised.subject.gpu
    assert "caches" in raised.because


def test_loading_a_model_is_no_alarm() -> None:
    """Weights that fill an idle GPU in two minutes are wanted there."""
    use = np.concatenate([np.full(30, 0.02), np.linspace(0.02, 0.95, 120), np.full(600, 0.95)])
    assert play_gpu(use, busy=0.0) == []


def test_a_silent_host_is_neither_raised_nor_cleared() -> None:
    """Unknown is not zero: a gap leaves a condition as it stands."""
    use = np.concatenate([np.linspace(0.3, 0.97, 100), np.full(500, np.nan)])
    assert [event.state for event in play(use) if event.state is not State.CHANGED] == [State.RAISED]


@pytest.mark.parametrize("minutes", [10, 30, 120])
def test_series_of_a_minute_announce_exhaustions(minutes: int) -> None:
    """With a reading every 57 s most exhaustions that take ten minutes or more are told two readings ahead."""
    told = 0
    for seed in range(10):
        grow = np.linspace(0.5, 1.0, minutes + 1) + noise(minutes + 1, 0.003, seed)
        use = np.concatenate([0.5 + noise(200, 0.006, seed + 100), grow[grow < 1], np.full(3, 0.05)])
        end = 200 + int(np.argmax(np.append(grow, 1.0) >= 1))
        told += any(e.state is State.RAISED and seconds(e) / 57 <= end - 2 for e in play(use, every=57.0))
    assert told >= 8


def test_services_that_live_high_are_no_alarm() -> None:
    """Pods at 57 s: high plateaus, bursts of five per cent, warm-ups in uneven pieces, and never full."""
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
