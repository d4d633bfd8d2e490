"""Measures how much a training is slowed: steps with and without the client alternate, in a process of its own."""

import json
import random
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from flyball.training.run import Run
from tests.client.training.listening_socket import open_run

STEP_SECONDS = 0.010
PARTS = ("forward", "backward", "optimizer")
TRIMMED = 0.2
"""Share of the pairs that is left out on each side: other work on the machine makes some several times longer."""

_DATA = bytes(range(256)) * 4096  # a MiB: more than the first-level caches hold


@dataclass(frozen=True, slots=True)
class Slowdown:
    """The time that the client adds to a step, with the half width of the 95 % interval."""

    seconds: float
    margin: float

    def ratio(self) -> tuple[float, float, float]:
        """Return it as a share of a step of 10 ms, with the ends of the interval."""
        return tuple((self.seconds + side * self.margin) / STEP_SECONDS for side in (0, -1, 1))  # type: ignore[return-value]  # three


def trimmed_mean(differences: list[float]) -> Slowdown:
    """Return the mean without the extremes, and its interval from the winsorized deviation (Yuen 1974)."""
    ordered = sorted(differences)
    cut = int(len(ordered) * TRIMMED)
    inner = ordered[cut : len(ordered) - cut]
    winsorized = [inner[0]] * cut + inner + [inner[-1]] * cut
    error = stdev(winsorized) / ((1 - 2 * TRIMMED) * len(ordered) ** 0.5)
    return Slowdown(fmean(inner), 1.96 * error)


def main() -> None:
    """Print slow-downs as JSON. Arguments: socket, seconds of short steps, seconds of steps of 10 ms, `fill`."""
    path, short, full, fill = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "fill"
    found = {}
    ten = _ten_milliseconds()
    for name, seconds, work, parts in (
        ("short", short, _work, PARTS),
        ("full", full, ten, PARTS),
        ("two lines", full, ten, ()),
    ):
        if not seconds:
            continue
        pair_seconds = 2 * _seconds_of(work)
        run = open_run(path, name=name, report_ns=int(100 * pair_seconds * 1e9))  # one report in a hundred steps
        if fill:
            _fill(run)
        measured = trimmed_mean(_differences(_step_with(run, work, parts), work, seconds))
        found[name] = [measured.seconds, measured.margin]
        run.finish()
    print(json.dumps(found))


def _work() -> None:
    zlib.crc32(_DATA)


def _ten_milliseconds() -> Callable[[], None]:
    """Return a step without the client: work in C, and then what the loop of a script does itself.

    Without that, the client would also pay for the interpreter, which the caches have lost meanwhile.
    """
    count = max(1, round(STEP_SECONDS / _seconds_of(_work)))
    losses: list[float] = []

    def work() -> None:
        for _ in range(count):
            zlib.crc32(_DATA)
        losses.append(2.5 / (1 + len(losses)))
        del losses[:-50]
        mean = sum(losses) / len(losses)
        line = {"loss": f"{losses[-1]:.4f}", "mean": f"{mean:.4f}", "tokens": str(4096 * len(losses))}
        ", ".join([f"{name}: {value:>10}" for name, value in line.items()])

    return work


def _seconds_of(work: Callable[[], None]) -> float:
    times = []
    for _ in range(20):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2]


def _step_with(run: Run, work: Callable[[], None], parts: tuple[str, ...]) -> Callable[[], None]:
    """Return a step as a training has it: a batch, its parts, and the boundary."""
    batches = iter(run.data(iter(int, 1)))  # an endless iterator
    mark, step = run.mark, run.step

    def with_client() -> None:
        next(batches)
        work()
        for part in parts:
            mark(part)
        step(tokens=4096, loss=2.5)

    return with_client


def _differences(with_client: Callable[[], None], work: Callable[[], None], seconds: float) -> list[float]:
    """Return the CPU time with the client less that without it, for each pair, in random order."""
    order, differences = random.Random(1), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pair = [(with_client, 1), (work, -1)]
        order.shuffle(pair)
        difference = 0
        for function, sign in pair:
            began = time.thread_time_ns()
            function()
            difference += sign * (time.thread_time_ns() - began)
        differences.append(difference * 1e-9)
    return differences


def _fill(run: Run) -> None:
    """Report until the queue of the agent, which is stopped, is full."""
    for _ in range(2000):
        run._due = 0
        run.step()


if __name__ == "__main__":
    main()
