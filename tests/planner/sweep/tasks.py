"""Tasks for sweeps in other processes, which can import only functions of a module."""

import os
import signal
import time
from pathlib import Path


def count(depth: int, samples: int = 100, **_: object) -> dict[str, float]:
    """Return patterns in proportion to the depth."""
    return {"patterns": depth * samples, "accuracy": 0.5}


def fail_at_five(depth: int) -> int:
    """Fail at depth 5."""
    if depth == 5:
        raise ValueError("depth 5 is not supported")
    return depth


def die_at_five(depth: int) -> int:
    """Kill the process at depth 5, as the kernel does if memory runs out."""
    if depth == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return depth


def note(folder: str, depth: int) -> int:
    """Write a line per call to a file and sleep briefly."""
    with (Path(folder) / "calls").open("a") as calls:
        calls.write(f"{depth}\n")
    time.sleep(0.05)
    return depth


def count_samples(samples: int) -> int:
    """Return the number of samples."""
    return samples
