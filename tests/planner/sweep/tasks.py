"""Tasks that sweeps run in other processes, where a test's own functions cannot go."""

import os
import signal
import time
from pathlib import Path


def count(depth: int, samples: int = 100, **_: object) -> dict[str, float]:
    """Gets more done the deeper it is."""
    return {"patterns": depth * samples, "accuracy": 0.5}


def fail_at_five(depth: int) -> int:
    """One depth does not work."""
    if depth == 5:
        raise ValueError("five is right out")
    return depth


def die_at_five(depth: int) -> int:
    """One depth takes its process with it, as the kernel does with those that need too much memory."""
    if depth == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return depth


def note(folder: str, depth: int) -> int:
    """Leaves a trace for each call, and takes a while."""
    with (Path(folder) / "calls").open("a") as calls:
        calls.write(f"{depth}\n")
    time.sleep(0.05)
    return depth


def count_samples(samples: int) -> int:
    """Does what it is told."""
    return samples
