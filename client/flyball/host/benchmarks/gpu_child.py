"""Measures the GPUs with PyTorch and prints one JSON document. It runs in a process of its own."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

SECONDS = 0.2  # for each measured operation
SIZE = 8192
COPY_BYTES = 256 * 2**20
NEEDED_BYTES = 2 * 2**30
"""Free memory for the matrices, the copies and PyTorch itself. Trainings that run here keep theirs."""

LEAST = {"tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9), "int8": (7, 5)}
"""The compute capabilities that have these precisions in their tensor cores (CUDA C++ Programming Guide)."""

Run = Callable[[], Any]


def main() -> int:
    """Print the document."""
    try:
        import torch
    except Exception as error:  # noqa: BLE001  a broken installation raises anything
        print(json.dumps({"reason": f"PyTorch cannot be imported: {error}".splitlines()[0]}))
        return 0
    if not torch.cuda.is_available():
        print(json.dumps({"reason": without_cuda(torch)}))
        return 0
    gpus, reasons = [], []
    for index in range(torch.cuda.device_count()):
        free = torch.cuda.mem_get_info(index)[0]
        if free < NEEDED_BYTES:
            reasons.append(f"GPU {index} has only {free / 2**30:.1f} GiB of free memory, 2 are needed")
            continue
        gpus.append(measure(torch, index))
    print(json.dumps({"gpus": gpus} if gpus else {"reason": "; ".join(reasons)}))
    return 0


def without_cuda(torch: Any) -> str:
    """Return why PyTorch cannot use a GPU."""
    version = getattr(torch, "version", None)
    if not (getattr(version, "cuda", None) or getattr(version, "hip", None)):
        return "the installed PyTorch is built for CPUs only"
    return "PyTorch finds no GPU that it can use: see `nvidia-smi`, and whether its CUDA is newer than the driver's"


def measure(torch: Any, index: int) -> dict[str, Any]:
    """Return the speed of one GPU."""
    device = torch.device("cuda", index)
    with torch.cuda.device(device):
        document = {
            "index": index,
            "model": torch.cuda.get_device_name(index),
            "matmul_tflops": matmul_rates(torch, device),
            **copy_rates(torch, device),
        }
        torch.cuda.empty_cache()
    return document


def matmul_rates(torch: Any, device: Any) -> dict[str, float]:
    """Return TFLOP/s by precision. A precision that the card or PyTorch does not have is left out."""
    rates = {}
    for name, make in products(torch, device).items():
        try:
            rates[name] = 2 * SIZE**3 * calls_per_second(torch, make()) / 1e12
        except (RuntimeError, NotImplementedError, AttributeError, TypeError, ValueError):
            continue
        finally:
            torch.cuda.empty_cache()
    return rates


def products(torch: Any, device: Any) -> dict[str, Callable[[], Run]]:
    """Return for each precision of the card a function that makes a matrix product to run."""
    on_nvidia = not getattr(torch.version, "hip", None)
    capability = torch.cuda.get_device_capability(device) if on_nvidia else (0, 0)
    makers: dict[str, Callable[[], Run]] = {
        "fp32": lambda: _single(torch, device, tf32=False),
        "tf32": lambda: _single(torch, device, tf32=True),
        "fp16": lambda: _plain(torch, device, torch.float16),
        "bf16": lambda: _plain(torch, device, torch.bfloat16),
        "fp8": lambda: _fp8(torch, device),
        "int8": lambda: _int8(torch, device),
    }
    return {name: make for name, make in makers.items() if not on_nvidia or capability >= LEAST.get(name, (0, 0))}


def _plain(torch: Any, device: Any, kind: Any) -> Run:
    left, right = (torch.randn(SIZE, SIZE, device=device).to(kind) for _ in range(2))
    return lambda: torch.matmul(left, right)


def _single(torch: Any, device: Any, *, tf32: bool) -> Run:
    run = _plain(torch, device, torch.float32)

    def call() -> Any:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        return run()

    return call


def _fp8(torch: Any, device: Any) -> Run:
    """Return a product as torchao makes it: with one scale for each matrix, and the second one by columns."""
    one = torch.ones((), device=device)
    left, right = (torch.randn(SIZE, SIZE, device=device).to(torch.float8_e4m3fn) for _ in range(2))
    return lambda: torch._scaled_mm(left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def _int8(torch: Any, device: Any) -> Run:
    left, right = (torch.ones(SIZE, SIZE, device=device, dtype=torch.int8) for _ in range(2))
    return lambda: torch._int_mm(left, right.t())


def copy_rates(torch: Any, device: Any) -> dict[str, float]:
    """Return the GB/s of copies to, from and within the device."""
    host = torch.empty(COPY_BYTES, dtype=torch.uint8, pin_memory=True)
    near, far = (torch.empty(COPY_BYTES, dtype=torch.uint8, device=device) for _ in range(2))
    moved = COPY_BYTES / 1e9
    return {
        "host_to_device_gb_per_second": moved * calls_per_second(torch, lambda: near.copy_(host, non_blocking=True)),
        "device_to_host_gb_per_second": moved * calls_per_second(torch, lambda: host.copy_(near, non_blocking=True)),
        "device_memory_gb_per_second": 2 * moved * calls_per_second(torch, lambda: far.copy_(near)),
    }


def calls_per_second(torch: Any, run: Run) -> float:
    """Return the calls per second on the device, after a first one that loads the kernel."""
    run()
    torch.cuda.synchronize()
    started = time.perf_counter()
    run()
    torch.cuda.synchronize()
    count = max(1, min(1_000, int(SECONDS / max(time.perf_counter() - started, 1e-6))))
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(count / (begin.elapsed_time(end) / 1e3))


if __name__ == "__main__":
    sys.exit(main())
