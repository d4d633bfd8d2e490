"""Measures what the calls of the client take from a training: CPU, and whether the kernel had to wait for something."""

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flyball.training.run import Run


class LostTime:
    """CPU time of this thread inside of the client's calls, and how often one of them blocked.

    CPU time, because tests run on busy machines: there, the clock on the wall also counts other work.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.blocked = 0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure one call, or several."""
        waits = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        began = time.thread_time()
        try:
            yield
        finally:
            self.seconds += time.thread_time() - began
            self.blocked += resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - waits


def train(run: Run, seconds: float, until: Callable[[], bool] = lambda: True) -> LostTime:
    """Train steps of 10 ms for some time, and until a condition holds. Return what the client took."""
    lost = LostTime()
    end = time.monotonic() + seconds
    limit = end + 60
    while time.monotonic() < end or not until():
        assert time.monotonic() < limit, "the condition does not hold"
        time.sleep(0.01)
        with lost.measured():
            run.mark("forward")
            run.mark("backward")
            run.step(tokens=4096, loss=2.5)
    return lost


def calm(measure: Callable[[], LostTime], tries: int = 3) -> LostTime:
    """Return the first measurement in which nothing blocked, or the last one.

    Where other work keeps the machine busy, the kernel itself may let a call wait for a lock or a page, now and then.
    """
    for _ in range(tries - 1):
        if (lost := measure()).blocked == 0:
            return lost
    return measure()


def least(measure: Callable[[], float], enough: float, tries: int = 3) -> float:
    """Return the smallest of some measurements, or the first one below `enough`. Other work only makes them larger."""
    smallest = measure()
    for _ in range(tries - 1):
        if smallest < enough:
            break
        smallest = min(smallest, measure())
    return smallest
