"""The benchmark of GPUs: its child process, and what happens without PyTorch or a GPU."""

import json
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.benchmarks.gpu_benchmark import CHILD, in_use, measure_gpus
from flyball.host.hardware_parts import GIB, GpuSpeed, HostGpu
from flyball.host.software import torch_build

if TYPE_CHECKING:
    from flyball.host.reasons import Reasons

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")

MEASURED = {"index": 0, "model": "X", "matmul_tflops": {"bf16": 700.5}, "host_to_device_gb_per_second": 50.0}
RESULT = json.dumps({"gpu": MEASURED, "uuid": "1f-2"})

CHILD_WITHOUT_A_DRIVER = """
import json, sys
from types import SimpleNamespace
import torch
from flyball.host.benchmarks import gpu_child
gpu_child.SECONDS, gpu_child.FIRST_SIZE = 0.01, 64
found = gpu_child.measure(torch, torch.device("cpu"), {"fp32", "tf32", "bf16", "fp8"}, copy_bytes=2**20)
print(json.dumps({"gpu": {"index": 0, "model": "CPU", **found}}))
torch.cuda.is_available = lambda: False
gpu_child.main()

sys.argv = ["gpu_child", "GPU-busy"]
names = ["busy", "full", "broken"]
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: len(names)
torch.cuda.get_device_properties = lambda index: SimpleNamespace(name="X", uuid=names[index])
torch.cuda.mem_get_info = lambda index: (2**29 if names[index] == "full" else 2**40, 2**40)
torch.cuda.get_device_capability = lambda index: (9, 0)
gpu_child.main()
"""
"""All of the child on the CPU; then the driver's answers of a machine with three GPUs, on which computing fails."""


def printing(text: str) -> list[str]:
    """Return a child that prints a text."""
    return [sys.executable, "-c", f"print({text!r})"]


@needs_torch
def test_the_childs_document_becomes_the_speed_of_each_gpu() -> None:
    """Warnings that a library prints before it do not matter."""
    reasons: Reasons = {}
    late = json.dumps({"reason": "GPU 1: CUDA error"})
    found = measure_gpus([HostGpu(index=0)], reasons, command=printing(f"a warning\n{RESULT}\n{late}"))
    assert reasons == {"benchmarks.gpus.left_out": "GPU 1: CUDA error"}
    assert found == (GpuSpeed(index=0, model="X", matmul_tflops={"bf16": 700.5}, host_to_device_gb_per_second=50.0),)


@needs_torch
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (printing('{"reason": "GPU 0 has only 0.5 GiB of free memory, 2 are needed"}'), "0.5 GiB"),
        (printing("no document"), "PyTorch failed: exit status 0"),
        ([sys.executable, "-c", "raise SystemExit('CUDA driver is broken')"], "CUDA driver is broken"),
    ],
)
def test_a_child_that_cannot_measure_gives_the_reason(command: list[str], reason: str) -> None:
    """Its own reason, or the last line of its errors."""
    with pytest.raises(BenchmarkFailed, match=reason):
        measure_gpus([], command=command)


@needs_torch
def test_speeds_belong_to_the_drivers_index_of_the_card() -> None:
    """PyTorch counts only the GPUs that it may see, and in an order of its own."""
    gpus = [HostGpu(index=0, uuid="GPU-other"), HostGpu(index=3, uuid="GPU-1f-2")]
    assert [each.index for each in measure_gpus(gpus, command=printing(RESULT))] == [3]


@needs_torch
def test_gpus_that_others_use_are_not_measured() -> None:
    """Their training would become slower; without any other GPU, no child is started."""
    used = HostGpu(index=0, uuid="GPU-1", memory_bytes=80 * GIB, memory_used_bytes=60 * GIB)
    assert in_use(used)
    assert not in_use(HostGpu(index=0, memory_bytes=12 * GIB, memory_used_bytes=GIB))
    assert not in_use(HostGpu(index=0, memory_bytes=80 * GIB))
    with pytest.raises(BenchmarkFailed, match="other programs use all GPUs"):
        measure_gpus([used], command=["/does/not/exist"])


@needs_torch
def test_products_and_copies_are_measured_and_a_gpu_that_fails_does_not_cost_the_others() -> None:
    """A precision that the device does not have is left out; each GPU that is not measured has its own reason."""
    reasons: Reasons = {}
    (found,) = measure_gpus([], reasons, command=[sys.executable, "-c", CHILD_WITHOUT_A_DRIVER])
    assert {"fp32", "bf16"} <= found.matmul_tflops.keys() <= {"fp32", "tf32", "bf16", "fp8"}
    assert all(rate > 0 for rate in found.matmul_tflops.values())
    copies = (
        found.host_to_device_gb_per_second, found.pageable_to_device_gb_per_second,
        found.device_to_host_gb_per_second, found.device_memory_gb_per_second,
    )  # fmt: skip
    assert all(rate is not None and rate > 0 for rate in copies)
    none, busy, full, broken = reasons["benchmarks.gpus.left_out"].split("; ")
    assert "PyTorch" in none
    assert busy == "GPU 0 is in use by other programs"
    assert full == "GPU 1 has only 0.5 GiB of free memory, 2 are needed"
    assert broken.startswith("GPU 2: ")


@needs_torch
def test_a_child_that_hangs_is_ended_at_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost GPU may hang it forever; what was measured before is kept."""
    monkeypatch.setattr("flyball.host.benchmarks.gpu_benchmark.SECONDS_FIRST", 0.3)
    hangs = "import time; time.sleep(60)"
    started = time.monotonic()
    with pytest.raises(BenchmarkFailed, match="not measured within"):
        measure_gpus([], command=[sys.executable, "-c", hangs])
    monkeypatch.setattr("flyball.host.benchmarks.gpu_benchmark.SECONDS_FIRST", 3.0)
    reasons: Reasons = {}
    found = measure_gpus([], reasons, command=[sys.executable, "-c", f"print({RESULT!r}, flush=True); {hangs}"])
    assert [each.model for each in found] == ["X"]
    assert "not measured within" in reasons["benchmarks.gpus.left_out"]
    assert time.monotonic() - started < 50


def test_without_pytorch_the_reason_is_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """No child is started."""
    monkeypatch.setattr("flyball.host.benchmarks.gpu_benchmark.find_spec", lambda _: None)
    with pytest.raises(BenchmarkFailed, match="PyTorch is not installed"):
        measure_gpus([], command=["/does/not/exist"])


@needs_torch
def test_a_build_for_cpus_is_recognised_without_a_child() -> None:
    """Importing PyTorch takes seconds; its file of versions has the answer."""
    if torch_build() != "cpu":
        pytest.skip("the installed PyTorch is built for GPUs")
    started = time.monotonic()
    with pytest.raises(BenchmarkFailed, match="built for CPUs only"):
        measure_gpus([])
    assert time.monotonic() - started < 2


@needs_torch
@pytest.mark.skipif(torch_build() == "cpu", reason="the installed PyTorch is built for CPUs only")
def test_the_real_child_measures_each_gpu_or_gives_its_reason() -> None:
    """Without a GPU the reason is that of PyTorch; with one there are rates."""
    try:
        found = measure_gpus([], command=[sys.executable, *CHILD])
    except BenchmarkFailed as error:
        assert "PyTorch" in str(error) or "GPU" in str(error)  # noqa: PT017  either end is right
    else:
        assert all(gpu.matmul_tflops["fp32"] > 0.1 for gpu in found)
