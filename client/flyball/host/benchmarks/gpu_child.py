"""Measures the GPUs with PyTorch in a process of its own, and prints one JSON document for each of them.

A document is printed as soon as its GPU is measured: if the next one hangs, the first is not lost.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

SECONDS = 0.2  # for each measured operation
FIRST_SIZE, LAST_SIZE = 1024, 8192
LONG_ENOUGH_SECONDS = 2e-3
"""A product that takes this long is not limited by the start of its kernel (some 10 µs). From here on a larger one is
not tried: without units for a precision, one of 8,192 rows would take half a minute."""

COPY_BYTES = 256 * 2**20
"""Larger than the caches of all GPUs so far (B200: 126 MB)."""

NEEDED_BYTES = 2 * 2**30
"""Free memory for the matrices, the copies and PyTorch itself. Trainings that run here keep theirs."""

LEAST = {"tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9), "int8": (7, 5)}
"""The compute capabilities that have these precisions in their tensor cores (CUDA C++ Programming Guide)."""

FAILURES = (RuntimeError, NotImplementedError, AssertionError, AttributeError, TypeError, ValueError)
"""What PyTorch raises where a device has no such operation, has no memory left, or has failed."""

Run = Callable[[], Any]
Maker = Callable[[int], Run]


def main() -> int:
    """Print the documents."""
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the driver's order; CUDA's own is by speed
    try:
        import torch
    except Exception as error:  # noqa: BLE001  a broken installation raises anything
        return _print(reason=f"PyTorch cannot be imported: {error}".splitlines()[0])
    if not torch.cuda.is_available():
        return _print(reason=without_cuda(torch))
    left_out = set(filter(None, sys.argv[1:]))
    for index in range(torch.cuda.device_count()):
        document = measured_or_reason(torch, index, left_out)
        _print(**document)
    return 0


def _print(**document: object) -> int:
    print(json.dumps(document), flush=True)
    return 0


def without_cuda(torch: Any) -> str:
    """Return why PyTorch cannot use a GPU."""
    version = getattr(torch, "version", None)
    if not (getattr(version, "cuda", None) or getattr(version, "hip", None)):
        return "the installed PyTorch is built for CPUs only"
    return "PyTorch finds no GPU that it can use: see `nvidia-smi`, and whether its CUDA is newer than the driver's"


def measured_or_reason(torch: Any, index: int, left_out: set[str]) -> dict[str, Any]:
    """Return the speed of one GPU, or why it was not measured. A GPU that fails does not cost the others."""
    try:
        properties = torch.cuda.get_device_properties(index)
        uuid = str(getattr(properties, "uuid", "") or "")  # since PyTorch 2.4
        if uuid and any(uuid in each for each in left_out):
            return {"reason": f"GPU {index} is in use by other programs"}
        free = torch.cuda.mem_get_info(index)[0]
        if free < NEEDED_BYTES:
            return {"reason": f"GPU {index} has only {free / 2**30:.1f} GiB of free memory, 2 are needed"}
        with torch.cuda.device(index):
            speed = measure(torch, torch.device("cuda", index), precisions(torch, index))
    except FAILURES as error:
        return {"reason": f"GPU {index}: {str(error).strip().splitlines()[0] if str(error).strip() else error!r}"[:300]}
    return {"gpu": {"index": index, "model": properties.name, **speed}, "uuid": uuid}


def precisions(torch: Any, index: int) -> set[str]:
    """Return the precisions to try: those of the tensor cores by the compute capability, on ROCm all."""
    names = set(PRODUCTS)
    if getattr(torch.version, "hip", None):
        return names
    capability = torch.cuda.get_device_capability(index)
    return {name for name in names if capability >= LEAST.get(name, (0, 0))}


def measure(torch: Any, device: Any, names: set[str], *, copy_bytes: int = COPY_BYTES) -> dict[str, Any]:
    """Return the rates of one device. `device` may be the CPU, so that tests run all of this."""
    rates = {}
    for name, make in PRODUCTS.items():
        rate = product_rate(torch, device, partial(make, torch, device)) if name in names else None
        if rate is not None:
            rates[name] = rate / 1e12
        release(torch, device)
    copies = copy_rates(torch, device, copy_bytes)
    release(torch, device)
    return {"matmul_tflops": rates, **copies}


def release(torch: Any, device: Any) -> None:
    """Give the memory of the last operation back to the device."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def product_rate(torch: Any, device: Any, make: Maker, last_size: int = LAST_SIZE) -> float | None:
    """Return the FLOP/s of square products, the larger the faster the device; None if it has no such product."""
    rate, size = None, FIRST_SIZE
    try:
        while size <= last_size:
            calls = calls_per_second(torch, device, make(size))
            rate = max(rate or 0.0, 2 * size**3 * calls)
            if calls * LONG_ENOUGH_SECONDS < 1:
                break
            size *= 2
    except FAILURES:
        return rate  # a smaller one may have run
    return rate


def _plain(torch: Any, device: Any, size: int, kind: Any) -> Run:
    left, right = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    return lambda: torch.matmul(left, right)


def _single(torch: Any, device: Any, size: int, *, tf32: bool) -> Run:
    run = _plain(torch, device, size, torch.float32)

    def call() -> Any:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        return run()

    return call


def _fp8(torch: Any, device: Any, size: int) -> Run:
    """Return a product as torchao makes it: with one scale for each matrix, and the second one by columns."""
    one = torch.ones((), device=device)
    left, right = (torch.randn(size, size, device=device).to(torch.float8_e4m3fn) for _ in range(2))
    return lambda: torch._scaled_mm(left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def _int8(torch: Any, device: Any, size: int) -> Run:
    """Return a product of random numbers: equal ones need less power, so that the clock would be higher."""
    left, right = (torch.randint(-127, 128, (size, size), device=device, dtype=torch.int8) for _ in range(2))
    return lambda: torch._int_mm(left, right.t())


PRODUCTS: dict[str, Callable[[Any, Any, int], Run]] = {
    "fp32": lambda torch, device, size: _single(torch, device, size, tf32=False),
    "tf32": lambda torch, device, size: _single(torch, device, size, tf32=True),
    "fp16": lambda torch, device, size: _plain(torch, device, size, torch.float16),
    "bf16": lambda torch, device, size: _plain(torch, device, size, torch.bfloat16),
    "fp8": _fp8,
    "int8": _int8,
}


def copy_rates(torch: Any, device: Any, size: int) -> dict[str, float]:
    """Return the GB/s of copies to, from and within the device: from page-locked memory, and from usual memory."""
    near, far = (torch.empty(size, dtype=torch.uint8, device=device) for _ in range(2))
    usual = torch.ones(size, dtype=torch.uint8)  # written, so that the kernel has given it pages
    moved = size / 1e9
    rates = {
        "device_memory_gb_per_second": 2 * moved * calls_per_second(torch, device, lambda: far.copy_(near)),
        "pageable_to_device_gb_per_second": moved * calls_per_second(torch, device, lambda: near.copy_(usual)),
    }
    try:
        locked = torch.empty(size, dtype=torch.uint8, pin_memory=device.type == "cuda")
    except FAILURES:  # such memory may be limited
        return rates
    to, back = (lambda: near.copy_(locked, non_blocking=True)), (lambda: locked.copy_(near, non_blocking=True))
    rates["host_to_device_gb_per_second"] = moved * calls_per_second(torch, device, to)
    rates["device_to_host_gb_per_second"] = moved * calls_per_second(torch, device, back)
    return rates


def calls_per_second(torch: Any, device: Any, run: Run) -> float:
    """Return the calls per second on the device, after some that load the kernel and raise the clock."""
    once = min(seconds_of(torch, device, run, 1) for _ in range(2))  # the first one also loads the kernel
    seconds_of(torch, device, run, _count(once, SECONDS / 4))
    count = _count(once, SECONDS)
    return count / max(seconds_of(torch, device, run, count), 1e-9)


def _count(once: float, seconds: float) -> int:
    return max(1, min(1_000, int(seconds / max(once, 1e-6))))


def seconds_of(torch: Any, device: Any, run: Run, count: int) -> float:
    """Return the seconds of some calls: by the device's own clock, so that the starts of kernels do not count."""
    if device.type != "cuda":
        started = time.perf_counter()
        for _ in range(count):
            run()
        return time.perf_counter() - started
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize(device)
    begin.record()
    for _ in range(count):
        run()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


if __name__ == "__main__":
    sys.exit(main())
