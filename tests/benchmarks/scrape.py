"""Render a whole fleet for Prometheus; measure the cost and how long an event loop beside it waits.

Every host has all its scores, one GPU in ten has an active condition, and one host in four has lost GPU time.

python -m tests.benchmarks.scrape [--hosts 2048] [--format openmetrics]
"""

import argparse
import asyncio
import random
import resource
import time
import uuid
from dataclasses import replace

import numpy as np
import psutil

from flyball_collector.command import tune_interpreter
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BOTTLENECKS, BY_NAME, EventKind
from flyball_collector.diagnosis.scores.score_table import ScoreTable
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.view import View
from flyball_collector.engine.accounts import Accounts
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.exporter.diagnosis.findings import DiagnosisFindings
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.exporter.renderings import Renderings
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.tick import KnownLayout, Tick
from flyball_planner.base_formula import BASE_NAMES
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Metric, counter, gauge
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.benchmarks.figure import Figure, at_most, plain, report

GPUS = 8
HOST_METRICS = [gauge(f"host_quantity_{i}_bytes", "bytes", "A quantity of the host.") for i in range(35)]
HOST_COUNTERS = [counter(f"host_work_{i}_total", "operations", "Work of the host.") for i in range(16)]
SEEN = gauge("gpu_utilization_ratio", "ratio", "What the diagnosis looks at.", ("gpu",), 1000)
GPU_METRICS = [SEEN] + [
    gauge(f"gpu_quantity_{i}_ratio", "ratio", "A quantity of a GPU.", ("gpu",), 1000) for i in range(14)
]


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=2048)
    parser.add_argument("--format", choices=["text", "openmetrics"], default="text")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tune_interpreter()
    format_ = ExpositionFormat.OPENMETRICS if options.format == "openmetrics" else ExpositionFormat.TEXT
    report(asyncio.run(measure(options.hosts, format_, options.rounds)))


async def measure(hosts: int, format_: ExpositionFormat, rounds: int) -> list[Figure]:
    """Scrape a fleet once from nothing, then some times with new readings, with an event loop that counts its waits."""
    fleet = Fleet(hosts)
    random_numbers = np.random.default_rng(1)
    layouts = [fill(fleet, f"host-{number:05d}", random_numbers) for number in range(hosts)]
    now = time.time_ns()
    own = OwnMetrics()
    while len(fleet.window.states) < hosts:  # they sit down by and by
        fleet.advance(time.time_ns())
    diagnosis = diagnosed(fleet, now, random_numbers)
    renderings = Renderings(fleet, own, findings=findings_of(diagnosis, own), clock=lambda: now)
    lags: list[float] = []
    watch = asyncio.create_task(watch_loop(lags), name="watch")
    first = await timed(renderings, format_)
    lags.clear()
    walls, processors, stalls = [], [], []
    for sequence in range(1, rounds + 1):
        now += 2 * 10**9
        for number, layout in enumerate(layouts):
            fleet.apply(tick(f"host-{number:05d}", sequence, layout, now, random_numbers))
        started = time.perf_counter()
        fleet.snapshot(now)
        findings_of(diagnosis, own).of_fleet()
        stalls.append(time.perf_counter() - started)
        await asyncio.sleep(0.01)  # or the watch counts the filling, too
        lags.clear()
        processor = cpu_seconds()
        walls.append(await timed(renderings, format_))
        processors.append(cpu_seconds() - processor)
        stalls.extend(lags)
    watch.cancel()
    still = []
    for _ in range(3):  # unchanged readings are known as such at the second time
        now += 2 * 10**9
        processor = cpu_seconds()
        await timed(renderings, format_)
        still.append(cpu_seconds() - processor)
    body = await renderings.of_fleet(format_, gzip=True)
    series = own.registry.get_sample_value("flyball_collector_scrape_series") or 0
    return [
        plain("series", series, "lines", "of a page with HELP and TYPE"),
        plain("first scrape, from nothing", first, "s", "labels of every series are written once"),
        at_most("scrape with gzip, best", min(walls), 0.5, "s"),
        at_most("scrape with gzip, median", sorted(walls)[len(walls) // 2], 0.5, "s"),
        plain("CPU of a scrape", min(processors), "s", "with the process that renders"),
        plain("CPU of a scrape without changes", min(still), "s", "no reading has changed since the one before"),
        at_most("longest stall of the event loop", max(stalls), 0.1, "s"),
        plain("page, gzipped", len(body) / 1e6, "MB"),
        plain("peak resident", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, "MB", "fleet included"),
    ]


def cpu_seconds() -> float:
    """Of this process and of the one that renders beside it."""
    rendering = (child.cpu_times() for child in psutil.Process().children())
    return time.process_time() + sum(times.user + times.system for times in rendering)


class Scores:
    """Any scores, of every host."""

    name = "scores"
    kinds: tuple[EventKind, ...] = ()
    needs = ()

    def __init__(self, random_numbers: np.random.Generator) -> None:
        self.table: ScoreTable | None = None
        self._random = random_numbers

    def observe(self, view: View) -> list[Claims]:
        """New ones each time."""
        names = [kind.name.removeprefix("bottleneck_") for kind in BOTTLENECKS]
        rows = self._random.random((len(BASE_NAMES) + len(names), len(view.hosts)))
        of_kinds = dict(zip(names, rows[len(BASE_NAMES) :], strict=True))
        base = dict(zip(BASE_NAMES, rows, strict=False))
        self.table = ScoreTable(view.hosts, base, of_kinds, of_kinds)
        return []


def diagnosed(fleet: Fleet, now: int, random_numbers: np.random.Generator) -> Diagnosis:
    """A diagnosis that has found something in many places."""
    diagnosis = Diagnosis(fleet, DiagnosisSettings(), [Scores(random_numbers)])
    diagnosis.step(now)
    assert diagnosis.view is not None
    names = diagnosis.view.gpus.names
    assert len(names) == GPUS * len(fleet.hosts())
    kinds = [BY_NAME[name] for name in ("bottleneck_idle_gpu", "memory_exhaustion", "power_capped", "gpu_ecc")]
    diagnosis.conditions.load(
        [active(kinds[number % len(kinds)], names[number], now) for number in range(0, len(names), 10)], now
    )
    assert diagnosis.scores is not None
    primaries = random_numbers.integers(0, len(diagnosis.scores.scores), len(diagnosis.scores.hosts))
    diagnosis.scores = replace(diagnosis.scores, primaries=primaries)
    return diagnosis


def active(kind: EventKind, subject: Subject, now: int) -> Event:
    """One condition."""
    return Event(
        condition=f"{hash(subject):x}",
        time_ns=now,
        state=State.RAISED,
        kind=kind,
        subject=subject,
        severity=kind.severity,
        confidence=0.9,
        seconds_left=100.0,
        raised_ns=now,
    )


def findings_of(diagnosis: Diagnosis, own: OwnMetrics) -> DiagnosisFindings:
    """As the collector has them; every fourth host has lost time to two causes."""
    accounts = Accounts(diagnosis, own)
    view = diagnosis.view
    assert view is not None
    accounts.waste.hosts.align(view.hosts, view.now)
    accounts.waste.hosts.lost[::4, :2] = 1000.0
    return DiagnosisFindings(diagnosis, accounts)


async def timed(renderings: Renderings, format_: ExpositionFormat) -> float:
    """Seconds of one compressed scrape."""
    started = time.perf_counter()
    await renderings.of_fleet(format_, gzip=True)
    return time.perf_counter() - started


async def watch_loop(lags: list[float]) -> None:
    """Wake a thousand times a second and note how late."""
    while True:
        started = time.perf_counter()
        await asyncio.sleep(0.001)
        lags.append(time.perf_counter() - started - 0.001)


def fill(fleet: Fleet, name: str, random_numbers: np.random.Generator) -> KnownLayout:
    """A host with its inventory and its first tick."""
    gpus = [f"GPU-{uuid.UUID(int=random.getrandbits(128))}" for _ in range(GPUS)]
    of_host: list[Metric] = [*HOST_METRICS, *HOST_COUNTERS]
    columns = [
        *(Column(metric) for metric in of_host),
        *(Column(metric, (gpu,)) for metric in GPU_METRICS for gpu in gpus),
    ]
    layout = KnownLayout(Layout(tuple(columns)))
    state = fleet.ensure(name)
    state.agent_version, state.connected, state.clock_skew_seconds = "0.1.0", True, 0.001
    state.inventory = pb.Inventory(kernel="6.1.0", architecture="x86_64", cpu=pb.Cpu(model="A processor"))
    for index, gpu in enumerate(gpus):
        state.inventory.gpus.add(uuid=gpu, index=index, model="NVIDIA H100 80GB HBM3", driver_version="570.1")
    fleet.apply(tick(name, 0, layout, time.time_ns(), random_numbers))
    return layout


def tick(name: str, sequence: int, layout: KnownLayout, now: int, random_numbers: np.random.Generator) -> Tick:
    """Readings as real ones: large counts of bytes and ratios of three digits."""
    values = random_numbers.integers(0, 1000, layout.count)
    of_host = len(HOST_METRICS) + len(HOST_COUNTERS)
    values[:of_host] = random_numbers.integers(0, 2**36, of_host)
    return Tick(name, bytes(16), sequence, layout, values, None, now, now, now, now, 0, 0, b"", True)


if __name__ == "__main__":
    main()
