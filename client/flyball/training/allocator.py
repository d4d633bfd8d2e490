"""Reads the peaks of PyTorch's allocator for the current GPU, which the allocator counts anyway."""

from __future__ import annotations

from flyball.training.loaded_modules import initialised_cuda

UNKNOWN = (None, None, None)


def peaks() -> tuple[int | None, int | None, int | None]:
    """Return the peak of allocated and of reserved bytes, and how often an allocation was tried again.

    They count from the last time the script has reset them. This never resets them, and never initialises CUDA.
    """
    try:
        cuda = initialised_cuda()
        if cuda is None:
            return UNKNOWN
        # Its flat form, `memory_stats`, sorts 114 names each time.
        statistics = cuda.memory_stats_as_nested_dict()
        return (
            int(statistics["allocated_bytes"]["all"]["peak"]),
            int(statistics["reserved_bytes"]["all"]["peak"]),
            int(statistics["num_alloc_retries"]),
        )
    except Exception:  # noqa: BLE001  allocators that a script has plugged in have no statistics
        return UNKNOWN
