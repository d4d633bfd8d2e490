"""Waits for a device: the host runs ahead of it, and a rest of the host alone would not let it rest."""

from __future__ import annotations

from time import perf_counter_ns

from flyball.training.loaded_modules import initialised_cuda


def finish_device_work() -> int:
    """Wait until the GPU has done what the step has started. Return the nanoseconds, which belong to the step."""
    began = perf_counter_ns()
    try:
        cuda = initialised_cuda()
        if cuda is None or cuda.is_current_stream_capturing():
            return 0
        cuda.synchronize()
    except Exception:  # noqa: BLE001  an error of the device is the training's to find
        return 0
    return perf_counter_ns() - began
