"""Measure what `flyball profile` and `ProfilingEngine` cost at one sample a second, beside the same through psutil."""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from flyball.profiling.engine import ProfilingEngine
from tests.benchmarks.figure import Figure, at_most, plain, report
from tests.processes import Process, wait_for

WARM_SECONDS = 5
SECONDS = 30
MANY = 200
BOUND_MS = 10.0  # a second: 1 % of a core

SLEEPERS = """
import subprocess, sys, time
children = [subprocess.Popen(["sleep", "1000"]) for _ in range(int(sys.argv[1]) - 1)]
print("started", flush=True)
try:
    time.sleep(1000)
finally:
    for child in children:
        child.kill()
"""


def main() -> None:
    """Measure and report."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = [of_command(folder, 1), of_command(folder, MANY), *of_engine(folder)]
    report(figures)


@contextmanager
def sleepers(folder: Path, count: int, *before: str) -> Iterator[Process]:
    """A program with this number of processes that sleep, started by another command."""
    log = folder / f"log-{time.monotonic_ns()}"
    with Process([*before, sys.executable, "-c", SLEEPERS, str(count)], log) as process:
        process.start()
        wait_for("all processes have started", lambda: "started" in log.read_text())
        yield process
        for each in psutil.Process(process.pid).children(recursive=True):
            each.kill()


def of_command(folder: Path, count: int) -> Figure:
    """CPU of the command itself, without the processes that it measures."""
    _progress(f"flyball profile, {count} processes, {SECONDS} s")
    flyball = str(Path(sys.executable).parent / "flyball")
    with sleepers(folder, count, flyball, "profile", "--output", str(folder / "profile.json"), "--") as process:
        profiler = psutil.Process(process.pid)
        time.sleep(WARM_SECONDS)
        before, started = _own_cpu(profiler), time.monotonic()
        time.sleep(SECONDS)
        cost = 1000 * (_own_cpu(profiler) - before) / (time.monotonic() - started)
        resident = profiler.memory_info().rss / 1e6
    note = f"a tree of {count}; {len(psutil.pids())} processes on the machine; {resident:.0f} MB resident"
    return at_most(f"flyball profile, {count} process{'es' if count > 1 else ''}, CPU", cost, BOUND_MS, "ms/s", note)


def _own_cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def of_engine(folder: Path) -> list[Figure]:
    """CPU of the engine's thread and of the same readings through psutil, with the same children."""
    _progress(f"ProfilingEngine and psutil, {MANY} processes, {SECONDS} s")
    with sleepers(folder, MANY):
        engine = ProfilingEngine().start()
        cost = 0.0
        for _ in range(SECONDS):
            time.sleep(1)
            before = time.thread_time()
            _read_with_psutil()
            cost += time.thread_time() - before
        summary = engine.stop()
    ours = 10 * (summary.profiler_cpu_percent or 0.0)
    theirs = 1000 * cost / SECONDS
    return [
        at_most(f"ProfilingEngine, {MANY} processes, CPU", ours, BOUND_MS, "ms/s", "its thread"),
        plain("the same through psutil, CPU", theirs, "ms/s", "CPU, memory and I/O of each process of the tree"),
        at_most("ProfilingEngine / psutil, CPU", ours / theirs, 0.5, "ratio"),
    ]


def _read_with_psutil() -> None:
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        with process.oneshot():
            process.cpu_times()
            process.memory_info()
            process.num_threads()
            process.io_counters()
    psutil.cpu_percent(percpu=True)
    psutil.virtual_memory()
    psutil.disk_io_counters()


def _progress(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
