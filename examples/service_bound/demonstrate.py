"""Measure three ways to speed up a training that waits for a service, one by one and together.

    python examples/service_bound/demonstrate.py

A real HTTP service with real delays and each worker run in separate processes. The measured speed-ups are printed
beside those that Amdahl's law expects, and those that one project published for its own training.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

HERE = Path(__file__).parent
BATCHED = 3  # calls per sample, instead of a hundred
PUBLISHED = {"batch": "4–7", "pool and cache": "1.15", "workers": "2–3", "together": "15–28"}


@dataclass(frozen=True)
class Setup:
    """The settings of training and service."""

    calls: int = 100
    keep: bool = False
    connections: int = 4
    cached: int = 0
    workers: int = 1


@dataclass(frozen=True)
class Measured:
    """The result of one run, over all workers; shares are parts of a worker's time."""

    seconds_per_sample: float
    busy_share: float
    calling_share: float
    connecting_share: float
    calls: float


def measure(setup: Setup, samples: int) -> Measured:
    """Run all workers at the same time, each with this number of samples."""
    with service(setup) as port:
        commands = [_command(setup, port, samples, number) for number in range(setup.workers)]
        workers = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for command in commands
        ]
        reports = list(_run(workers))
    wall = max(each["seconds"] for each in reports)
    spent = sum(each["seconds"] for each in reports)
    done = samples * setup.workers
    return Measured(
        wall / done,
        sum(each["busy_seconds"] for each in reports) / spent,
        sum(each["calling_seconds"] for each in reports) / spent,
        sum(each["connecting_seconds"] for each in reports) / spent,
        sum(each["calls"] for each in reports) / done,
    )


@contextlib.contextmanager
def service(setup: Setup) -> Iterator[int]:
    """Run the service in a separate process; yields its port."""
    options = ["--connections", str(setup.connections), "--cached", str(setup.cached)]
    command = [sys.executable, str(HERE / "service.py"), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(_pipe(process.stdout).readline())
        finally:
            _pipe(process.stdin).close()
            process.wait(timeout=10)


def _command(setup: Setup, port: int, samples: int, number: int) -> list[str]:
    options = ["--port", str(port), "--samples", str(samples), "--first", str(number * samples)]
    keep = ["--keep"] if setup.keep else []
    return [sys.executable, str(HERE / "worker.py"), *options, "--calls", str(setup.calls), *keep]


def _run(workers: "list[subprocess.Popen[str]]") -> Iterator[dict[str, float]]:
    """Start all workers at the same moment, and yield their reports."""
    for worker in workers:
        _pipe(worker.stdout).readline()  # wait until it is ready
    for worker in workers:
        _pipe(worker.stdin).write("go\n")
        _pipe(worker.stdin).flush()
    for worker in workers:
        answer, _ = worker.communicate(timeout=120)
        if worker.returncode:
            raise SystemExit("a worker failed; see above")
        yield json.loads(answer)


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise RuntimeError("the process was started without this pipe")
    return stream


def amdahl(share: float, factor: float) -> float:
    """Return the speed-up of the whole if a share of it becomes faster by a factor."""
    return 1 / (1 - share + share / factor)


def expected(base: Measured, few: Measured, workers: int, cores: int) -> dict[str, float]:
    """Return the speed-ups that the time shares allow. The fixed cost of a call comes from two sizes of calls."""
    many_seconds = base.calling_share * base.seconds_per_sample
    few_seconds = few.calling_share * few.seconds_per_sample
    call_seconds = max(0.0, (many_seconds - few_seconds) / (base.calls - few.calls))
    fixed = min(1.0, (call_seconds * base.calls / base.seconds_per_sample) + base.connecting_share)
    batch = amdahl(fixed, base.calls / few.calls)
    pool = amdahl(base.connecting_share, 1e9)
    alone = min(workers, cores / base.busy_share)
    remaining = 1 / batch  # part of a sample's time with few calls
    busy_share = min(1.0, base.busy_share / remaining)
    return {
        "batch": batch,
        "pool and cache": pool,
        "workers": alone,
        "together": batch * min(workers, cores / busy_share),
    }


@dataclass(frozen=True)
class Line:
    """One row of the result."""

    name: str
    seconds: float
    factor: float
    expected: float | None
    published: str


def demonstrate(samples: int, workers: int) -> list[Line]:
    """Measure each change alone, then all together, against the same baseline."""
    base = measure(Setup(), samples)
    few = measure(Setup(calls=BATCHED), 3 * samples)
    pool = measure(Setup(keep=True, connections=8, cached=1000), samples)
    parallel = measure(Setup(workers=workers), samples)
    together = measure(Setup(calls=BATCHED, keep=True, connections=8, cached=1000, workers=workers), 4 * samples)
    forecast = expected(base, few, workers, os.cpu_count() or 1)
    found = {"batch": few, "pool and cache": pool, "workers": parallel, "together": together}
    lines = [Line("baseline", base.seconds_per_sample, 1.0, None, "")]
    for name, run in found.items():
        factor = base.seconds_per_sample / run.seconds_per_sample
        lines.append(Line(name, run.seconds_per_sample, factor, forecast[name], PUBLISHED[name]))
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=3, help="samples of each worker at first (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=4, help="parallel workers (default: %(default)s)")
    options = parser.parse_args()
    started = time.perf_counter()
    lines = demonstrate(options.samples, options.workers)
    print(f"{'change':16} {'s/sample':>9} {'measured':>9} {'expected':>9} {'published':>10}")
    for line in lines:
        forecast = "" if line.expected is None else f"{line.expected:.2f}×"
        published = f"{line.published}×" if line.published else ""
        print(f"{line.name:16} {line.seconds:9.3f} {line.factor:8.2f}× {forecast:>9} {published:>10}")
    print(_NOTE.format(workers=options.workers, cores=os.cpu_count(), seconds=time.perf_counter() - started))


_NOTE = """
batch: 3 calls per sample instead of 100. pool and cache: connections stay open, and the service has a cache and 8
database connections instead of 4. workers: {workers} processes on {cores} cores, each with its own session.
expected: Amdahl's law with the time shares of the first two rows. It knows neither the number of requests that the
database serves at once nor the cache. If the measured factor is lower, the database is the next bottleneck.
published: the report of one project about its own training. Its service had other delays, so its numbers differ; the
mechanism is the same. "together" is not the product of the rows above: after batching, there is less waiting time for
the workers to share.
Took {seconds:.0f} s."""


if __name__ == "__main__":
    main()
