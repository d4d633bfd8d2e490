"""The benchmark of GPUs: its child process, and what happens without PyTorch or a GPU."""

import sys
import time
from importlib.util import find_spec

import pytest

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.benchmarks.gpu_benchmark import CHILD, measure_gpus
from flyball.host.hardware_parts import GpuSpeed, HostGpu
from flyball.host.software import torch_build

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
RESULT = (
    '{"gpus": [{"index": 0, "model": "X", "matmul_tflops": {"bf16": 700.5}, "host_to_device_gb_per_second": 50.0}]}'
)


def printing(text: str) -> list[str]:
    """Return a child that prints a text."""
    return [sys.executable, "-c", f"print({text!r})"]


@needs_torch
def test_the_childs_document_becomes_the_speed_of_each_gpu() -> None:
    """Warnings that a library prints before it do not matter."""
    found = measure_gpus([HostGpu(index=0)], command=printing(f"a warning\n{RESULT}"))
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
def test_a_child_that_hangs_is_ended_at_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost GPU may hang it forever."""
    monkeypatch.setattr("flyball.host.benchmarks.gpu_benchmark.SECONDS_FIRST", 0.3)
    started = time.monotonic()
    with pytest.raises(BenchmarkFailed, match="not measured within"):
        measure_gpus([], command=[sys.executable, "-c", "import time; time.sleep(60)"])
    assert time.monotonic() - started < 30


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
def test_the_real_child_measures_or_gives_its_reason() -> None:
    """On a machine without a GPU the reason is that of PyTorch; with one there are rates."""
    try:
        found = measure_gpus([], command=[sys.executable, *CHILD])
    except BenchmarkFailed as error:
        assert "PyTorch" in str(error) or "GPU" in str(error)  # noqa: PT017  either end is right
    else:
        assert all(gpu.matmul_tflops["fp32"] > 0.1 for gpu in found)
