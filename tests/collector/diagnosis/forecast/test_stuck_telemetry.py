"""Readings that are repeated instead of measured."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.stuck_telemetry import StuckTelemetry
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines

Floats = NDArray[np.float64]
START = 1.7e9
SECONDS = 600


def readings(busy: float = 0.95) -> dict[str, Floats]:
    """Return ten minutes of readings of a working GPU."""
    rng = np.random.default_rng(1)
    return {
        "gpu_power_watts": np.round(600 * busy + 70 + rng.normal(0, 8, SECONDS), 3),
        "gpu_utilization_ratio": np.round(busy + rng.normal(0, 0.01, SECONDS), 2) if busy else np.zeros(SECONDS),
        "gpu_temperature_celsius": np.full(SECONDS, 64.0),
        "gpu_sm_clock_hertz": np.full(SECONDS, 1.98e9),
        "gpu_memory_used_bytes": np.full(SECONDS, 7e10),
        "gpu_energy_joules_total": np.cumsum(np.full(SECONDS, 650.0)),
    }


def play(series: dict[str, Floats], *, every: float = 1.0, alive: bool = True) -> list[Event]:
    machines, detector, conditions = Machines(1, gpus=1), StuckTelemetry(ForecastSettings()), Conditions()
    events: list[Event] = []
    for number in range(len(next(iter(series.values())))):
        gpu = {name: values[number : number + 1] for name, values in series.items()}
        view = ArrayView(machines, START + every * number, gpu=gpu, alive=np.array([alive or number < 200]))
        events += conditions.apply(detector.observe(view), view.now_ns)
    return events


def frozen(series: dict[str, Floats], begin: int, end: int, *names: str) -> dict[str, Floats]:
    """Freeze some readings for a while."""
    for name in names or tuple(series):
        series[name][begin:end] = series[name][begin]
    return series


def test_a_working_gpu_is_not_stuck() -> None:
    """Power that varies is measured, however constant temperature, clock and memory are."""
    assert play(readings()) == []


def test_constant_readings_for_minutes_are_stuck() -> None:
    """All readings including power stay the same: this is reported within minutes and cleared when they change."""
    series = readings()
    del series["gpu_energy_joules_total"]
    raised, cleared = play(frozen(series, 100, 400))
    assert 200 <= raised.time_ns / 1e9 - START <= 240
    assert "have not changed" in raised.because
    assert cleared.state is State.CLEARED


def test_a_frozen_energy_counter_is_reported_within_a_minute() -> None:
    """Power is reported, but the energy does not grow."""
    raised = play(frozen(readings(), 100, SECONDS, "gpu_energy_joules_total"))[0]
    assert raised.time_ns / 1e9 - START <= 140
    assert "energy" in raised.because


def test_an_energy_counter_that_never_moved_is_ignored() -> None:
    """Some boards report a counter that is always zero."""
    assert play(readings() | {"gpu_energy_joules_total": np.zeros(SECONDS)}) == []


def test_an_idle_gpu_may_be_constant() -> None:
    """Nothing runs and nothing changes, which is correct."""
    series = readings(busy=0.0)
    del series["gpu_energy_joules_total"]
    assert play(frozen(series, 0, SECONDS)) == []


def test_without_power_nothing_is_reported() -> None:
    """Temperature, clock and memory of a busy GPU can stay the same for minutes."""
    series = readings()
    del series["gpu_energy_joules_total"], series["gpu_power_watts"]
    assert play(frozen(series, 0, SECONDS)) == []


def test_a_host_that_is_not_reporting_is_not_stuck() -> None:
    """If nothing is received, the last readings do not count against its GPUs."""
    assert play(frozen(readings(), 190, SECONDS), alive=False) == []


def test_sparse_readings_need_more_time() -> None:
    """At least eight readings are needed, whatever the time between them."""
    series = readings()
    del series["gpu_energy_joules_total"]
    raised = play(frozen(series, 20, 60), every=57.0)[0]
    assert raised.time_ns / 1e9 - START >= (20 + 8) * 57
