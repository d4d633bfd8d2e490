"""Tests of the stand-in library with the real nvidia-ml-py."""

import json
import os
import subprocess
import sys
import threading
import time
from ctypes import CDLL, byref, c_uint, c_void_p
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.standin.cards import A100, H100, RTX_4090
from flyball_agent.standin.library import LIBRARY, StandIn, StandinError, build_library
from flyball_agent.standin.scenario import Scenario, count, known_keys, noise, ramp, saw, sine, square
from flyball_agent.standin.scenarios import SCENARIOS, make_scenario, start_standin

SHOW = """
import json, pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(1)
m = n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2)
fields = n.nvmlDeviceGetFieldValues(h, [82, 83, (138, 0xFFFFFFFF), 9999])
try:
    n.nvmlDeviceGetFanSpeed(h)
    fan = "supported"
except n.NVMLError_NotSupported:
    fan = "not supported"
events = n.nvmlEventSetCreate()
n.nvmlDeviceRegisterEvents(h, n.nvmlEventTypeXidCriticalError, events)
event = n.nvmlEventSetWait(events, 0)
migs = [n.nvmlDeviceGetMigDeviceHandleByIndex(h, 0)]
print(json.dumps({
    "count": n.nvmlDeviceGetCount(), "driver": n.nvmlSystemGetDriverVersion(), "name": n.nvmlDeviceGetName(h),
    "uuid": n.nvmlDeviceGetUUID(h), "bus": n.nvmlDeviceGetPciInfo(h).busId, "memory": [m.total, m.reserved, m.used],
    "gpu": n.nvmlDeviceGetUtilizationRates(h).gpu, "power": n.nvmlDeviceGetPowerUsage(h),
    "temperature": [n.nvmlDeviceGetTemperature(h, 0), n.nvmlDeviceGetTemperatureV(h, 0)],
    "margin": n.nvmlDeviceGetMarginTemperature(h), "fields": [[f.nvmlReturn, f.value.uiVal] for f in fields],
    "capability": n.nvmlDeviceGetCudaComputeCapability(h), "rows": n.nvmlDeviceGetRemappedRows(h), "fan": fan,
    "processes": [[p.pid, p.usedGpuMemory] for p in n.nvmlDeviceGetComputeRunningProcesses(h)],
    "shares": [[s.pid, s.smUtil] for s in n.nvmlDeviceGetProcessUtilization(h, 0)],
    "xid": [event.eventType, event.eventData, n.nvmlDeviceGetIndex(event.device)],
    "mig": [n.nvmlDeviceGetMigMode(h), n.nvmlDeviceGetName(migs[0]), n.nvmlDeviceGetMemoryInfo(migs[0]).used],
    "links": [n.nvmlDeviceGetNvLinkState(h, 17), n.nvmlDeviceGetNvLinkState(h, 18 - 2)],
}))
"""


def open_library(library: Path) -> CDLL:
    opened = CDLL(str(library))
    assert opened.nvmlInit_v2() == 0
    return opened


def handle_of(library: CDLL, index: int) -> c_void_p:
    handle = c_void_p()
    assert library.nvmlDeviceGetHandleByIndex_v2(index, byref(handle)) == 0
    return handle


def read_power(library: CDLL, index: int = 0) -> int:
    power = c_uint()
    assert library.nvmlDeviceGetPowerUsage(handle_of(library, index), byref(power)) == 0
    return power.value


def test_the_real_pynvml_reads_it(tmp_path: Path) -> None:
    """nvidia-ml-py finds the library by its name and reads the values of the scenario with its own structures."""
    scenario = (
        Scenario(gpus=2)
        .set(H100)
        .set({"utilization_gpu": 73, "memory_used": 5_000_000_000, "power": 345_678, "temperature": 66}, gpu=1)
        .set({"nvlink_transmit_kib": 4321, "memory_temperature": 71, "energy": 99, "remapped_uncorrected": 2})
        .set({"mig_enabled": 1, "nvlinks_active": 17})
        .slice(1, 0, uuid="MIG-1", profile="1g.10gb", total_bytes=10**10, used=12345)
        .process(1, 4242, 3_000_000_000, utilization=37)
        .at(10)
        .xid(1, 79, at=10)
    )
    StandIn(tmp_path, scenario)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", SHOW], env=environment, capture_output=True, text=True, check=True)
    printed: dict[str, Any] = json.loads(done.stdout)
    assert printed == {
        "count": 2,
        "driver": "580.95.05",
        "name": "NVIDIA H100 80GB HBM3",
        "uuid": "GPU-00000000-0000-4000-8000-000000000001",
        "bus": "00000000:11:00.0",
        "memory": [81559 * 1024**2, 520 * 1024**2, 5_000_000_000],
        "gpu": 73,
        "power": 345_678,
        "temperature": [66, 66],
        "margin": 55,
        "fields": [[0, 71], [0, 99], [0, 4321], [3, 0]],
        "capability": [9, 0],
        "rows": [0, 2, 0, 0],
        "fan": "not supported",
        "processes": [[4242, 3_000_000_000]],
        "shares": [[4242, 37]],
        "xid": [8, 79, 1],
        "mig": [[1, 1], "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 12345],
        "links": [0, 1],
    }


@pytest.mark.parametrize(
    ("wave", "at", "expected"),
    [
        (ramp(100, 200, 10, 20), 5, 100),
        (ramp(100, 200, 10, 20), 15, 150),
        (ramp(100, 200, 10, 20), 99, 200),
        (saw(0, 100, 10), 12.5, 25),
        (square(7, 93, 10, 0.6), 5, 93),
        (square(7, 93, 10, 0.6), 8, 7),
        (sine(50, 10, 8), 2, 60),
        (count(30), 4, 120),
        (ramp(100, 200, 10, 20) + count(1) + 5, 15, 170),
    ],
)
def test_values_change_over_time(tmp_path: Path, wave: object, at: float, expected: int) -> None:
    """Each function of time has the expected value at a given time."""
    scenario = Scenario().set({"power": wave}).at(at)  # type: ignore[dict-item]
    assert read_power(open_library(StandIn(tmp_path, scenario).library)) == expected


def test_noise_stays_within_its_spread_and_repeats(tmp_path: Path) -> None:
    """Noise changes, stays within its spread, and is the same when it is played again."""
    standin = StandIn(tmp_path, Scenario().set({"power": noise(1000, 100)}).at(0))
    library = open_library(standin.library)
    rounds = []
    for _ in range(2):
        powers = []
        for step in range(12):
            standin.play(Scenario().set({"power": noise(1000, 100)}).at(step))
            powers.append(read_power(library))
        rounds.append(powers)
    assert rounds[0] == rounds[1]
    assert all(900 <= value <= 1100 for value in rounds[0])
    assert len(set(rounds[0])) > 5


def test_a_new_scenario_applies_at_once(tmp_path: Path) -> None:
    """After `play` has returned, the next call returns the new value."""
    standin = StandIn(tmp_path, Scenario().set({"power": 1}))
    library = open_library(standin.library)
    for value in range(2, 30):
        standin.play(Scenario().set({"power": value}))
        assert read_power(library) == value


def test_gpus_without_values_get_defaults(tmp_path: Path) -> None:
    """A scenario with faults only has default values; one that sets values has no others."""
    standin = StandIn(tmp_path, Scenario(gpus=2).lose(0))
    library = open_library(standin.library)
    assert read_power(library, 1) == 50_000
    standin.play(Scenario(gpus=2).set({"temperature": 50}))
    assert library.nvmlDeviceGetPowerUsage(handle_of(library, 1), byref(c_uint())) == 3


def test_two_standins_in_one_process_do_not_mix(tmp_path: Path) -> None:
    """Each folder has its own library."""
    one = open_library(StandIn(tmp_path / "one", Scenario().set({"power": 1})).library)
    two = open_library(StandIn(tmp_path / "two", Scenario().set({"power": 2})).library)
    assert (read_power(one), read_power(two)) == (1, 2)


def test_a_hanging_call_ends_early_with_its_fault(tmp_path: Path) -> None:
    """A hanging call returns when a new scenario has no such fault; other calls are not delayed."""
    normal = Scenario(gpus=2).set({"power": 5, "temperature": 40})
    standin = StandIn(tmp_path, Scenario(gpus=2).set({"power": 5}).hang("nvmlDeviceGetPowerUsage", 60, gpu=0))
    library = open_library(standin.library)
    done = threading.Event()

    def read() -> None:
        read_power(library)
        done.set()

    threading.Thread(target=read, daemon=True).start()
    time.sleep(0.05)
    assert read_power(library, 1) == 5
    assert not done.is_set()
    standin.play(normal)
    assert done.wait(30)  # the call hangs for a minute


def test_every_scenario_plays(tmp_path: Path) -> None:
    """Each included scenario uses only keys of the library and can be played."""
    keys = known_keys() | {"name", "uuid", "pci"}
    for name in SCENARIOS:
        used = {line.split(" ")[2] for line in make_scenario(name, 4).lines if line.startswith("gpu ")}
        assert used <= keys
        assert read_power(open_library(start_standin(tmp_path / name, name, 4)), 3) > 100_000


def test_cards_use_only_known_keys() -> None:
    """All keys of the cards are known, because a misspelt key would have no effect."""
    for card in (H100, A100, RTX_4090):
        assert set(card) <= known_keys() | {"name"}


def test_an_unknown_scenario_is_refused_by_name() -> None:
    """The message lists the scenarios."""
    with pytest.raises(StandinError, match=r"no scenario 'nope'; the scenarios are steady, starved"):
        make_scenario("nope", 1)


def test_a_missing_compiler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a compiler the message names the package to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StandinError, match="Install gcc"):
        build_library(tmp_path / "cache")


def test_the_library_is_built_once(tmp_path: Path) -> None:
    """The library is compiled once and then taken from the cache."""
    first = build_library(tmp_path)
    stamp = first.stat().st_mtime_ns
    assert build_library(tmp_path) == first
    assert first.stat().st_mtime_ns == stamp
    assert StandIn(tmp_path / "here", Scenario(), tmp_path).library.name == LIBRARY
