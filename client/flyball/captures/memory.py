"""The memory of a training: facts of the process, the largest tensors, and PyTorch's own snapshot.

Only sizes, shapes and kinds of tensors are read, never their values.
"""

import gc
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flyball.captures.capture_run import CaptureRun
from flyball.captures.delivery import write_json
from flyball.training.loaded_modules import initialised_cuda, loaded

SCAN_SECONDS = 0.5
"""The training waits meanwhile."""

MOST_TENSORS = 50
_CHECK_EVERY = 4096
_KIB = 1024


class MemoryCapture:
    """A recorder that needs no step."""

    steps = 0

    def begin(self, run: CaptureRun) -> None:
        """Do nothing: everything is read at once."""

    def step(self, run: CaptureRun) -> bool:  # noqa: ARG002  the signature of recorders
        """Return True: it needs no step."""
        return True

    def end(self, folder: Path) -> tuple[Path, str]:
        """Write what takes memory now."""
        facts = memory_facts()
        path = folder / "memory.json.gz"
        write_json(path, facts)
        cut = "" if facts["tensors"]["complete"] else f"Not all objects were looked at within {SCAN_SECONDS:g} s."
        return path, cut

    def abort(self) -> None:
        """Do nothing."""


def memory_facts() -> dict[str, Any]:
    """Return the facts. What is unknown is None."""
    return {
        "time": time.time(),
        "process": {**_rollup(), "open_files": _count("/proc/self/fd"), "threads": _count("/proc/self/task")},
        "python": {
            "garbage_counts": gc.get_count(),
            "garbage_thresholds": gc.get_threshold(),
            "collections": gc.get_stats(),
        },
        "tensors": _tensors(),
        "cuda": _cuda(),
    }


def _rollup() -> dict[str, int]:
    """Return the sums of the kernel over all mappings, in bytes."""
    found = {}
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            for line in file:
                words = line.split()
                if len(words) == 3 and words[2] == "kB":
                    found[f"{words[0].rstrip(':').lower()}_bytes"] = int(words[1]) * _KIB
    except OSError:
        return found
    return found


def _count(folder: str) -> int | None:
    try:
        return len(os.listdir(folder))  # noqa: PTH208  the names are not used
    except OSError:
        return None


def _tensors() -> dict[str, Any]:
    """Return the largest tensors. Several views of one storage count once."""
    torch = loaded("torch")
    if torch is None:
        return {"complete": True, "largest": [], "bytes_by_device": {}}
    began, complete = time.monotonic(), True
    storages: dict[tuple[str, int], dict[str, Any]] = {}
    for place, each in enumerate(gc.get_objects()):
        if place % _CHECK_EVERY == 0 and time.monotonic() - began > SCAN_SECONDS:
            complete = False
            break
        if issubclass(type(each), torch.Tensor):
            _add(storages, each)
    largest = sorted(storages.values(), key=lambda found: -found["bytes"])
    return {"complete": complete, "largest": largest[:MOST_TENSORS], "bytes_by_device": _by_device(largest)}


def _add(storages: dict[tuple[str, int], dict[str, Any]], tensor: Any) -> None:
    try:
        storage = tensor.untyped_storage()
        key = (str(tensor.device), storage.data_ptr())
        if key not in storages:
            storages[key] = {
                "bytes": storage.nbytes(),
                "shape": list(tensor.shape),
                "dtype": str(tensor.dtype),
                "device": key[0],
                "parameter": bool(tensor.requires_grad and tensor.is_leaf),
            }
    except Exception:  # noqa: BLE001  tensors without storage: sparse, fake and functional ones
        return


def _by_device(found: Iterable[dict[str, Any]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for each in found:
        sums[each["device"]] = sums.get(each["device"], 0) + each["bytes"]
    return sums


def _cuda() -> dict[str, Any] | None:
    """Return PyTorch's statistics and snapshot of its allocator; None without CUDA."""
    cuda = initialised_cuda()
    if cuda is None:
        return None
    devices = range(cuda.device_count())
    return {
        "statistics": {str(device): dict(cuda.memory_stats(device)) for device in devices},
        "snapshot": cuda.memory._snapshot(),
    }
