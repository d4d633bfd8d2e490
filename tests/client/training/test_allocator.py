"""Peaks of the allocator are known where CUDA is in use, and nowhere else."""

import subprocess
import sys

from flyball.training.allocator import UNKNOWN, peaks
from tests.client.training.standin_cuda import StandinCuda


def test_without_cuda_they_are_unknown() -> None:
    """Unknown is not 0."""
    assert peaks() == UNKNOWN


def test_with_cuda_they_are_read(cuda: StandinCuda) -> None:
    """Allocated, reserved, and allocations that were tried again."""
    assert peaks() == (2**30, 2**31, 3)
    assert cuda.initialised


def test_an_allocator_without_statistics_is_unknown(cuda: StandinCuda) -> None:
    """One that a script has plugged in raises."""
    cuda.failing = True
    assert peaks() == UNKNOWN


def test_torch_is_not_imported_to_ask() -> None:
    """Nor anything that costs time at import."""
    code = (
        "import sys; from flyball.training import allocator, device_times, loss; allocator.peaks();"
        "times = device_times.DeviceTimes(); times.begin();"
        "reader = loss.LossReader(); reader.offer('x'); reader.take();"
        "print([name for name in ('torch', 'numpy', 'jax', 'typing', 'decimal', 'dataclasses') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-S", "-c", "import sys; sys.path.insert(0, 'client'); " + code],
                           capture_output=True, text=True, check=True)  # fmt: skip
    assert found.stdout.strip() == "[]"
