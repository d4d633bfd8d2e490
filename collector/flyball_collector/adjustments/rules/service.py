"""Training that waits for a service: calls a batch, connection pool, workers. One after the other, the best first."""

from dataclasses import dataclass

from flyball_collector.adjustments.declared.declared_values import SharedValue
from flyball_collector.adjustments.rules.rule import AdjustmentRule, RuleChange, percent
from flyball_collector.adjustments.rules.run_case import RunCase
from flyball_collector.adjustments.rules.thresholds import CALLS_PER_SAMPLE, SERVICE
from flyball_collector.advice.advice import Gain
from flyball_collector.advice.amdahl import removal
from flyball_collector.advice.levers import PUBLISHED, SampleTime, expect

SERVICE_LEVERS = frozenset({"calls_per_batch", "pool", "workers"})

MOST_SHARE = 0.98
"""Calls of several threads can take more time than passes."""

FEWER_CALLS = 0.7
"""A larger batch is proposed only if at most this part of the calls remains."""

AT_ONCE = 4.0
"""Workers are multiplied by this at most in one change, where most of their time passes in calls …"""

MOSTLY_CALLS = 0.5
"""… from this share on. Otherwise they are doubled."""

_CONNECTING = 0.05  # of a call: from here on, a pool is worth a try
_UNKNOWN_CALLS = (0.25, 0.9)  # of the calls' time, if their number is unknown


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """The parts of one unit of time of a sample, and the host's cores."""

    in_calls: float
    parts: SampleTime
    cores: float


def service_time(case: RunCase) -> ServiceTime | None:
    """Return where the time goes; None if calls take little of it, or if that is unknown."""
    s = case.situation
    in_calls = None if s.service_share is None else min(s.service_share, MOST_SHARE)
    if s.gpus and in_calls is not None:  # a call during which the GPU works costs nothing
        in_calls = None if s.gpu_busy_share is None else min(in_calls, max(0.0, 1.0 - s.gpu_busy_share))
    if in_calls is None or in_calls < SERVICE.enter:
        return None
    hosts = s.hosts
    cores = min((host.cores for host in hosts if host.cores), default=1.0)
    connecting = in_calls * max((host.pool_wait_share or 0.0 for host in hosts), default=0.0)
    busiest = max((host.cpu_busy_share * cores for host in hosts if host.cpu_busy_share is not None), default=1.0)
    computing = min(1.0 - in_calls, busiest)
    parts = SampleTime(in_calls - connecting, 0.0, connecting, computing, max(0.0, 1.0 - in_calls - computing))
    return ServiceTime(in_calls, parts, cores)


def find_batch_calls(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose more items in each call: the fewest for which a sample needs only a few calls."""
    time, calls = service_time(case), case.situation.calls_per_sample
    larger = [each for each in value.numbers if each > value.number]
    if time is None or not larger or not value.number or (calls is not None and calls <= CALLS_PER_SAMPLE):
        return None
    if calls is None:
        to, gain = value.choice(larger[0]), removal(time.in_calls, _UNKNOWN_CALLS)
        number = "an unknown number of calls"
    else:
        items = calls * value.number
        enough = next((each for each in larger if items / each <= CALLS_PER_SAMPLE), larger[-1])
        into = max(1.0, items / enough)
        if into > FEWER_CALLS * calls:
            return None
        to = value.choice(enough)
        gain = expect(time.parts, calls=calls, into=into, workers=1, cores=time.cores).batch_calls
        number = f"{calls:.3g} calls"
    because = f"{percent(time.in_calls)} of the time passes in {number} a sample"
    return None if to is None else RuleChange(to=to, because=because, gain=(gain.lower, gain.upper))


def find_grow_pool(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose a larger pool of connections (or cache) unless connecting is known to take no time.

    A pool that is too small for more workers comes before them.
    """
    time, waits = service_time(case), _known_waits(case)
    workers = _short_of(case, value)
    larger = value.at_least(workers * AT_ONCE) if workers else value.above(value.number)
    to = value.choice(larger) if larger is not None and larger > value.number else None
    if time is None or larger is None or to is None or (not workers and waits is not None and waits < _CONNECTING):
        return None
    low, high = 1.0, PUBLISHED["tune_pool"].upper
    if waits is not None:
        found = expect(time.parts, calls=1, into=1, workers=1, cores=time.cores).tune_pool
        low, high = found.lower, found.upper
    known = "no figure of the pool" if waits is None else f"calls wait for a connection {percent(waits)} of their time"
    because = f"{percent(time.in_calls)} of the time passes in calls; {known}"
    if workers:
        high = max(high, _workers_gain(time, workers, larger).upper)
        because += f"; more than {workers:g} workers need more than {value.number:g}"
    return RuleChange(to=to, because=because, gain=(low, high))


def _short_of(case: RunCase, pool: SharedValue) -> float:
    """Return the present number of workers if the pool is too small for more of them; otherwise 0."""
    workers = case.of("workers")
    short = workers is not None and not workers.blocked and pool.number < workers.number * AT_ONCE
    return workers.number if short and workers is not None else 0.0


def _known_waits(case: RunCase) -> float | None:
    """Return the largest share of a call that waits for a connection; None if it is unknown on all hosts."""
    known = [host.pool_wait_share for host in case.situation.hosts if host.pool_wait_share is not None]
    return max(known, default=None)


def find_add_service_workers(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose more parallel workers if they wait for a service and the CPU is free: not more than have connections."""
    time, now = service_time(case), value.number
    if time is None or case.situation.has("memory_pressure", "memory_exhaustion", "oom_kill"):
        return None
    factor = AT_ONCE if time.in_calls >= MOSTLY_CALLS else 2.0
    more = value.at_most(max(factor * now, value.above(now) or now))
    pool = case.of("pool")
    if pool is not None and not pool.blocked and pool.above(pool.number) is not None and more is not None:
        more = value.at_most(min(more, pool.number))
    to = value.choice(more) if more is not None and more > now else None
    if to is None or more is None:
        return None
    gain = _workers_gain(time, now, more)
    because = f"{percent(time.in_calls)} of a worker's time passes in calls; {time.cores:g} cores"
    return RuleChange(to=to, because=because, gain=(gain.lower, gain.upper))


def _workers_gain(time: ServiceTime, now: float, more: float) -> Gain:
    """Return the expected gain of more workers. They share the cores."""
    now = max(now, 1.0)
    cores = max(1.0, time.cores / now)
    return expect(time.parts, calls=1, into=1, workers=max(more / now, 1.0), cores=cores).parallel_workers


RULES = (
    AdjustmentRule(
        name="batch_calls",
        lever="calls_per_batch",
        evidence="at least 20 % of the time passes in calls to a service, and a sample needs more than 4 of them",
        change="the smallest number of items a call with which a sample needs at most 4",
        inverse="rolled back if it does harm",
        safety=1,
        source="NVIDIA Triton's optimization guide; published for one project (4 to 7×)",
        find=find_batch_calls,
        hold_seconds=10.0,
    ),
    AdjustmentRule(
        name="grow_pool",
        lever="pool",
        evidence="the same, and calls wait for connections, or it is unknown, or more workers need them",
        change="the next larger pool or cache, enough for four times the workers",
        inverse="rolled back if it does harm",
        safety=1,
        source="gRPC performance guide; HikariCP on pool sizing; published for one project (1.15×)",
        find=find_grow_pool,
        hold_seconds=10.0,
    ),
    AdjustmentRule(
        name="add_workers",
        lever="workers",
        evidence="the same, and cores and memory are free",
        change="twice as many workers, four times if most time passes in calls; not more than the pool serves",
        inverse="rolled back if it does harm",
        safety=1,
        source="arXiv 2211.04908 (concurrent loading); published for one project (2 to 3× with 4 to 8 workers)",
        find=find_add_service_workers,
        hold_seconds=10.0,
    ),
)
