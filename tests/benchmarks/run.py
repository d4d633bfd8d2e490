"""Runs every benchmark, one process each, and shows the figures: `python -m tests.benchmarks.run [--only NAME]`."""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks.figure import Figure

BENCHMARKS = {
    "agent": "the agent beside node_exporter, 8 stand-in GPUs, 1 Hz",
    "collector": "a fleet of 2,048 hosts × 8 GPUs over mTLS at 1 Hz, scraped, restarted; beside Prometheus",
    "connection": "one connection over mTLS, beside plaintext and grpcio's own server; 500 that send once a second",
    "diagnosis": "every detector on a fleet of 2,048 hosts × 8 GPUs, each second",
    "scrape": "rendering /metrics of that fleet",
    "attacks": "people and honest hosts during attacks by a client with a valid certificate, or over HTTP",
    "header_blocks": "decoding the headers of a call, receiving a message without I/O",
    "storage": "bytes of a host-day, reading a month",
    "client": "what `import flyball` costs a training, with and without an agent; beside W&B offline and TensorBoard",
    "profile": "flyball profile and ProfilingEngine at one sample a second, with 200 processes; beside psutil",
    "planning": "a plan from the shell, thousands of layouts, accuracy; beside accelerate estimate-memory",
    "planner_peers": "predictions beside Calculon and llm-analysis, on the runs that these were validated with",
    "false_alarms": "forecasts, ranks and GPUs over 10,000 host-days on which nothing breaks",
    "forecast_delays": "how soon each forecast fault is raised",
    "straight_ramps": "memory that fills along a line: is it reported in time, does the interval hold",
    "heating_curves": "an RC model of GPUs that warm: do intervals hold, leads, false alarms",
    "fast_filling": "a control group fills within a minute until the kernel kills: do alerts come before (needs root)",
    "slow_delays": "how soon ranks and runs that become slower are raised",
    "adjustment_effects": "3,000 changes of simulated trainings: is harm taken back, is the true gain in the interval",
    "fuzz": "100,000 hostile inputs",
    "adjustment_offers": "10,000 simulated offers of adjustments with faults: do all ranks change, or none",
    "audit": "training code read for its faults: files a second, what of the corpus is found; beside torchfix",
    "labelled": "real bottlenecks around a real training loop: is the diagnosis right, how sure, how soon (80 minutes)",
}

INTRODUCTION = """# Benchmarks

`make bench` measures every number below, each peer in the same run. `python -m tests.benchmarks.run --only NAME`
measures one benchmark; `--json FILE` is for programs. Peers are the similar tools that are measured beside Flyball.
Shared machines are noisy and have slow hours, so compare the ratio to the peer. In the tables, “to reach” is the goal,
and a *snapshot* is one record of one host. CPU is what the kernel charged to the process: user and system, all threads.
The GPUs are those of the [stand-in library](stand-in-gpu.md); the time of a real driver is added to that
(`make gpu-check`).

Measured {when} on {machine}.
"""


def run_benchmark(name: str) -> list[Figure] | None:
    """Run one benchmark in a process of its own; its progress, and what it fails of, go to stderr. None if it fails."""
    command = [sys.executable, "-m", f"tests.benchmarks.{name}"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True)
    if ended.returncode:
        return None
    return [Figure(**figure) for figure in json.loads(ended.stdout.splitlines()[-1])]


def machine() -> str:
    """Return the machine that the figures were measured on."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} × {model}, {memory_gib:.0f} GiB, {system}"


def table(results: Mapping[str, Sequence[Figure]]) -> str:
    """The figures as Markdown."""
    lines = []
    for name, figures in results.items():
        lines += ["", f"## {name}: {BENCHMARKS[name]}", "", "| figure | value | to reach | |", "|---|---:|---|---|"]
        lines += [_row(figure) for figure in figures]
    return "\n".join(lines)


def _row(figure: Figure) -> str:
    verdict = {True: "reached", False: "**not reached**", None: ""}[figure.met]
    remark = "; ".join(part for part in (verdict, figure.note) if part)
    value = f"{figure.value:,.0f}" if abs(figure.value) >= 1000 else f"{figure.value:.3g}"
    return f"| {figure.name} | {value} {figure.unit} | {figure.target} | {remark} |"


def main() -> int:
    """Run, print, and write what was asked for; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=BENCHMARKS, help="run this one (may be repeated)")
    parser.add_argument("--json", type=Path, help="write the figures here as JSON")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    options = parser.parse_args()
    results: dict[str, list[Figure]] = {}
    failed = []
    for name in options.only or BENCHMARKS:
        print(f"{name}: {BENCHMARKS[name]}", file=sys.stderr, flush=True)
        started = time.monotonic()
        figures = run_benchmark(name)
        if figures is None:
            failed.append(name)
        else:
            results[name] = figures
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    text = INTRODUCTION.format(when=when, machine=machine()) + table(results) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text)
    if options.json:
        plain = {name: [vars_of(figure) for figure in found] for name, found in results.items()}
        options.json.write_text(json.dumps({"date": when, "machine": machine(), "figures": plain}, indent=1) + "\n")
    for name in failed:
        print(f"{name} failed: the reason is above; it is not in the table", file=sys.stderr)
    return 1 if failed else 0


def vars_of(figure: Figure) -> dict[str, object]:
    """A figure as plain data."""
    return {name: getattr(figure, name) for name in Figure.__slots__}


if __name__ == "__main__":
    sys.exit(main())
