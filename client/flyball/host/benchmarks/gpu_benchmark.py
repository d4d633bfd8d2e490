"""Matrix products and copies on the GPUs by PyTorch, in a child process: torch is never imported into this one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.hardware_parts import GpuSpeed, HostGpu
from flyball.host.software import torch_build

SECONDS_FIRST, SECONDS_EACH = 60.0, 5.0
"""Importing torch and starting CUDA takes up to half a minute from a cold disk; a GPU takes about two seconds."""

CHILD = ("-m", "flyball.host.benchmarks.gpu_child")


def measure_gpus(gpus: Sequence[HostGpu], *, command: Sequence[str] | None = None) -> tuple[GpuSpeed, ...]:
    """Return the speed of each GPU that PyTorch can use. Raise BenchmarkFailed with the reason if there is none."""
    if find_spec("torch") is None:
        raise BenchmarkFailed("PyTorch is not installed in this environment; it measures GPUs")
    if command is None and torch_build() == "cpu":
        raise BenchmarkFailed("the installed PyTorch is built for CPUs only")
    document = _run(command or (sys.executable, *CHILD), SECONDS_FIRST + SECONDS_EACH * len(gpus))
    if reason := document.get("reason"):
        raise BenchmarkFailed(str(reason))
    return tuple(GpuSpeed(**each) for each in document["gpus"])


def _run(command: Sequence[str], seconds: float) -> dict[str, Any]:
    """Run the child to its end and return the last line that it printed. It never outlives this call."""
    child = subprocess.Popen(
        list(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise BenchmarkFailed(f"the GPUs were not measured within {seconds:g} s") from None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    lines = output.strip().splitlines()
    try:
        document = json.loads(lines[-1]) if lines else {}
    except ValueError:
        document = {}
    if not isinstance(document, dict) or not {"gpus", "reason"} & document.keys():
        last = (errors.strip().splitlines() or [f"exit status {child.returncode}"])[-1]
        raise BenchmarkFailed(f"PyTorch failed: {last[:200]}")
    return document
