"""Errors of allocators are recognised, and nothing else is."""

import pytest

from flyball.micro_batches.out_of_memory import is_out_of_memory


class OtherError(Exception):
    """An error of the script."""


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:129] . DefaultCPUAllocator: can't allocate memory: you tried"),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("HIP out of memory. Tried to allocate 2.00 MiB"),
        RuntimeError("XPU out of memory. Tried to allocate"),
        RuntimeError("MPS backend out of memory (MPS allocated: 1 GB"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 12 bytes."),
    ],
)
def test_an_allocator_that_fails_is_recognised(error: Exception) -> None:
    """By its type, or by its message where PyTorch raises RuntimeError."""
    assert is_out_of_memory(error)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Expected all tensors to be on the same device"),
        RuntimeError("CUDA error: an illegal memory access was encountered"),
        OtherError("out of memory"),
        ValueError("DefaultCPUAllocator: can't allocate memory"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_other_errors_are_not(error: Exception) -> None:
    """They pass unchanged."""
    assert not is_out_of_memory(error)
