"""Tests of hardware in plain units: FLOP/s, GB, GB/s and dollars."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball_planner.api import plan
from flyball_planner.catalogue.devices import REGISTRY, find_device, register_hardware
from flyball_planner.catalogue.document import PROGRAM
from flyball_planner.catalogue.entries import BadEntry
from flyball_planner.catalogue.files import load_hardware
from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.precision import NumberFormat
from flyball_reports.errors import InputError

VALUES = {
    "type": "gpu", "peak_flops": 50e12, "peak_flops_fp16": 100e12, "mem_gb": 64, "vram_gb": 24, "bandwidth_gbps": 900,
    "cost_per_hour": 2.00,
}  # fmt: skip


@pytest.fixture(autouse=True)
def original_catalogue() -> Iterator[None]:
    """Remove all registered hardware after each test."""
    yield
    REGISTRY.clear()


def test_the_printed_call_registers_a_device() -> None:
    """Each value of the documented call reaches the device in its unit."""
    exec(PROGRAM, {"register_hardware": register_hardware})  # noqa: S102  trusted code
    made = find_device("my_custom_gpu")
    assert made == register_hardware("my_custom_gpu", VALUES)
    assert made.kind is DeviceKind.GPU
    assert (made.rate(NumberFormat.FP32), made.rate(NumberFormat.FP16)) == (50e12, 100e12)
    assert (made.memory_bytes, made.host_memory_bytes) == (24 * 2**30, 64 * 2**30)
    assert (made.memory_bytes_per_second, made.usd_per_hour) == (900e9, 2.0)


def test_a_plan_uses_the_device_and_its_price() -> None:
    """Memory, host memory and price of the device are those of the plan, unless the specification has a price."""
    register_hardware("my_custom_gpu", VALUES)
    training = {"batch_size": 32, "steps": 100, "precision": "fp16"}
    made = plan(model="gpt2", hardware="my_custom_gpu", training=training)
    assert (made.hardware.device, made.memory.capacity_bytes) == ("my_custom_gpu", 24 * 2**30)
    assert made.cost.cost_usd is not None
    assert made.cost.cost_usd.middle == pytest.approx(2.0 * made.cost.device_hours.middle)
    other = plan(model="gpt2", hardware="my_custom_gpu", training=training, cost={"usd_per_device_hour": 3})
    assert other.cost.cost_usd is not None
    assert other.cost.cost_usd.middle == pytest.approx(3.0 * other.cost.device_hours.middle)


def test_a_processor_has_one_memory() -> None:
    """The memory of a processor is that of its host."""
    made = register_hardware("My CPU", {"type": "CPU", "peak_flops": 1e12, "mem_gb": 32, "bandwidth_gbps": 50})
    assert (made.kind, made.memory_bytes) == (DeviceKind.CPU, 32 * 2**30)


def test_files_may_have_plain_units_and_groups(tmp_path: Path) -> None:
    """Devices of a file may be groups with their names, in plain units."""
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"devices": {"my_custom_gpu": VALUES}}), encoding="utf-8")
    assert load_hardware(file) == (register_hardware("my_custom_gpu", VALUES),)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"peak_flops": "fast"}, r"peak_flops: expected FLOP/s of at least 1e\+09, such as 50e12.*, not 'fast'"),
        ({"peak_flops": 50}, r"peak_flops: expected FLOP/s of at least 1e\+09.*, not '50'"),
        ({"vram_gb": -1}, "vram_gb: expected a number above 0, in GB, not '-1'"),
        ({"vram_gb": None}, r"vram_gb: is missing; expected the memory of the device in GB \(mem_gb is that"),
        ({"bandwidth_gbps": None}, "bandwidth_gbps: is missing; expected a number above 0, in GB/s"),
        ({"bandwidth_gbps": float("nan")}, "bandwidth_gbps: expected a number above 0, in GB/s, not 'nan'"),
        ({"peak_flops": None, "peak_flops_fp16": None}, "peak_flops: is missing; expected FLOP/s"),
        ({"cost_per_hour": -2}, "cost_per_hour: expected a number of at least 0, in US dollars, not '-2'"),
        ({"type": "gpuu"}, "type: expected one of gpu, tpu, cpu, unified, not 'gpuu'"),
        ({"vramgb": 24}, r"vramgb: unknown key; did you mean 'vram_gb'\?"),
        ({"memory_gib": 32}, "memory_gib: contradicts vram_gb; keep one of them"),
        ({"name": "another"}, "its values have another name, 'another'"),
    ],
)
def test_faults_name_the_key_and_what_was_expected(changed: dict[str, object], message: str) -> None:
    """A fault has the device, the key as it was written, and the expected value; nothing is registered."""
    values = {key: value for key, value in {**VALUES, **changed}.items() if value is not None}
    with pytest.raises(InputError, match=message) as caught:
        register_hardware("my_custom_gpu", values)
    assert "register_hardware('my_custom_gpu')" in str(caught.value)
    assert not REGISTRY.added


def test_a_name_needs_values() -> None:
    """A name alone is an error with an example."""
    with pytest.raises(InputError, match="expected its values as a dictionary"):
        register_hardware("my_custom_gpu")
    with pytest.raises(BadEntry, match="name: is missing"):
        register_hardware({"peak_flops": 1e12, "vram_gb": 1, "bandwidth_gbps": 1})
