"""Measure when memory that fills along a line is first reported, and whether the reported time holds."""

import sys

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from tests.benchmarks.figure import Figure, at_least, plain, report

Floats = NDArray[np.float64]

SEED = 20_261_127
HOSTS = 60
LENGTHS = (60, 90, 150, 240, 400, 660, 900, 1500, 3600, 7200)
"""Seconds from the beginning to the end."""

METRICS = ("memory_used_ratio", "cgroup_memory_used_ratio", "shared_memory_used_ratio", "gpu")
EARLY_SECONDS = 600.0
"""Nothing needs to be reported earlier."""

_START = 1.7e9
_TOTAL = 80 * 2.0**30


def ramps(rng: np.random.Generator, seconds: int, hosts: int) -> tuple[Floats, int]:
    """Draw use that rests and then fills (second × host), and the second of the end."""
    quiet = int(rng.integers(40, 300))
    begin, spread = rng.uniform(0.05, 0.75, hosts), np.exp(rng.uniform(np.log(0.0003), np.log(0.005), hosts))
    line = np.concatenate([np.zeros(quiet), np.arange(1, seconds + 1) / seconds])[:, None]
    noise = spread * rng.normal(size=(quiet + seconds, hosts))
    return np.minimum(begin + (1 - begin) * line + noise, 1.0), quiet + seconds - 1


def first_events(use: Floats, metric: str) -> dict[int, tuple[int, Event]]:
    """Return for each host the second and the event of the first report."""
    hosts = use.shape[1]
    machines = Machines(hosts, gpus=1 if metric == "gpu" else 0)
    detector, conditions = MemoryExhaustion(ForecastSettings()), Conditions()
    first: dict[int, tuple[int, Event]] = {}
    for second, values in enumerate(use):
        gpu = {
            "gpu_memory_used_bytes": values * _TOTAL,
            "gpu_memory_total_bytes": np.full(hosts, _TOTAL),
            "gpu_utilization_ratio": np.full(hosts, 0.9),
        }
        at = _START + second
        view = ArrayView(machines, at, gpu=gpu) if metric == "gpu" else ArrayView(machines, at, host={metric: values})
        for event in conditions.apply(detector.observe(view), view.now_ns):
            if event.state is State.RAISED:
                first.setdefault(int(event.subject.host.rpartition("-")[2]), (second, event))
    return first


def holds(event: Event, left: float) -> bool:
    """Return True if the interval of a report holds the time that was left, to a reading."""
    low, high = event.seconds_left_low, event.seconds_left_high
    return low is not None and high is not None and low - 1 <= left <= high + 1


def figures(hosts: int, seed: int) -> list[Figure]:
    """Return the shares of ramps that are reported in time and whose interval holds, and the times left."""
    rng, found = np.random.default_rng(seed), list[Figure]()
    early, held = list[bool](), list[bool]()
    for seconds in LENGTHS:
        times = list[float]()
        for metric in METRICS:
            use, end = ramps(rng, seconds, hosts)
            first = first_events(use, metric)
            times += [end - first[host][0] if host in first else 0.0 for host in range(hosts)]
            held += [holds(event, end - second) for second, event in first.values()]
        wanted = min(seconds / 2, EARLY_SECONDS)
        in_time = np.array(times) >= wanted - 1
        early += in_time.tolist()
        note = f"half of the room or 10 min: {wanted:.0f} s; in time {in_time.mean():.1%}"
        found.append(plain(f"first word on a ramp of {seconds} s", float(np.median(times)), "s before", note))
    print(f"seed {seed}", file=sys.stderr)
    return [
        at_least("reported while half of the room is free, or 10 min before", float(np.mean(early)), 0.9, "of ramps"),
        at_least("the interval of the first word holds the end", float(np.mean(held)), 0.9, "of ramps"),
        *found,
    ]


if __name__ == "__main__":
    report(figures(HOSTS // 4, SEED))
