"""Count false alarms of forecasts and comparisons in at least 10,000 simulated host-days without faults."""

import sys
import time
from collections import Counter

import numpy as np

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import State
from flyball_collector.diagnosis.forecast.detectors import build_forecasts
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from tests.benchmarks import quiet_gpus, quiet_runs
from tests.benchmarks.figure import Figure, plain, report
from tests.benchmarks.quiet_hosts import QuietHosts
from tests.benchmarks.quiet_seconds import QuietStarts

HOSTS, DAYS = 1000, 10
STARTS_A_DAY = 3
KINDS = ("memory_exhaustion", "memory_leak", "memory_pressure", "thermal_slowdown", "disk_full", "stuck_telemetry")
BOUND = 1.0
"""Alerts in 1,000 host-days and kind."""

_START = 1.7e9


def alerts_of_days(hosts: int, days: int, seed: int) -> Counter[str]:
    """Alerts by kind, through the detectors and the conditions that serve a fleet."""
    fleet = QuietHosts(hosts, seed)
    detectors, conditions = build_forecasts(ForecastSettings(), None), Conditions()  # as with readings each second
    alerts: Counter[str] = Counter()
    for day in range(days):
        for view in fleet.day(_START + 86_400.0 * day):
            claims = [claim for detector in detectors for claim in detector.observe(view)]
            events = conditions.apply(claims, view.now_ns)
            alerts.update(event.kind.name for event in events if event.state is State.RAISED)
    return alerts


def alerts_of_starts(hosts: int, rounds: int, seed: int) -> Counter[str]:
    """The same second by second over the first minutes of jobs, where memory moves fast."""
    alerts: Counter[str] = Counter()
    for number in range(rounds):
        detectors, conditions = build_forecasts(ForecastSettings()), Conditions()
        for view in QuietStarts(hosts, seed + number).views(_START):
            claims = [claim for detector in detectors for claim in detector.observe(view)]
            events = conditions.apply(claims, view.now_ns)
            alerts.update(event.kind.name for event in events if event.state is State.RAISED)
    return alerts


def upper_bound(alerts: int) -> float:
    """Of the mean of a Poisson count, one-sided 95 %: the mean under which so few are seen once in twenty."""
    low, high = float(alerts), float(alerts + 10 * np.sqrt(alerts + 1) + 10)
    for _ in range(60):
        middle = (low + high) / 2
        terms = np.cumsum([0.0, *(np.log(middle) - np.log(k) for k in range(1, alerts + 1))])
        low, high = (middle, high) if np.exp(terms - middle).sum() > 0.05 else (low, middle)
    return high


def comparisons(hosts: int, days: int, seed: int) -> list[Figure]:
    """The same of ranks that report every ten seconds, and of eight GPUs a host by the minute."""
    slow = quiet_runs.alerts_of_steps(hosts, days, 10.0, seed)
    print(f"ranks: {dict(slow)}", file=sys.stderr, flush=True)
    gpus = quiet_gpus.alerts_of_gpus(hosts, days, seed)
    print(f"GPUs: {dict(gpus)}", file=sys.stderr, flush=True)
    return [
        _rate(kind, counts[kind], hosts * days)
        for kinds, counts in ((quiet_runs.KINDS, slow), (quiet_gpus.KINDS, gpus))
        for kind in kinds
    ]


def _rate(kind: str, count: int, host_days: int) -> Figure:
    note = f"{count} alerts; upper bound (95 %) {1000 * upper_bound(count) / host_days:.2g}"
    rate = 1000 * count / host_days
    return Figure(f"false alerts: {kind}", rate, "per 1,000 host-days", "≤ 1", rate <= BOUND, note)


def figures(hosts: int, days: int, seed: int) -> list[Figure]:
    """Alerts in 1,000 host-days of each kind."""
    started = time.process_time()
    minutes = alerts_of_days(hosts, days, seed)
    print(f"days: {dict(minutes)}", file=sys.stderr, flush=True)
    wanted = STARTS_A_DAY * hosts * days
    rounds = -(-wanted // 2000)
    seconds = alerts_of_starts(2000, rounds, seed)
    print(f"starts: {dict(seconds)}", file=sys.stderr, flush=True)
    found = [plain("simulated host-days", hosts * days, "host-days", f"and {rounds * 2000} job starts, by seconds")]
    found += [_rate(kind, minutes[kind] + seconds[kind], hosts * days) for kind in KINDS]
    found += comparisons(hosts, days, seed)
    found.append(plain("CPU of the simulation", time.process_time() - started, "s"))
    return found


if __name__ == "__main__":
    report(figures(HOSTS, DAYS, 20_260_101))
