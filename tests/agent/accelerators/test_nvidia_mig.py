"""Tests of MIG instances: activity and processes of each."""

from pathlib import Path

import pytest

from flyball_agent.standin.chips import set_chip
from flyball_agent.standin.scenario import Scenario
from flyball_proto.unavailable_reading import Reason
from tests.agent.accelerators.nvidia_bench import Bench, unavailable_reading, value

GIB = 2**30


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def split(chip: str) -> Scenario:
    scenario = set_chip(Scenario(gpus=1), chip).set({"mig_enabled": 1})
    activity = {"sm_active": 75, "sm_occupancy": 20, "tensor_active": 50, "dram_active": 10}
    scenario.slice(0, 0, uuid="MIG-a", profile="3g.40gb", total_bytes=40 * GIB, used=7, activity=activity)
    idle = dict.fromkeys(activity, 0)
    return scenario.slice(0, 4, uuid="MIG-b", profile="1g.10gb", total_bytes=10 * GIB, used=8, activity=idle)


def test_each_instance_has_its_activity(bench: Bench) -> None:
    """On Hopper and newer the activity counters of each instance are read."""
    bench.play(split("H100"))
    bench.read()
    sample = bench.read()
    assert value(sample, "gpu_mig_sm_active_ratio", label="MIG-a") == pytest.approx(0.75)
    assert value(sample, "gpu_mig_tensor_active_ratio", label="MIG-a") == pytest.approx(0.5)
    assert value(sample, "gpu_mig_sm_active_ratio", label="MIG-b") == 0
    assert value(sample, "gpu_mig_memory_used_bytes", label="MIG-b") == 8
    assert not [each for each in sample.unavailable if each.metric.startswith("gpu_mig")]


def test_the_first_reading_of_an_instance_has_no_activity(bench: Bench) -> None:
    """Activity needs two samples; before, it is unknown with a reason."""
    bench.play(split("H100"))
    sample = bench.read()
    assert value(sample, "gpu_mig_sm_active_ratio", label="MIG-a") is None
    missing = unavailable_reading(sample, "gpu_mig_sm_active_ratio", label="MIG-a")
    assert missing is not None
    assert missing.reason is Reason.FAILED


def test_instances_without_activity_counters_have_a_reason(bench: Bench) -> None:
    """An A100 has no activity counters: its instances have memory only, and the reason."""
    bench.play(split("A100"))
    bench.read()
    sample = bench.read()
    assert value(sample, "gpu_mig_memory_total_bytes", label="MIG-a") == 40 * GIB
    assert "gpu_mig_sm_active_ratio" not in {column.metric.name for column in sample.columns}
    missing = unavailable_reading(sample, "gpu_mig_sm_active_ratio", label="MIG-b")
    assert missing is not None
    assert missing.reason is Reason.UNSUPPORTED


def test_memory_of_an_instance_that_cannot_be_read_has_a_reason(bench: Bench) -> None:
    """A failing call makes the memory of the instances unknown, with the reason."""
    bench.play(split("H100"))
    bench.read()
    bench.play(split("H100").error("nvmlDeviceGetMemoryInfo_v2", 999))
    sample = bench.read()
    assert value(sample, "gpu_mig_memory_used_bytes", label="MIG-a") is None
    assert unavailable_reading(sample, "gpu_mig_memory_used_bytes", label="MIG-a") is not None


def test_processes_belong_to_their_instance(bench: Bench) -> None:
    """Each process is listed with its instance. Utilisation of single processes does not exist with MIG."""
    bench.play(split("H100").slice_process(0, 0, 100, 1000).slice_process(0, 4, 101, 2000).slice_process(0, 4, 102, 1))
    bench.read()
    found = [(each.pid, each.mig_instance, each.memory_used_bytes) for each in bench.probe.processes]
    assert found == [(100, "MIG-a", 1000), (101, "MIG-b", 2000), (102, "MIG-b", 1)]
    assert not any(each.HasField("utilization_ratio") for each in bench.probe.processes)
    assert "nvmlDeviceGetProcessUtilization" not in bench.nvml.calls


def test_a_lost_gpu_keeps_the_columns_of_its_instances(bench: Bench) -> None:
    """While the GPU is lost the readings of its instances are unknown; they return with it."""
    bench.play(split("H100"))
    bench.read()
    before = bench.read()
    bench.play(split("H100").lose(0))
    lost = bench.read()
    assert lost.columns is before.columns
    assert value(lost, "gpu_mig_memory_used_bytes", label="MIG-a") is None
    bench.play(split("H100"))
    bench.read()
    assert value(bench.read(), "gpu_mig_sm_active_ratio", label="MIG-a") == pytest.approx(0.75)
