"""CPU of the whole diagnosis, every detector included, of 2,048 hosts × 8 GPUs each second; no network, no store.

The fleet is given as ticks of the metrics that agents send. Most of it works; some hosts and GPUs are in trouble, so
that detectors have something to find. What counts is the thread's CPU time of one look, not that of filling the fleet.
"""

import gc
import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from flyball_collector.advice.advisor import Advisor
from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Layout
from flyball_proto.metric import Kind
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.benchmarks.figure import Figure, at_most, plain, report
from tests.benchmarks.fleet_readings import GPUS, host_columns, wavers

HOSTS = 2048
WARM_SECONDS, SECONDS = 70, 60
BUDGET_MS = 100.0
SCORES_MS = 25.0
ADVICE_MS, ADVICE_SLICE_MS = 10.0, 20.0
ADVICE_SECONDS = 90

_SECOND = 10**9
_START_NS = 1_900_000_000 * _SECOND
_VARIANTS = 16  # of records; hosts share them by turns
_TROUBLED = 0.05


class Load:
    """A fleet that is given a record a host each second."""

    def __init__(self, hosts: int) -> None:
        self.fleet = Fleet(hosts)
        self._noise = np.random.default_rng(1)
        levels, counts, columns = [], [], []
        self._layouts = []
        for host in range(hosts):
            columns = list(host_columns(host))
            self._layouts.append(KnownLayout(Layout(tuple(column for column, _ in columns))))
            levels, counts = [level for _, level in columns], [c.metric.kind is Kind.COUNTER for c, _ in columns]
        self._levels, self._counts = np.array(levels), np.array(counts)
        names = [column.metric.name for column, _ in columns]
        self._waver = np.array([wavers(column) for column, _ in columns])
        self._scales = np.array([column.metric.scale for column, _ in columns])
        self._most = np.array([1.0 if name.endswith("_ratio") else np.inf for name in names])
        self._values = np.tile(np.where(self._counts, 0.0, self._levels) * self._scales, (hosts, 1))
        self._factors = np.where(self._noise.random((hosts, 1)) < _TROUBLED, 1.8, 1.0)  # some are beside themselves
        self._valid = np.ones(len(levels), dtype=np.bool_)
        self.columns = len(levels)

    def second(self, second: int) -> int:
        """One more; returns the time."""
        now_ns = _START_NS + second * _SECOND
        noise = np.where(self._waver, self._noise.normal(1.0, 0.03, (_VARIANTS, self.columns)), 1.0)
        factors = np.where(self._waver, self._factors, 1.0)
        rates = noise[np.arange(len(self._values)) % _VARIANTS] * self._levels * factors
        moved = np.minimum(rates, self._most) * self._scales
        self._values = np.where(self._counts, self._values + moved, moved)
        values: NDArray[np.int64] = self._values.astype(np.int64)
        for host, layout in enumerate(self._layouts):
            self.fleet.apply(self._tick(host, layout, values[host], second, now_ns))
        return now_ns

    def _tick(self, host: int, layout: KnownLayout, values: NDArray[np.int64], second: int, now_ns: int) -> Tick:
        steps = [
            pb.StepReport(
                run=f"run-{host // 16}", rank=host % 16 * GPUS + rank, world_size=128, step=4 * second, steps=4,
                step_seconds=1.0, data_wait_seconds=0.02, samples=64,
                section_seconds={"data": 0.02, "forward": 0.3, "backward": 0.55, "optimizer": 0.1},
            )
            for rank in range(GPUS)
        ]  # fmt: skip
        extras = pb.Record(steps=steps)
        return Tick(
            host=f"host-{host:05}", epoch=b"benchmark-epoch-", sequence=second, layout=layout, values=values,
            valid=self._valid, agent_ns=now_ns, boot_ns=now_ns, corrected_ns=now_ns, received_ns=now_ns, unavailable=0,
            tenancy=0, extras=b"steps", live=True, parsed_extras=extras,
        )  # fmt: skip


def measure(hosts: int = HOSTS, warm: int = WARM_SECONDS, seconds: int = SECONDS) -> list[Figure]:
    """Look at the fleet for a while."""
    load = Load(hosts)
    diagnosis = Diagnosis(load.fleet, DiagnosisSettings())
    looks, windows = [], []
    detectors: dict[str, list[float]] = {}
    for second in range(warm + seconds):
        now_ns = load.second(second) + _SECOND // 2
        started = time.thread_time()
        load.fleet.advance(now_ns)
        written = time.thread_time()
        diagnosis.step(now_ns)
        done = time.thread_time()
        if second >= warm:
            windows.append(1e3 * (written - started))
            looks.append(1e3 * (done - written))
            for name, spent in diagnosis.seconds.items():
                detectors.setdefault(name, []).append(1e3 * spent)
        if second % 10 == 0:
            print(f"second {second}: {1e3 * (done - written):.0f} ms", file=sys.stderr, flush=True)
    if diagnosis.failures:
        raise RuntimeError(f"detectors failed: {diagnosis.failures}")
    means = {name: float(np.mean(spent)) for name, spent in detectors.items()}
    slowest = sorted(means.items(), key=lambda pair: -pair[1])
    active = len(diagnosis.conditions.active())
    return [
        at_most("CPU of a pass over the fleet", float(np.mean(looks)), BUDGET_MS, "ms",
                f"{hosts:,} hosts × {GPUS} GPUs, {hosts * GPUS:,} ranks; {active:,} conditions are active"),
        plain("the longest pass", float(np.max(looks)), "ms"),
        at_most("of it: scores and bottlenecks", means["bottlenecks"], SCORES_MS, "ms"),
        at_most("of it: advice", means["advice"], ADVICE_MS, "ms"),
        *(plain(f"of it: {name}", spent, "ms") for name, spent in slowest[:6] if name not in ("bottlenecks", "advice")),
        plain("window and ranks, before the pass", float(np.mean(windows)), "ms", f"{load.columns} readings a host"),
        *measure_advice(load, diagnosis, warm + seconds),
    ]  # fmt: skip


def measure_advice(load: Load, diagnosis: Diagnosis, second: int) -> list[Figure]:
    """Measure the advice when every host and every run gets a condition in the same second and keeps it."""
    conditions, advisor = Conditions(), Advisor(DiagnosisSettings().advice)
    hosts = len(load.fleet.hosts())
    spent, slices = [], []
    for later in range(-2, ADVICE_SECONDS):  # two seconds of nothing: the metrics are found
        now_ns = load.second(second + 2 + later) + _SECOND // 2
        load.fleet.advance(now_ns)
        diagnosis.step(now_ns)
        assert diagnosis.view is not None
        if later == 0:
            conditions.load(_everywhere(hosts, now_ns), now_ns)
            gc.collect()
            gc.freeze()  # what this fleet is made of is not looked through again in the middle of a slice
        took = _slices(advisor.slices(diagnosis.view, conditions))
        if later >= 0:
            spent.append(sum(took))
            slices += took
    gc.unfreeze()
    note = f"a condition on each of {hosts:,} hosts and {hosts // 16} runs; {len(advisor.current):,} pieces of advice"
    return [
        at_most("advice with a condition on every host", float(np.mean(spent)), ADVICE_MS, "ms", note),
        plain("its slowest second, just after all were raised", float(np.max(spent)), "ms"),
        at_most("its longest slice", float(np.max(slices)), ADVICE_SLICE_MS, "ms"),
    ]


def _slices(work: Iterator[None]) -> list[float]:
    """CPU milliseconds of each slice."""
    took = []
    while True:
        started = time.thread_time()
        over = next(work, work) is work
        took.append(1e3 * (time.thread_time() - started))
        if over:
            return took


def _everywhere(hosts: int, now_ns: int) -> Iterator[Event]:
    """Conditions that many rules are asked about, on every host and run."""
    for number in range(hosts):
        kind = ("bottleneck_data_wait", "bottleneck_small_batch", "bottleneck_numa")[number % 3]
        yield _raised(kind, Subject(f"host-{number:05}"), now_ns)
    for number in range(hosts // 16):
        yield _raised("bottleneck_communication", Subject(run=f"run-{number}"), now_ns)


def _raised(kind: str, subject: Subject, now_ns: int) -> Event:
    return Event(
        condition=f"{kind} {subject.words()}", time_ns=now_ns, state=State.RAISED, kind=BY_NAME[kind], subject=subject,
        severity=BY_NAME[kind].severity, confidence=0.8, because="of the benchmark",
        evidence={"data_wait_ratio": 0.2, "waiting_ratio": 0.2, "remote_pages_ratio": 0.5}, raised_ns=now_ns,
    )  # fmt: skip


if __name__ == "__main__":
    report(measure())
