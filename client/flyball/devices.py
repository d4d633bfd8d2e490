"""`flyball.device`: the device for a rank, tested by a small computation, and the CPU where the owner allows it.

A lost or broken GPU often shows itself only at the first allocation. A context that was lost does not come back within
its process, so the choice is made once, at the start.
"""

from __future__ import annotations

import os
import sys

from flyball.training.loaded_modules import loaded
from flyball.training.opening import current_run
from flyball.training.texts import MAX_RANK, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CPU = "cpu"
FALLBACK = "FLYBALL_DEVICE_FALLBACK"
_LABELS = "FLYBALL_LABELS"
_LABEL = "cpu (fallback)"

_LOCAL_RANKS = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK")
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_DEVICE_FILES = ("/dev/nvidiactl", "/dev/kfd")  # of the drivers of NVIDIA and AMD; they stay when a GPU is lost


class DeviceFailure(RuntimeError):
    """The accelerator of this host cannot be used."""


def device(fallback: str | None = None) -> str:
    """Return the device of this rank: `cuda:N`, `cuda`, `xpu`, `mps` or `cpu`. A small computation has tested it.

    A host without an accelerator has the CPU. If it has one that does not work, raise DeviceFailure; with
    `fallback="cpu"`, or FLYBALL_DEVICE_FALLBACK=cpu, print a warning and return the CPU. PyTorch must be imported.
    """
    torch = loaded("torch")
    if torch is None:
        raise DeviceFailure("flyball.device: import torch before this call; it returns a device of PyTorch")
    chosen = fallback if fallback is not None else os.environ.get(FALLBACK) or None
    if chosen not in {None, CPU}:
        raise ValueError(f'flyball.device: fallback={chosen!r}: only "{CPU}" is possible')
    try:
        found = find_device(torch, os.environ)
        compute_on(torch, found)
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        if chosen is None:
            raise DeviceFailure(
                f"flyball.device: {reason}. Check the GPU, for example with `nvidia-smi`. "
                f'To train on the CPU then, pass fallback="cpu" or set {FALLBACK}=cpu.'
            ) from error
        print(f"flyball: {reason}; this rank trains on the CPU", file=sys.stderr, flush=True)
        _label_run()
        return CPU
    return found


def find_device(torch: Any, environment: Mapping[str, str]) -> str:
    """Return the name of the accelerator for this rank. Raise DeviceFailure if there should be one and is none."""
    if torch.cuda.is_available():
        return _of_rank("cuda", torch.cuda.device_count(), environment)
    if getattr(torch, "xpu", None) is not None and torch.xpu.is_available():
        return _of_rank("xpu", torch.xpu.device_count(), environment)
    if getattr(torch.backends, "mps", None) is not None and torch.backends.mps.is_available():
        return "mps"
    if _expects_gpu(torch, environment):
        raise DeviceFailure("this host has a GPU, but PyTorch cannot use it")
    return CPU


def compute_on(torch: Any, name: str) -> None:
    """Compute something on a device and wait for it. What is wrong is raised."""
    if int((torch.ones(2, device=name) + 1).sum().item()) != 4:
        raise DeviceFailure(f"{name} computes wrong results")


def _of_rank(kind: str, count: int, environment: Mapping[str, str]) -> str:
    rank = next((found for name in _LOCAL_RANKS if (found := _number(environment, name)) is not None), None)
    if rank is None:
        return kind
    if rank < count:
        return f"{kind}:{rank}"
    if count == 1 and any(environment.get(name) for name in _VISIBLE):
        return f"{kind}:0"  # the launcher shows each rank its own
    raise DeviceFailure(f"this rank is number {rank} of its host, counted from 0, but only {count} GPUs are visible")


def _number(environment: Mapping[str, str], name: str) -> int | None:
    return whole_number(environment.get(name, ""), MAX_RANK)


def _expects_gpu(torch: Any, environment: Mapping[str, str]) -> bool:
    """Return True if this PyTorch is built for GPUs, and a driver is loaded here. An owner may have hidden all GPUs."""
    version = getattr(torch, "version", None)
    built = getattr(version, "cuda", None) or getattr(version, "hip", None)
    hidden = any(environment.get(name) in {"", "-1"} for name in _VISIBLE)
    return bool(built) and not hidden and any(os.path.exists(file) for file in _DEVICE_FILES)  # noqa: PTH110  pathlib takes 7 ms to import


def _label_run() -> None:
    """Label the run, which may be open already or not."""
    run = current_run()
    if run is not None:
        run.describe(labels={"device": _LABEL})
        return
    others = os.environ.get(_LABELS, "")
    os.environ[_LABELS] = f"{others},device={_LABEL}" if others else f"device={_LABEL}"
