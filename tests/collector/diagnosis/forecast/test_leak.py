"""Memory leaks, and memory use that only fluctuates."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.leak import MemoryLeak
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.subject import Subject

Floats = NDArray[np.float64]
START = 1.7e9
HOSTS = 200
DAY = 1440


def remember_a_day(memory: MemoryExhaustion, machines: Machines, level: Floats) -> None:
    """Load a day of history before the series: almost constant at these levels."""
    times = START - np.arange(60.0 * DAY, 0.0, -60.0, dtype=np.float64)
    wavers = np.random.default_rng(3).normal(0, 0.001, DAY)
    for subject, before in zip(machines.hosts.names, level, strict=True):
        memory.load_history(Subject(subject.host, resource="host"), times, before + wavers, before + wavers)


def first_claim(use: Floats, *, known: bool = True) -> Floats:
    """Return for each host (minute × host) the minute of the first claim, or NaN. `known`: the day before is known."""
    machines, memory = Machines(use.shape[1]), MemoryExhaustion(ForecastSettings())
    if known:
        remember_a_day(memory, machines, use[:30].mean(axis=0))
    leak = MemoryLeak(memory, ForecastSettings())
    first = np.full(use.shape[1], np.nan)
    for minute in range(len(use)):
        view = ArrayView(machines, START + 60.0 * minute, host={"memory_used_ratio": use[minute]})
        memory.observe(view)
        claims = next(iter(leak.observe(view)))
        first[claims.enters[: use.shape[1]] & np.isnan(first)] = minute
    return first


def noise(minutes: int, spread: float, hosts: int = HOSTS) -> Floats:
    return np.asarray(np.random.default_rng(1).normal(0, spread, (minutes, hosts)))


def wander(minutes: int, tau: float, spread: float) -> Floats:
    rng, keep = np.random.default_rng(2), np.exp(-1 / tau)
    out = np.zeros((minutes, HOSTS))
    for minute in range(1, minutes):
        out[minute] = keep * out[minute - 1] + rng.normal(0, spread * np.sqrt(1 - keep**2), HOSTS)
    return out


@pytest.mark.parametrize(
    ("gib_an_hour", "within_minutes"),
    [(8.0, 120), (2.0, 240), (0.5, 660)],
)
def test_a_leak_is_reported(gib_an_hour: float, within_minutes: int) -> None:
    """With half of 64 GiB in use, steady growth is found after hours, earlier if it is faster."""
    minutes = np.arange(within_minutes)[:, None]
    first = first_claim(0.5 + gib_an_hour / 64 * minutes / 60 + noise(within_minutes, 0.001, 20))
    assert np.mean(first < within_minutes) >= 0.95


def test_a_leak_under_a_sawtooth_is_reported() -> None:
    """The minimum after each collection grows, although memory falls every twenty minutes."""
    minutes = np.arange(720)[:, None]
    use = 0.4 + 0.02 * minutes / 60 + 0.1 * (minutes / 20 % 1) + noise(720, 0.001, 20)
    assert np.mean(~np.isnan(first_claim(use))) >= 0.95


def test_a_daily_rise_is_not_a_leak() -> None:
    """Not on the first morning, when no day is known, and not on later ones that go about as high."""
    hours = np.arange(3 * DAY)[:, None] / 60
    phase, swing = np.arange(24.0), np.linspace(0.05, 0.3, 24)
    use = 0.5 + swing * (1 + 0.1 * (hours // 24)) * np.sin(2 * np.pi * (hours - phase) / 24)
    assert np.isnan(first_claim(use + noise(3 * DAY, 0.002, 24), known=False)).all()


def test_growth_longer_than_a_daily_cycle_is_reported_without_a_day_of_history() -> None:
    """Eighteen hours of equal growth are not a morning."""
    minutes = np.arange(1320)[:, None]
    first = first_claim(0.3 + 0.02 * minutes / 60 + noise(1320, 0.001, 20), known=False)
    assert ((first > 17 * 60) & (first < 22 * 60)).all()


@pytest.mark.parametrize(("hours", "ahead_hours"), [(5, 1.5), (8, 1.5), (12, 2.5), (17, 5.0)])
def test_growth_unlike_a_daily_cycle_is_reported_without_a_day_of_history(hours: int, ahead_hours: float) -> None:
    """After two hours at rest, memory rises straight for hours, with less room than a daily cycle needs."""
    minutes = np.arange(60 * (hours + 2))[:, None]
    use = 0.4 + 0.6 * np.maximum(minutes / 60 - 2, 0) / hours + noise(len(minutes), 0.002, 20)
    assert (first_claim(np.minimum(use, 1.0), known=False) <= 60 * (hours + 2 - ahead_hours)).all()


def test_noise_does_not_end_a_leak() -> None:
    """Readings with 1 % of noise hide a leak at times; it is still reported once."""
    minutes = np.arange(600)
    events = play(0.2 + 0.04 * minutes / 60 + np.random.default_rng(4).normal(0, 0.01, 600))
    assert [event.state for event in events if event.state is not State.CHANGED] == [State.RAISED]


QUIET: dict[str, Callable[[], Floats]] = {
    "flat": lambda: 0.6 + noise(360, 0.005),
    "step": lambda: 0.4 + 0.3 * (np.arange(360)[:, None] > 130) + noise(360, 0.005),
    "stairs": lambda: 0.4 + 0.05 * (np.arange(360)[:, None] // 60) + noise(360, 0.002),
    "warm-up": lambda: 0.2 + 0.6 * (1 - np.exp(-np.arange(360)[:, None] / 40)) + noise(360, 0.003),
    "saw-tooth": lambda: 0.5 + 0.2 * (np.arange(360)[:, None] / 45 % 1) + noise(360, 0.002),
    "wandering": lambda: 0.6 + wander(360, 60, 0.01),
    "plateau": lambda: np.full((360, HOSTS), 0.95),
}


@pytest.mark.parametrize("name", QUIET)
def test_other_behaviour_is_not_reported(name: str) -> None:
    """Levels, steps, warm-ups, collections and random walks do not count as leaks on any of 200 hosts."""
    assert np.isnan(first_claim(QUIET[name]())).all()


def test_a_leak_that_takes_weeks_is_not_reported() -> None:
    """Growth that would fill memory in a month is too slow."""
    minutes = np.arange(720)[:, None]
    assert np.isnan(first_claim(0.3 + 0.0008 * minutes / 60 + noise(720, 0.00005, 5))).all()


def play(use: Floats) -> list[Event]:
    """Play one host minute by minute through both memory detectors; return the events."""
    machines, memory, conditions = Machines(1), MemoryExhaustion(ForecastSettings()), Conditions()
    leak = MemoryLeak(memory, ForecastSettings())
    remember_a_day(memory, machines, use[:30].mean(keepdims=True))
    events: list[Event] = []
    for minute, value in enumerate(use):
        view = ArrayView(machines, START + 60.0 * minute, host={"memory_used_ratio": np.array([value])})
        events += conditions.apply([*memory.observe(view), *leak.observe(view)], view.now_ns)
    return events


def until_restarted(minutes: int) -> Floats:
    """Return an hour at 40 %, growth over `minutes` up to the limit, and two hours after a restart."""
    use = np.concatenate([np.full(60, 0.4), np.linspace(0.4, 1.0, minutes), np.full(120, 0.3)])
    return np.asarray(use + noise(len(use), 0.002, 1)[:, 0])


@pytest.mark.parametrize("minutes", [183, 723])
def test_a_leak_is_reported_once_and_cleared_by_the_restart(minutes: int) -> None:
    """It is active until the exhaustion explains it. A killed process no longer leaks."""
    raised = [event.kind.name for event in play(until_restarted(minutes)) if event.state is State.RAISED]
    assert raised == ["memory_leak", "memory_exhaustion"]
