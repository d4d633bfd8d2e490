"""Input of a rank: loader workers and prefetch."""

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.declared.declared_values import SharedValue
from flyball_collector.adjustments.rules.rule import AdjustmentRule, RuleChange
from flyball_collector.adjustments.rules.run_case import RunCase
from flyball_collector.adjustments.rules.thresholds import CORES, HOST_MEMORY_FREE
from flyball_collector.advice.advice import Advice
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event

FIRST_WORKERS = 2
"""Workers to add at first. Later changes at most double them; each is kept only if it brings something."""

PREFETCH_GAIN = (1.0, 1.1)
"""Expected gain of more prefetch: it evens out slow batches, but adds no throughput. An assumption; it is measured."""

_HOST_MEMORY = ("memory_pressure", "bottleneck_memory", "bottleneck_swap", "oom_kill")
_MEMORY = (*_HOST_MEMORY, "memory_exhaustion", "memory_leak")


def most_workers(case: RunCase, value: SharedValue) -> float:
    """Return the most workers of a rank for which no host has more workers than cores; 0 if cores are unknown."""
    cores = {host.subject.host: host.cores for host in case.situation.hosts}
    room = [(cores.get(host) or 0.0) * CORES // ranks for host, ranks in value.by_host.items()]
    return min(room, default=0.0)


def has_memory(hosts: tuple[Situation, ...]) -> bool:
    """Return True if every host is known to have memory available."""
    return all(
        host.memory_available_bytes is not None
        and host.memory_total_bytes is not None
        and host.memory_available_bytes >= HOST_MEMORY_FREE * host.memory_total_bytes
        for host in hosts
    )


def advised_workers(case: RunCase, value: SharedValue) -> tuple[Advice, float] | None:
    """Return the advice to add workers, and how many each rank of its host may get."""
    found = [
        (one, one.proposed.get("workers_added", 0.0) // value.by_host.get(one.subject.host, 1))
        for one in case.situation.advised("more_workers")
    ]
    return min(found, key=lambda each: each[1], default=None)


def _more(case: RunCase, value: SharedValue) -> tuple[Advice, Value] | None:
    """Return the advice, and the next number of workers within all limits."""
    advised = advised_workers(case, value)
    if advised is None:
        return None
    advice, added = advised
    now = value.number
    limit = min(now + max(FIRST_WORKERS, now), now + added, most_workers(case, value))
    more = value.at_most(limit)
    to = value.choice(more) if more is not None and more > now else None
    return None if to is None else (advice, to)


def find_add_workers(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose more loader workers if steps wait for input, and cores and memory are free."""
    found = _more(case, value)
    if found is None or case.situation.has(*_MEMORY):
        return None
    advice, to = found
    gain = (1.0, advice.gain.upper) if advice.gain is not None else None
    return RuleChange(to=to, because=advice.because, gain=gain)


def find_deepen_prefetch(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose more prefetched batches if steps wait for input and no workers can be added."""
    events = case.situation.events("bottleneck_data_wait")
    workers = case.of("loader_workers")
    more = value.above(value.number)
    if not events or more is None or case.situation.has(*_MEMORY) or not has_memory(case.situation.hosts):
        return None
    if workers is not None and (not workers.number or (not workers.blocked and _more(case, workers) is not None)):
        return None
    to = value.choice(more)
    because = events[0].because or events[0].kind.meaning
    return None if to is None else RuleChange(to=to, because=because, gain=PREFETCH_GAIN, events=events)


def find_remove_workers(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose half the loader workers if a host has too little memory."""
    events = case.unanswered(_host_memory(case), value.name)
    fewer = value.at_most(value.number / 2.0)
    to = value.choice(fewer) if events and fewer is not None and fewer >= 1 else None
    if to is None:
        return None
    return RuleChange(to=to, because=events[0].because or events[0].kind.meaning, gain=(0.5, 1.0), events=events)


def find_shorten_prefetch(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose fewer prefetched batches if a host has too little memory and workers cannot be removed."""
    workers = case.of("loader_workers")
    if workers is not None and not workers.blocked and (workers.at_most(workers.number / 2.0) or 0) >= 1:
        return None
    events = case.unanswered(_host_memory(case), value.name)
    fewer = value.below(value.number)
    to = value.choice(fewer) if events and fewer is not None and fewer >= 1 else None
    if to is None:
        return None
    return RuleChange(to=to, because=events[0].because or events[0].kind.meaning, gain=(0.9, 1.0), events=events)


def _host_memory(case: RunCase) -> tuple[Event, ...]:
    s = case.situation
    return (*s.events(*_HOST_MEMORY), *(e for e in s.events("memory_exhaustion") if not e.subject.gpu))


def find_fit_workers(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose as many loader workers as cores if there are more than twice as many."""
    most = most_workers(case, value)
    fewer = value.at_most(most)
    if most < 1 or value.number <= 2.0 * most or fewer is None or fewer < 1:
        return None
    to = value.choice(fewer)
    because = f"{value.number:g} loader workers for each rank, but {most:g} cores"
    return None if to is None else RuleChange(to=to, because=because, gain=(1.0, 1.1))


_SOURCES = "pytorch/kineto's profiler advice; TensorFlow's data performance guide"

RULES = (
    AdjustmentRule(
        name="add_loader_workers",
        lever="loader_workers",
        evidence="the advice `more_workers`: steps wait for input, and CPU, disks and memory have room",
        change="two more, later twice as many, at most one a core",
        inverse="rolled back if it does harm; `remove_loader_workers`",
        safety=1,
        source=_SOURCES,
        find=find_add_workers,
        hold_seconds=20.0,
    ),
    AdjustmentRule(
        name="deepen_prefetch",
        lever="loader_prefetch",
        evidence="`bottleneck_data_wait`, workers cannot be added, and 20 % of the host's memory is available",
        change="the next larger number of batches",
        inverse="rolled back if it does harm; `shorten_prefetch`",
        safety=1,
        source=_SOURCES,
        find=find_deepen_prefetch,
        hold_seconds=60.0,
    ),
    AdjustmentRule(
        name="remove_loader_workers",
        lever="loader_workers",
        evidence="`memory_pressure`, `bottleneck_memory`, `bottleneck_swap`, `oom_kill`, `memory_exhaustion` of a host",
        change="half as many, at least one",
        inverse="`add_loader_workers`",
        safety=1,
        source="systemd's oomd.conf(5); the PyTorch documentation of data loaders",
        find=find_remove_workers,
        hold_seconds=10.0,
        protects=True,
    ),
    AdjustmentRule(
        name="shorten_prefetch",
        lever="loader_prefetch",
        evidence="the same, and workers cannot be removed",
        change="the next smaller number of batches, at least one",
        inverse="`deepen_prefetch`",
        safety=1,
        source="the PyTorch documentation of data loaders",
        find=find_shorten_prefetch,
        hold_seconds=10.0,
        protects=True,
    ),
    AdjustmentRule(
        name="fit_loader_workers",
        lever="loader_workers",
        evidence="more than two loader workers for each core",
        change="one for each core",
        inverse="rolled back if it does harm",
        safety=1,
        source="the PyTorch data loading tutorial; smdebug's profiler rule on data loaders",
        find=find_fit_workers,
        hold_seconds=60.0,
    ),
)
