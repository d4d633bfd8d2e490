"""Tests of the list of accelerators, their inventory, and the check of a driver."""

import os
import re
from pathlib import Path

import msgspec
import pytest

from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.accelerators.check import main
from flyball_agent.accelerators.inventory import read_gpus
from flyball_agent.settings import AgentSettings, ProbeSettings
from flyball_agent.standin.chips import set_chip
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from flyball_agent.standin.scenarios import start_standin


def settings_for(tmp_path: Path, **more: object) -> AgentSettings:
    library = start_standin(tmp_path, "steady", 2)
    return msgspec.convert({"nvml_library": str(library), "sys_root": str(tmp_path / "sys"), **more}, AgentSettings)


def test_the_inventory_is_known_after_the_first_reading(tmp_path: Path) -> None:
    """Before the first reading `describe` is empty, because it never calls a driver."""
    accelerators = build_accelerator_probes(settings_for(tmp_path))
    assert [probe.name for probe in accelerators] == ["nvidia", "amd", "intel"]
    assert read_gpus(accelerators) == []
    accelerators[0].read()
    assert [(gpu.index, gpu.vendor) for gpu in read_gpus(accelerators)] == [(0, "nvidia"), (1, "nvidia")]
    neighbour = build_accelerator_probes(settings_for(tmp_path / "neighbour"))
    neighbour[0].read()
    assert len({gpu.uuid for gpu in read_gpus(accelerators) + read_gpus(neighbour)}) == 4


def test_disabled_accelerators_are_left_out(tmp_path: Path) -> None:
    """Probes that the settings disable are not built."""
    settings = msgspec.structs.replace(settings_for(tmp_path), probes=ProbeSettings(disabled=("nvidia", "intel")))
    assert [probe.name for probe in build_accelerator_probes(settings)] == ["amd"]


def test_processes_can_be_disabled(tmp_path: Path) -> None:
    """With `processes = false` no process is reported."""
    settings = msgspec.structs.replace(settings_for(tmp_path), probes=ProbeSettings(processes=False))
    nvidia = build_accelerator_probes(settings)[0]
    nvidia.read()
    assert list(nvidia.processes) == []


def test_the_check_prints_readings_and_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check prints devices, readings, unavailable readings, and the time of each call."""
    library = start_standin(tmp_path, "steady", 2)
    assert main(["--library", str(library), "--ticks", "2", "--every", "0"]) == 0
    printed = capsys.readouterr().out
    assert "GPU 1: NVIDIA H100 80GB HBM3" in printed
    assert "gpu_power_limit_watts" in printed
    unavailable = printed.partition("readings are unavailable:")[2]
    assert re.search(r"gpu_fan_speed_ratio +unsupported +nvmlDeviceGetFanSpeed: not supported", unavailable)
    assert "NVLink: GPU 1 active_links 18" in printed
    assert "MIG: no instances" in printed
    assert re.search(rf"Process {os.getpid()} on GPU-.*: 62464 MiB\n", printed)
    assert "board 692-2G520-0200-000, serial 1650000000001" in printed
    assert "nvmlDeviceGetFieldValues" in printed.partition("A tick: median")[2]


def test_the_check_lists_instances_and_denied_readings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MIG instances with their processes, an unknown link state, and the remedy of a denied reading are printed."""
    scenario = set_chip(Scenario(gpus=1), "H100").set({"mig_enabled": 1})
    scenario.slice(0, 0, uuid="MIG-a", profile="3g.40gb", total_bytes=40 * 2**30, used=7)
    scenario.slice_process(0, 0, 77, 3 * 2**20).error("nvmlDeviceGetNvLinkState", 999)
    scenario.error("nvmlDeviceGetSramEccErrorStatus", 4)
    library = StandIn(tmp_path, scenario).library
    assert main(["--library", str(library), "--ticks", "1", "--every", "0"]) == 0
    printed = capsys.readouterr().out
    assert "MIG: GPU 0 3g.40gb MIG-a 40.0 GiB" in printed
    assert "Process 77 on MIG-a: 3 MiB" in printed
    assert "NVLink: GPU 0 active_links unknown" in printed
    assert "run the agent as root" in printed


def test_the_check_fails_without_a_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a driver the exit status is 1 and the reason is printed."""
    assert main(["--library", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().out.startswith("No NVIDIA GPU to check: dlopen: libnvidia-ml.so.1 was not found.")
