"""Readings that are repeated instead of measured."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.stuck import StuckTelemetry
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines

Floats = NDArray[np.float64]
START = 1.7e9
SECONDS = 600


def readings(busy: float = 0.95) -> dict[str, Floats]:
    """Ten minutes of a working GPU."""
    rng = np.random.default_rng(1)
    return {
        "gpu_power_watts": np.round(600 * busy + 70 + rng.normal(0, 8, SECONDS), 3),
        "gpu_utilization_ratio": np.round(busy + rng.normal(0, 0.01, SECONDS), 2) if busy else np.zeros(SECONDS),
        "gpu_temperature_celsius": np.full(SECONDS, 64.0),
        "gpu_sm_clock_hertz": np.full(SECONDS, 1.98e9),
        "gpu_memory_used_bytes": np.full(SECONDS, 7e10),
        "gpu_energy_joules_total": np.cumsum(np.full(SECONDS, 650.0)),
    }


def play(told: dict[str, Floats], *, every: float = 1.0, alive: bool = True) -> list[Event]:
    machines, detector, conditions = Machines(1, gpus=1), StuckTelemetry(ForecastSettings()), Conditions()
    events: list[Event] = []
    for number in range(len(next(iter(told.values())))):
        gpu = {name: values[number : number + 1] for name, values in told.items()}
        view = ArrayView(machines, START + every * number, gpu=gpu, alive=np.array([alive or number < 200]))
        events += conditions.take(detector.observe(view), view.now_ns)
    return events


def frozen(told: dict[str, Floats], begin: int, end: int, *names: str) -> dict[str, Floats]:
    """The same, with readings that stand still for a while."""
    for name in names or tuple(told):
        told[name][begin:end] = told[name][begin]
    return told


def test_a_working_gpu_is_not_stuck() -> None:
    """Power that varies is measured, however steady temperature, clock and memory are."""
    assert play(readings()) == []


def test_identical_readings_for_minutes_are_stuck() -> None:
    """Everything stands still, power too: that is told within minutes, and over when it moves."""
    told = readings()
    del told["gpu_energy_joules_total"]
    raised, cleared = play(frozen(told, 100, 400))
    assert 200 <= raised.time_ns / 1e9 - START <= 240
    assert "identical" in raised.because
    assert cleared.state is State.CLEARED


def test_a_frozen_energy_counter_is_told_within_a_minute() -> None:
    """Power is claimed but no energy is drawn."""
    raised = play(frozen(readings(), 100, SECONDS, "gpu_energy_joules_total"))[0]
    assert raised.time_ns / 1e9 - START <= 140
    assert "energy" in raised.because


def test_an_energy_counter_that_never_moved_is_none() -> None:
    """Some boards tell a counter that is always zero; that says nothing."""
    assert play(readings() | {"gpu_energy_joules_total": np.zeros(SECONDS)}) == []


def test_an_idle_gpu_may_stand_still() -> None:
    """Nothing runs and nothing changes: true, not stuck."""
    told = readings(busy=0.0)
    del told["gpu_energy_joules_total"]
    assert play(frozen(told, 0, SECONDS)) == []


def test_without_power_nothing_is_said() -> None:
    """Temperature, clock and memory of a busy GPU do stand still for minutes."""
    told = readings()
    del told["gpu_energy_joules_total"], told["gpu_power_watts"]
    assert play(frozen(told, 0, SECONDS)) == []


def test_a_silent_host_is_not_stuck() -> None:
    """When nothing comes at all the host is silent; its last readings are not held against its GPUs."""
    assert play(frozen(readings(), 190, SECONDS), alive=False) == []


def test_seldom_readings_need_more_time() -> None:
    """Eight readings at least, whatever the time between them."""
    told = readings()
    del told["gpu_energy_joules_total"]
    raised = play(frozen(told, 20, 60), every=57.0)[0]
    assert raised.time_ns / 1e9 - START >= (20 + 8) * 57
