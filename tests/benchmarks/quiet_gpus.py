"""Count how often a GPU that behaves like its peers is reported as capped, hot or shared."""

import sys
import time
from collections import Counter, deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import State
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.peers.catalogue import peer_detectors
from flyball_collector.diagnosis.peers.settings import PeerSettings
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.fleet.ranks import Ranks
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.benchmarks.quiet_hosts import Wander

Floats = NDArray[np.float64]

KINDS = ("power_capped", "cooling_outlier", "co_tenant")
GPUS = 8
SPLIT = 0.2
"""Share of the hosts whose GPUs have different jobs that no run distinguishes."""

LIMIT = 700.0
_START = 1.7e9
_DAY = 1440
_RECENT_MINUTES = 5
_CHANGE = 4 / _DAY  # another job on a host; and on one GPU of a host that is shared out
_NO_RANKS = Ranks(max_ranks=64)


class _View(ArrayView):
    recent: Floats  # power over the last minutes

    @property
    def ranks(self) -> Ranks:
        return _NO_RANKS

    def gpu_samples(self, metric: str, horizon: int, **where: str) -> NDArray[np.int64]:  # noqa: ARG002
        return np.full(len(self.gpus), horizon)

    def gpu(self, metric: str, horizon: int | None = None, **where: str) -> Floats:
        if metric == "gpu_power_watts" and horizon == _RECENT_MINUTES * 60:
            return self.recent
        return super().gpu(metric, horizon, **where)


class QuietGpus:
    """Jobs of all eight GPUs or of single ones; heat follows power with a lag, places and inlets differ."""

    def __init__(self, hosts: int, seed: int, split: float) -> None:
        rng = self._rng = np.random.default_rng(seed)
        self.machines = Machines(hosts, gpus=GPUS)
        count = self._count = hosts * GPUS
        self._host = np.arange(count) // GPUS
        self._split = rng.random(hosts) < split  # hosts whose GPUs go to several jobs
        self._silicon = rng.normal(1.0, 0.012, count)  # clocks at one power
        behind = np.tile(np.arange(GPUS) % 4 / 3, hosts)  # in the others' warm air
        self._place = rng.uniform(0, 4, hosts)[self._host] * behind + rng.normal(0, 0.8, count)
        self._resistance = rng.normal(0.055, 0.001, count)  # degrees a watt
        self._inlet, self._phase = rng.uniform(18, 30, hosts), rng.random(hosts)
        self._demand = rng.uniform(75, 900, hosts)[self._host]
        self._heat = self._inlet[self._host] + self._resistance * np.minimum(self._demand, LIMIT)
        self._together = Wander.of(rng, hosts, (2, 120), (0.005, 0.08))
        self._alone = Wander.of(rng, count, (2, 120), (0.002, 0.02))
        self._air = Wander.of(rng, hosts, (5, 120), (0.2, 1.5))
        for number in np.flatnonzero(~self._split).tolist():
            self.machines.states[number].tenancy = _held_by_one_run(number, self._gpus_of(number))
        for number in np.flatnonzero(rng.random(hosts) < 0.05).tolist():  # a daemon of the system looks at a GPU
            self._watch(number, int(rng.uniform(1, 5) * 1e8))

    def day(self, start: float) -> Iterator[_View]:
        """The views of one day."""
        rng, count = self._rng, self._count
        powers: deque[Floats] = deque(maxlen=_RECENT_MINUTES)
        together, alone, air = (wander.stretch(_DAY) for wander in (self._together, self._alone, self._air))
        for minute in range(_DAY):
            self._jobs()
            wanted = self._demand * (1 + together[minute][self._host] + alone[minute])
            power = np.clip(wanted + rng.normal(0, 4, count), 70, LIMIT)
            busy = self._demand > 110
            lack = np.maximum(wanted / LIMIT - 1, 0)
            clock = 1.98e9 * self._silicon * (1 - 0.35 * np.minimum(lack, 0.6)) + rng.normal(0, 6e6, count)
            day = 2 * np.sin(2 * np.pi * (minute / _DAY + self._phase))
            rest = (self._inlet + day + air[minute])[self._host] + self._place * power / LIMIT
            self._heat += (rest + self._resistance * power - self._heat) * -np.expm1(-1 / 1.5)
            powers.append(power)
            view = _View(
                self.machines,
                start + 60.0 * minute,
                gpu={
                    "gpu_temperature_celsius": np.round(self._heat + rng.normal(0, 0.3, count)),
                    "gpu_power_watts": power,
                    "gpu_power_limit_watts": np.full(count, LIMIT),
                    "gpu_utilization_ratio": np.where(busy, np.clip(rng.normal(0.97, 0.03, count), 0, 1), 0.0),
                    "gpu_sm_clock_hertz": np.where(busy, np.minimum(clock, 1.98e9), 3.45e8),
                    "gpu_throttle_active/sw_power_cap": (wanted >= LIMIT).astype(np.float64),
                    "gpu_memory_total_bytes": np.full(count, 8.5e10),
                },
            )
            view.recent = np.mean(powers, axis=0)
            yield view

    def _jobs(self) -> None:
        """Now and then a host, or one GPU of a shared one, gets other work, or none."""
        rng, split = self._rng, self._split[self._host]
        hosts = rng.random(len(self._split)) < _CHANGE
        whole = np.where(rng.random(len(hosts)) < 0.2, 75.0, rng.uniform(250, 900, len(hosts)))
        self._demand = np.where(hosts[self._host] & ~split, whole[self._host], self._demand)
        single = split & (rng.random(self._count) < _CHANGE)
        wanted = np.where(rng.random(self._count) < 0.3, 75.0, rng.uniform(150, 900, self._count))
        self._demand = np.where(single, wanted, self._demand)

    def _gpus_of(self, number: int) -> list[str]:
        return [subject.gpu for subject in self.machines.gpus.names[number * GPUS : (number + 1) * GPUS]]

    def _watch(self, number: int, memory: int) -> None:
        state, gpu = self.machines.states[number], self._gpus_of(number)[0]
        monitor = pb.Member(pid=100, user="root", command="monitor", gpus=[gpu], started_ns=2)
        held = state.tenancy.members if state.tenancy is not None else ()
        state.tenancy = pb.Tenancy(members=[*held, monitor])
        uses = [(10, 6 * 10**10, 0.95), (100, memory, 0.005)]
        state.extras = pb.Record(
            gpu_processes=[
                pb.GpuProcess(gpu=gpu, pid=pid, memory_used_bytes=used, utilization_ratio=share)
                for pid, used, share in uses
            ]
        )


def _held_by_one_run(number: int, gpus: list[str]) -> pb.Tenancy:
    return pb.Tenancy(
        members=[
            pb.Member(pid=10 + rank, run=f"run-{number}", rank=rank, user="anna", gpus=[gpu], started_ns=1)
            for rank, gpu in enumerate(gpus)
        ]
    )


def alerts_of_gpus(hosts: int, days: int, seed: int, split: float = SPLIT) -> Counter[str]:
    """Alerts by kind; `split` is the share of hosts whose GPUs have unlike jobs."""
    fleet = QuietGpus(hosts, seed, split)
    detectors, conditions = peer_detectors(PeerSettings(), Runs()), Conditions()
    alerts: Counter[str] = Counter()
    for day in range(days):
        for view in fleet.day(_START + 86_400.0 * day):
            claims = [claim for detector in detectors for claim in detector.observe(view)]
            events = conditions.apply(claims, view.now_ns)
            alerts.update(event.kind.name for event in events if event.state is State.RAISED)
    return alerts


if __name__ == "__main__":
    count, length = int(sys.argv[1]), int(sys.argv[2])
    started = time.process_time()
    found = alerts_of_gpus(count, length, 7, float(sys.argv[3]) if len(sys.argv) > 3 else SPLIT)
    print(f"{count * length} host-days, {time.process_time() - started:.0f} s of CPU: {dict(found)}")
