"""Scenarios for demonstrations: every GPU trains, and something happens to some of them."""

import os
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from flyball_agent.standin.cards import GIB, H100, Values
from flyball_agent.standin.library import StandIn, StandinError
from flyball_agent.standin.scenario import Scenario, Wave, count, noise, ramp, saw, sine, square

TOTAL = 81559 * 1024**2
STRAGGLER_FACTOR = 0.6
_POWER_CAP, _SW_THERMAL, _HW_THERMAL = 0x04, 0x20, 0x40  # nvmlClocksEventReasons

_TRAINING: Values = {
    "utilization_gpu": noise(96, 3),
    "utilization_memory": noise(48, 4),
    "memory_used": 61 * GIB,
    "power": sine(610_000, 25_000, 7) + noise(0, 9_000),
    "energy": count(610_000),
    "temperature": ramp(45, 63, 0, 90) + noise(0, 1),
    "temperature_margin": ramp(42, 24, 0, 90) + noise(0, 1),
    "memory_temperature": ramp(48, 74, 0, 90) + noise(0, 1),
    "clock_sm": noise(1_875, 20),
    "throttle_reasons": square(0, _POWER_CAP, 5, 0.15),
    "throttle_sw_power_cap": count(150_000_000),
    "pcie_transmit": count(0.9e9),
    "pcie_receive": count(2.4e9),
    "nvlink_transmit_kib": count(70e6),
    "nvlink_receive_kib": count(70e6),
    "gpm_sm_active": noise(88, 3),
    "gpm_sm_occupancy": noise(42, 3),
    "gpm_tensor_active": noise(51, 4),
    "gpm_dram_active": noise(57, 4),
}


def _steady(scenario: Scenario) -> None:
    """Use all GPUs well, without any incident."""


def _starved(scenario: Scenario) -> None:
    """Make all GPUs wait for the data loader four seconds in ten."""
    busy = {"utilization_gpu": (6, 95), "utilization_memory": (2, 46), "power": (140_000, 590_000)}
    scenario.set({key: square(low, high, 10, 0.6) + noise(0, 2) for key, (low, high) in busy.items()})
    scenario.set({"gpm_sm_active": square(3, 86, 10, 0.6), "gpm_tensor_active": square(0, 49, 10, 0.6)})
    scenario.set({"energy": count(410_000), "temperature": ramp(40, 55, 0, 60) + saw(0, 4, 10)})


def _hot(scenario: Scenario) -> None:
    """Make the cooling of the last GPU fail: it heats up to its limit and slows down."""
    gpu = scenario.gpus - 1
    scenario.set({
        "temperature": ramp(63, 89, 20, 280),
        "temperature_margin": ramp(24, 0, 20, 260),
        "memory_temperature": ramp(74, 92, 20, 280),
        "clock_sm": ramp(1_875, 960, 258, 300) + noise(0, 15),
        "power": ramp(610_000, 380_000, 258, 300) + noise(0, 9_000),
        "throttle_reasons": ramp(0, _SW_THERMAL, 257.9, 258),
        "throttle_sw_thermal": ramp(0, 3_600e9, 258, 3_858),
    }, gpu)  # fmt: skip


def _leak(scenario: Scenario) -> None:
    """Increase the memory use of the first GPU by a fixed amount per step until none is left."""
    scenario.set({"memory_used": ramp(40 * GIB, TOTAL, 10, 250)}, 0)


def slow_gpu(gpus: int) -> int:
    """Return the index of the straggler."""
    return gpus // 2


def _straggler(scenario: Scenario) -> None:
    """Make one GPU slow because it is hot; all others wait for it."""
    slow = slow_gpu(scenario.gpus)
    scenario.set({"utilization_gpu": noise(97, 2), "power": noise(420_000, 12_000), "energy": count(420_000)})
    scenario.set({"gpm_sm_active": noise(88 * STRAGGLER_FACTOR, 3), "gpm_tensor_active": noise(30, 3)})
    scenario.set({
        "clock_sm": noise(1_875 * STRAGGLER_FACTOR, 10), "throttle_reasons": _HW_THERMAL,
        "throttle_hw_thermal": count(1e9), "gpm_sm_active": noise(93, 2), "power": noise(330_000, 9_000),
        "temperature": noise(90, 1), "temperature_margin": noise(1, 1), "memory_temperature": noise(94, 1),
    }, slow)  # fmt: skip


def _xid(scenario: Scenario) -> None:
    """Report memory errors of the last GPU, then remove it from the bus; two minutes later it is reset."""
    gpu = scenario.gpus - 1
    scenario.set({"ecc_uncorrected": ramp(0, 2, 29.9, 30), "remapped_pending": ramp(0, 1, 29.9, 30)}, gpu)
    scenario.xid(gpu, 48, at=30).xid(gpu, 63, at=30.5).xid(gpu, 79, at=60).lose(gpu, 60.5, 180)


SCENARIOS: Mapping[str, Callable[[Scenario], None]] = {
    "steady": _steady,
    "starved": _starved,
    "hot": _hot,
    "leak": _leak,
    "straggler": _straggler,
    "xid": _xid,
}


def make_scenario(name: str, gpus: int, pid: int | None = None) -> Scenario:
    """Build a scenario by name. `pid` is the process that trains on every GPU."""
    if name not in SCENARIOS:
        raise StandinError(f"there is no scenario {name!r}; the scenarios are {', '.join(SCENARIOS)}")
    if not 1 <= gpus <= 16:
        raise StandinError(f"{gpus} GPUs: the stand-in supports 1 to 16")
    scenario = Scenario(gpus=gpus).set(H100).set(_TRAINING)
    SCENARIOS[name](scenario)
    for gpu in range(gpus):
        scenario.process(gpu, pid or os.getpid(), _memory_used(name, gpu), utilization=96)
    return scenario


def _memory_used(name: str, gpu: int) -> Wave | int:
    return ramp(40 * GIB, TOTAL, 10, 250) if name == "leak" and gpu == 0 else 61 * GIB


def start_standin(directory: Path, scenario: str = "steady", gpus: int = 8, pid: int | None = None) -> Path:
    """Play a scenario from now on. Return the path of the library, for the setting `nvml_library`."""
    played = make_scenario(scenario, gpus, pid).started_at(time.monotonic())
    for gpu in range(gpus):  # the GPUs of two demonstrations must have different UUIDs
        played.set({"uuid": f"GPU-{uuid.uuid5(uuid.NAMESPACE_URL, f'{directory.absolute()}/{gpu}')}"}, gpu)
    return StandIn(directory, played).library
