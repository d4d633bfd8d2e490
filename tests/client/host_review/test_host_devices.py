"""The devices of a host as the planner sees them."""

from dataclasses import replace
from pathlib import Path

import pytest

from flyball.host.hardware_parts import GpuSpeed, HostBenchmarks, HostGpu, HostTier, ProcessorSpeed
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.host_devices import (
    NoDevice,
    devices_of,
    hardware_text,
    largest_group,
    machine_of,
    memory_bandwidth,
    processor_rate,
    sixteen_bit_processor_rate,
)
from flyball_planner.catalogue.devices import REGISTRY, find_device
from flyball_planner.catalogue.files import load_hardware
from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.precision import NumberFormat
from tests.client.host_review.recorded_hosts import recorded

GIB = 2**30


def test_all_gpus_of_a_node_are_one_machine() -> None:
    """Eight GPUs of one model are eight devices in one node, with the catalogue's rates and links."""
    found = devices_of(recorded("node"))
    machine = machine_of(found)
    assert (machine.device.name, machine.devices, machine.nodes, found.known) == ("H100 SXM5", 8, 1, True)
    assert machine.device.within_node is not None
    assert machine.between_nodes is None


def test_different_gpus_are_not_mixed() -> None:
    """The group that computes most together is used."""
    workstation = recorded("workstation")
    weak = [HostGpu(index=each, catalogue_name="T4", model="T4", memory_bytes=16 * GIB) for each in (1, 2)]
    assert largest_group((weak[0], *workstation.gpus, weak[1])) == workstation.gpus
    many = [replace(weak[0], index=each) for each in range(4)]
    assert len(largest_group((*workstation.gpus, *many))) == 4


def test_the_installed_memory_and_power_limit_count() -> None:
    """A variant with less memory and a lowered limit is planned as it is, and is not the catalogue's device."""
    workstation = recorded("workstation")
    gpu = replace(workstation.gpus[0], memory_bytes=16 * GIB, power_limit_watts=320.0)
    found = devices_of(replace(workstation, gpus=(gpu,)))
    assert (found.device.memory_bytes, found.device.power_watts, found.known) == (16 * GIB, 320.0, False)
    assert len(found.assumptions) == 2


def test_an_unlisted_gpu_is_planned_by_its_measured_rates() -> None:
    """Without a name in the catalogue and without a measurement there is a reason, and with one a device."""
    workstation = recorded("workstation")
    gpu = replace(workstation.gpus[0], catalogue_name=None, model="Abacus 9")
    with pytest.raises(NoDevice, match="the catalogue has no Abacus 9"):
        devices_of(replace(workstation, gpus=(gpu,)))
    speed = GpuSpeed(index=0, matmul_tflops={"bf16": 78.0, "fp32": 20.0}, device_memory_gb_per_second=800.0)
    found = devices_of(replace(workstation, gpus=(gpu,), benchmarks=HostBenchmarks(gpus=(speed,))))
    assert found.device.name == "Abacus 9"
    assert found.device.flops_per_second[NumberFormat.BF16] == pytest.approx(100e12)
    assert found.device.memory_bytes_per_second == pytest.approx(1e12)


def test_without_gpus_the_processor_trains() -> None:
    """The usable cores and the container's memory are what counts."""
    found = devices_of(recorded("container"))
    assert found.device.kind is DeviceKind.CPU
    assert (found.device.cores, found.device.memory_bytes) == (4, 8 * GIB)
    assert found.device.flops_per_second[NumberFormat.FP32] == pytest.approx(4 * 2.5e9 * 16)


def test_an_unknown_processor_has_its_reason() -> None:
    """Nothing is planned for a machine of which nothing is known."""
    with pytest.raises(NoDevice, match="cores and memory could not be determined"):
        devices_of(HardwareProfile(tier=HostTier.LOW))


def test_rates_of_processors_follow_their_instructions() -> None:
    """AVX-512 of Intel counts 64 operations per cycle, that of AMD 32; a measurement replaces both."""
    laptop = recorded("laptop")
    assert processor_rate(laptop) == pytest.approx(4 * 2.4e9 * 64)
    amd = replace(laptop, processor=replace(laptop.processor, vendor="AuthenticAMD"))
    assert processor_rate(amd) == pytest.approx(4 * 2.4e9 * 32)
    speed = ProcessorSpeed(matmul_gflops=140.0, threads=4, python_patterns_per_second=1e5)
    assert processor_rate(replace(laptop, benchmarks=HostBenchmarks(processor=speed))) == pytest.approx(200e9)


def test_a_slow_measurement_counts_for_all_formats() -> None:
    """A host that reaches a part of its printed fp32 rate gets the same part of the one in bf16, not all of it."""
    laptop = recorded("laptop")
    fast = replace(laptop, processor=replace(laptop.processor, features=("amx_bf16",)))
    printed, nominal = sixteen_bit_processor_rate(fast), processor_rate(fast)
    assert printed is not None
    assert nominal is not None
    speed = ProcessorSpeed(matmul_gflops=70.0, threads=4, python_patterns_per_second=1e5)
    slow = replace(fast, benchmarks=HostBenchmarks(processor=speed))
    assert sixteen_bit_processor_rate(slow) == pytest.approx(printed * 100e9 / nominal)


def test_two_modules_of_ddr4_have_two_channels() -> None:
    """Without the catalogue and a measurement, bandwidth follows from modules and transfers."""
    assert memory_bandwidth(recorded("laptop")) == pytest.approx(2 * 3200e6 * 8)
    assert memory_bandwidth(recorded("mac")) is None


@pytest.mark.parametrize("name", ["laptop", "container"])
def test_the_written_hardware_file_is_read_back(name: str, tmp_path: Path) -> None:
    """`flyball plan --hardware-file` finds the same device."""
    device = devices_of(recorded(name)).device
    path = tmp_path / "hardware.yaml"
    path.write_text(hardware_text(device), encoding="utf-8")
    try:
        load_hardware(path)
        found = find_device(device.name)
    finally:
        REGISTRY.clear()
    assert found.kind is device.kind
    assert found.cores == device.cores
    assert found.memory_bytes == pytest.approx(device.memory_bytes, rel=1e-4)
    assert found.flops_per_second == pytest.approx(device.flops_per_second, rel=1e-4)
