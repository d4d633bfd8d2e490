"""Three levers of training that waits for a service, pulled one by one and together; every factor is measured.

    python examples/service_bound/demonstrate.py

A real HTTP service with real delays runs in a process of its own, workers in theirs. Beside the measured factors stand
those that Amdahl's law expects of the measured shares, and those that one project published of its own training.
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
BATCHED = 3  # calls a sample, instead of a hundred
PUBLISHED = {"batch": "4–7", "pool and cache": "1.15", "workers": "2–3", "together": "15–28"}


@dataclass(frozen=True)
class Setup:
    """How training and service are set."""

    calls: int = 100
    keep: bool = False
    connections: int = 4
    cached: int = 0
    workers: int = 1


@dataclass(frozen=True)
class Measured:
    """Of all workers together; shares are of a worker's time."""

    seconds_a_sample: float
    busy_share: float
    calling_share: float
    connecting_share: float
    calls: float


def measure(setup: Setup, samples: int) -> Measured:
    """Run it: every worker does as many samples, side by side."""
    with service(setup) as port:
        commands = [_command(setup, port, samples, number) for number in range(setup.workers)]
        workers = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for command in commands
        ]
        told = list(_run(workers))
    wall = max(each["seconds"] for each in told)
    spent = sum(each["seconds"] for each in told)
    done = samples * setup.workers
    return Measured(
        wall / done,
        sum(each["busy_seconds"] for each in told) / spent,
        sum(each["calling_seconds"] for each in told) / spent,
        sum(each["connecting_seconds"] for each in told) / spent,
        sum(each["calls"] for each in told) / done,
    )


@contextlib.contextmanager
def service(setup: Setup) -> Iterator[int]:
    """The service in its own process; yields its port."""
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
    """Start all at the same moment; what each says of itself."""
    for worker in workers:
        _pipe(worker.stdout).readline()  # it is ready
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
    """The speed-up of the whole when a share of it becomes so many times as fast."""
    return 1 / (1 - share + share / factor)


def expected(base: Measured, few: Measured, workers: int, cores: int) -> dict[str, float]:
    """What the shares allow. What each call costs, however little it carries, comes from two sizes of call."""
    many_seconds = base.calling_share * base.seconds_a_sample
    few_seconds = few.calling_share * few.seconds_a_sample
    a_call = max(0.0, (many_seconds - few_seconds) / (base.calls - few.calls))
    fixed = min(1.0, (a_call * base.calls / base.seconds_a_sample) + base.connecting_share)
    batch = amdahl(fixed, base.calls / few.calls)
    pool = amdahl(base.connecting_share, 1e9)
    alone = min(workers, cores / base.busy_share)
    left = 1 / batch  # of a sample's time, when the calls are few
    busy_then = min(1.0, base.busy_share / left)
    return {
        "batch": batch,
        "pool and cache": pool,
        "workers": alone,
        "together": batch * min(workers, cores / busy_then),
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
    """Pull each lever alone, then all; each is measured against the same start."""
    base = measure(Setup(), samples)
    few = measure(Setup(calls=BATCHED), 3 * samples)
    pool = measure(Setup(keep=True, connections=8, cached=1000), samples)
    side = measure(Setup(workers=workers), samples)
    both = measure(Setup(calls=BATCHED, keep=True, connections=8, cached=1000, workers=workers), 4 * samples)
    hope = expected(base, few, workers, os.cpu_count() or 1)
    found = {"batch": few, "pool and cache": pool, "workers": side, "together": both}
    lines = [Line("as it is", base.seconds_a_sample, 1.0, None, "")]
    for name, run in found.items():
        factor = base.seconds_a_sample / run.seconds_a_sample
        lines.append(Line(name, run.seconds_a_sample, factor, hope[name], PUBLISHED[name]))
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=3, help="samples a worker at the start (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=4, help="parallel workers (default: %(default)s)")
    options = parser.parse_args()
    started = time.perf_counter()
    lines = demonstrate(options.samples, options.workers)
    print(f"{'lever':16} {'s/sample':>9} {'measured':>9} {'expected':>9} {'published':>10}")
    for line in lines:
        hope = "" if line.expected is None else f"{line.expected:.2f}×"
        told = f"{line.published}×" if line.published else ""
        print(f"{line.name:16} {line.seconds:9.3f} {line.factor:8.2f}× {hope:>9} {told:>10}")
    print(_NOTE.format(workers=options.workers, cores=os.cpu_count(), seconds=time.perf_counter() - started))


_NOTE = """
batch: 100 calls a sample became 3. pool and cache: connections stay open, the service has 8 to its database instead of
4 and a cache. workers: {workers} processes on {cores} cores, each with a session of its own.
expected: Amdahl's law on the shares measured in the first two rows. It does not know how many callers the service's
database serves at once, nor its cache: where the measured factor is below it, that is the next bottleneck.
published: one project's report of its own training; its service had other delays, so the mechanism is what is
reproduced here, not the figures. Its factors were not measured one on top of the other, and neither is "together"
the product of the rows above it: once calls are few there is less waiting left for workers to share.
Took {seconds:.0f} s."""


if __name__ == "__main__":
    main()
