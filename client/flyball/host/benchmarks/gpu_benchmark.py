"""Matrix products and copies on the GPUs by PyTorch, in a child process: torch is never imported into this one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.hardware_parts import GpuSpeed, HostGpu
from flyball.host.reasons import Reasons
from flyball.host.software import torch_build

SECONDS_FIRST, SECONDS_EACH = 60.0, 8.0
"""Importing torch and starting CUDA takes up to half a minute from a cold disk; a GPU is expected to take 3 to 7 s."""

IN_USE_BYTES, IN_USE_SHARE = 1.5 * 2**30, 0.05
"""Memory of a GPU that others use: more than a desktop needs. Measuring would slow their training down."""

CHILD = ("-m", "flyball.host.benchmarks.gpu_child")


def measure_gpus(
    gpus: Sequence[HostGpu], reasons: Reasons | None = None, *, command: Sequence[str] | None = None
) -> tuple[GpuSpeed, ...]:
    """Return the speed of each GPU that PyTorch can use. Raise BenchmarkFailed with the reason if there is none.

    `reasons` receives those of single GPUs, beside others that were measured.
    """
    if find_spec("torch") is None:
        raise BenchmarkFailed("PyTorch is not installed in this environment; it measures GPUs")
    if command is None and torch_build() == "cpu":
        raise BenchmarkFailed("the installed PyTorch is built for CPUs only")
    busy = [each for each in gpus if in_use(each)]
    if gpus and len(busy) == len(gpus):
        raise BenchmarkFailed("other programs use all GPUs; measuring would slow them down")
    child = command or (sys.executable, *CHILD, *(each.uuid for each in busy if each.uuid))
    documents = _run(child, SECONDS_FIRST + SECONDS_EACH * len(gpus))
    found = tuple(_speed(each, gpus) for each in documents if "gpu" in each)
    why = [str(each["reason"]) for each in documents if "reason" in each]
    if not found:
        raise BenchmarkFailed("; ".join(why))
    if why and reasons is not None:
        reasons["benchmarks.gpus.left_out"] = "; ".join(why)
    return found


def in_use(gpu: HostGpu) -> bool:
    """Return True if other programs hold much of a GPU's memory."""
    used = gpu.memory_used_bytes or 0
    return used > IN_USE_BYTES and used > IN_USE_SHARE * (gpu.memory_bytes or 0)


def _speed(document: Mapping[str, Any], gpus: Sequence[HostGpu]) -> GpuSpeed:
    """Return the speed under the driver's index: PyTorch counts only the GPUs that it may see, in its own order."""
    speed, uuid = document["gpu"], str(document.get("uuid") or "")
    index = next((each.index for each in gpus if uuid and each.uuid and uuid in each.uuid), speed["index"])
    return GpuSpeed(**{**speed, "index": index})


def _run(command: Sequence[str], seconds: float) -> list[dict[str, Any]]:
    """Run the child to its end and return its documents. It never outlives this call."""
    child = subprocess.Popen(
        list(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        start_new_session=True,
    )  # fmt: skip
    late = ""
    try:
        output, errors = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        late = f"the GPUs were not measured within {seconds:g} s"
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    if late:
        output, errors = child.communicate()
    documents = [document for line in output.splitlines() if (document := _document(line)) is not None]
    if late:
        return [*documents, {"reason": late}]
    if documents:
        return documents
    last = (errors.strip().splitlines() or [f"exit status {child.returncode}"])[-1]
    return [{"reason": f"PyTorch failed: {last[:200]}"}]


def _document(line: str) -> dict[str, Any] | None:
    """Return the document of a line; libraries may print other lines."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"gpu", "reason"} & found.keys() else None
