"""Recognises errors of allocators, and the part of a step that raised them."""

from __future__ import annotations

from flyball.training.loaded_modules import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

TEXTS = (
    "out of memory",  # of CUDA, HIP, XPU, MPS and NPU; also as an error of the driver
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "HIPBLAS_STATUS_ALLOC_FAILED",
    "cudaErrorMemoryAllocation",
    "hipErrorOutOfMemory",
    "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",  # of XPU
    "UR_RESULT_ERROR_OUT_OF_RESOURCES",
    "RESOURCE_EXHAUSTED",  # of XLA
)
"""Parts of the messages of PyTorch 2.13 (c10/core/impl/alloc_cpu.cpp, c10/cuda, c10/xpu, aten/mps) and jaxlib."""

FORWARD = "forward"
BACKWARD = "backward"
OPTIMIZER = "optimizer"
REDUCTION = "reduction"
"""Parts of a step."""

_DISTRIBUTED = "nn/parallel/distributed.py"
_INPUTS = ("_to_kwargs", "_cast_forward_inputs")


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an allocator could not allocate. PyTorch raises RuntimeError for some of them."""
    if isinstance(error, MemoryError):
        return True
    kind = getattr(loaded("torch"), "OutOfMemoryError", None)
    if kind is not None and isinstance(error, kind):
        return True
    if not isinstance(error, RuntimeError):
        return False
    message = str(error)
    return any(text in message for text in TEXTS)


def part_of_step(error: BaseException) -> str:
    """Return the part of the step that raised an error, from the functions that it passed through."""
    found = FORWARD
    for code in _codes(error):
        path = code.co_filename.replace("\\", "/")
        if "/torch/optim/" in path:
            return OPTIMIZER
        if code.co_name == "_engine_run_backward" and path.endswith("torch/autograd/graph.py"):
            found = BACKWARD
    return found


def is_inside_collective(error: BaseException) -> bool:
    """Return True if DistributedDataParallel was exchanging buckets or buffers at the begin of a forward pass."""
    names = [code.co_name for code in _codes(error) if code.co_filename.replace("\\", "/").endswith(_DISTRIBUTED)]
    return "_pre_forward" in names and not any(code.co_name in _INPUTS for code in _codes(error))


def _codes(error: BaseException) -> Iterator[CodeType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code
        trace = trace.tb_next


def free_memory() -> None:
    """Give memory that nobody uses back to the device, so that other sizes of blocks can be allocated."""
    import gc

    gc.collect()  # frames of the failed pass may hold tensors in cycles
    torch = loaded("torch")
    for name in ("cuda", "xpu", "mps"):
        device = getattr(torch, name, None)
        try:
            if device is not None and _is_in_use(device, name):
                device.empty_cache()
        except Exception:  # noqa: BLE001, S112  it must not reach the training
            continue


def _is_in_use(device: object, name: str) -> bool:
    if name == "mps":
        return bool(device.is_available())  # type: ignore[attr-defined]  # torch.mps needs no initialisation
    return bool(device.is_initialized())  # type: ignore[attr-defined]  # of torch.cuda and torch.xpu
