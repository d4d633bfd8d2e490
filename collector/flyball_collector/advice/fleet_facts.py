"""Collects facts for the rules: one situation for each host and each run with active conditions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flyball_collector.advice.checkpoint_watch import CheckpointHabit
from flyball_collector.advice.idle_waits import mean_by_host
from flyball_collector.advice.rank_facts import Membership, facts_of
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View
from flyball_collector.fleet.runs import RunPhase
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_SECONDS = 60

_WORKS = 0.02
"""A GPU with less utilisation over a minute does nothing."""

_WATCHED = 4
"""As many main processes, and as many workers, are watched by an agent (`training_processes`, `training_workers`)."""

_FRESH_SECONDS = 60.0
"""A rank that has reported nothing for this long, or for three of its longest intervals, no longer counts."""

LOCAL = "localhost"
"""The agent's name for the round trip over loopback, which is not a service."""


class FleetFacts:
    """The facts of one moment as arrays along hosts, from which situations take their values."""

    def __init__(
        self,
        view: View,
        overlaps: Floats,
        opened: Floats,
        habits: Mapping[str, CheckpointHabit] = MappingProxyType({}),
        members: Membership | None = None,
    ) -> None:
        """Take the facts that are measured over time.

        `overlaps`: along hosts, the share of time with waits for input while GPUs idled. `opened`: along hosts, TCP
        connections opened a second. `habits`: how runs write checkpoints. `members`: the ranks of the view, if
        available.
        """
        self._view = view
        self._overlaps = overlaps
        self._opened = opened
        self._habits = habits
        self._members = members if members is not None else Membership(view.ranks.keys)
        self._made: dict[Part, dict[str, Floats]] = {}

    def prepare(self) -> Iterator[None]:
        """Make the arrays in slices. Without this, they are made when first needed."""
        for part in PARTS:
            self._part(part)
            yield

    def situations(self, events: Iterable[Event], places: Iterable[Subject] = ()) -> Iterator[Situation]:
        """Yield a situation for each of these places, and for each host with active conditions.

        Conditions that name no host have their run as their place.
        """
        by_place: dict[Subject, dict[str, list[Event]]] = {place: {} for place in places}
        for event in events:
            host = event.subject.host
            place = Subject(host) if host else Subject(run=event.subject.run)
            by_place.setdefault(place, {}).setdefault(event.kind.name, []).append(event)
        ranks = [self._reporting(self._members.of(subject)) for subject in by_place]
        rank_facts, host_facts = facts_of(self._view.ranks, ranks), self._host_facts(list(by_place))
        for (subject, kinds), rows, facts, own in zip(by_place.items(), ranks, rank_facts, host_facts, strict=True):
            active = {kind: tuple(events) for kind, events in kinds.items()}
            run = self._run_facts(self._members.run_of(rows))
            yield Situation(subject=subject, active=active, **(_from_evidence(active) | facts | run | own))

    # -- facts --

    def _reporting(self, places: Places) -> Places:
        """Return the ranks that still report. Those of ended runs stay in the table for some minutes."""
        found = places[self._fresh[places]]
        return found if len(found) else places

    @cached_property
    def _fresh(self) -> NDArray[np.bool_]:
        ranks = self._view.ranks
        age = self._view.now - ranks.column("received")
        return age <= np.maximum(_FRESH_SECONDS, 3 * known_or(0.0, ranks.column("longest_gap")))

    def _run_facts(self, run: str) -> dict[str, Any]:
        """Return the facts about a run, if there is one."""
        facts: dict[str, Any] = {"run": run} if run else {}
        habit = self._habits.get(run)
        if habit is not None:
            facts |= {"checkpoint_seconds": habit.cost_seconds, "checkpoint_interval_seconds": habit.interval_seconds}
        return facts

    def _host_facts(self, subjects: Sequence[Subject]) -> list[dict[str, Any]]:
        """Return the facts from the readings and the inventory of each subject that is a host."""
        found: list[dict[str, Any]] = [{} for _ in subjects]
        known = self._view.hosts.places
        places = {number: known[subject] for number, subject in enumerate(subjects) if subject in known}
        of_hosts = list(places.values())
        columns = [values[of_hosts].tolist() for values in self._arrays.values()]
        for (number, place), *values in zip(places.items(), *columns, strict=True):
            found[number] = self._from_inventory(place, self._view.states[place].inventory)
            found[number] |= {name: _known(value) for name, value in zip(self._arrays, values, strict=True)}
        return found

    def _from_inventory(self, place: int, inventory: pb.Inventory | None) -> dict[str, Any]:
        capabilities = [_number(gpu.compute_capability) for gpu in inventory.gpus] if inventory is not None else []
        return {
            "trains": bool(self._trains[place]),
            "gpus": int(self._gpu_counts[place]),
            "capability": min((c for c in capabilities if c is not None), default=None),
            "power_source": inventory.power_source if inventory is not None else "",
        }

    # -- arrays along hosts --

    @cached_property
    def _arrays(self) -> dict[str, Floats]:
        arrays = {name: values for part in PARTS for name, values in self._part(part).items()}
        return arrays | {"connections_opened_per_second": self._opened, "waiting_while_idle_share": self._overlaps}

    @cached_property
    def _trains(self) -> NDArray[np.bool_]:
        """Return where something trains: a run, a training process, or a GPU that works."""
        view, found = self._view, self._part(_gpu_busy)["gpu_busy_share"] >= _WORKS
        found |= view.host("training_processes") > 0  # False if unknown
        hosts = {key.host for key in view.ranks.keys}
        hosts.update(host for run in view.seen_runs().values() if run.phase is RunPhase.RUNNING for host in run.hosts)
        found[[at for name in hosts if (at := view.hosts.places.get(Subject(name))) is not None]] = True
        return found

    def _part(self, part: "Part") -> dict[str, Floats]:
        if part not in self._made:
            self._made[part] = part(self._view)
        return self._made[part]

    @cached_property
    def _gpu_counts(self) -> Places:
        return np.bincount(self._view.gpus.hosts, minlength=len(self._view.hosts))


def _of_processors(view: View) -> dict[str, Floats]:
    return {
        "cpu_busy_share": view.host("cpu_busy_ratio", _SECONDS),
        "cores": np.fmin(view.host("cpu_threads_online"), view.host("cgroup_cpu_limit_cores")),
        "io_stalled_share": view.host("pressure_seconds_total", _SECONDS, resource="io", extent="full"),
    }


def _of_programs(view: View) -> dict[str, Floats]:
    """Return the CPUs that trainings and all other processes use.

    It is unknown where more processes train than the agent watches, and where a limit of the control group counts.
    """
    mains, workers = view.host("training_processes"), known_or(0.0, view.host("training_workers"))
    threads, limit = view.host("cpu_threads_online"), view.host("cgroup_cpu_limit_cores")
    unclear = (mains >= _WATCHED) | (workers >= _WATCHED) | (limit < threads)
    own_workers = known_or(0.0, view.host("training_worker_cpu_seconds_total", _SECONDS))
    own = view.host("training_cpu_seconds_total", _SECONDS) + own_workers
    others = np.maximum(view.host("cpu_busy_ratio", _SECONDS) * threads - own, 0.0)
    return {"own_cores": np.where(unclear, np.nan, own), "other_cores": np.where(unclear, np.nan, others)}


def _of_memory(view: View) -> dict[str, Floats]:
    limit, working = view.host("cgroup_memory_limit_bytes"), view.host("cgroup_memory_working_bytes")
    shared, used = view.host("shared_memory_total_bytes"), view.host("shared_memory_used_bytes")
    return {
        "memory_available_bytes": np.fmin(view.host("memory_available_bytes"), limit - working),
        "memory_total_bytes": np.fmin(view.host("memory_total_bytes"), limit),
        "shared_memory_free_bytes": shared - used,
        "shared_memory_total_bytes": shared,
    }


def _of_disks(view: View) -> dict[str, Floats]:
    """Return the utilisation of each host's busiest disk."""
    disks = view.resources("disk_busy_seconds_total")
    busy = view.resource("disk_busy_seconds_total", _SECONDS)
    return {"disk_busy_share": view.largest_by_host(busy, disks.hosts)}


def _of_services(view: View) -> dict[str, Floats]:
    """Return each host's slowest round trip to a service."""
    targets = view.resources("latency_seconds")
    remote = np.array([labels.get("target") != LOCAL for labels in view.labels("latency_seconds")], dtype=bool)
    seconds = np.where(remote, view.resource("latency_seconds", _SECONDS), np.nan)
    return {"call_seconds": view.largest_by_host(seconds, targets.hosts)}


def _gpu_busy(view: View) -> dict[str, Floats]:
    return {"gpu_busy_share": _mean(view, "gpu_utilization_ratio")}


def _gpu_tensor(view: View) -> dict[str, Floats]:
    return {"tensor_active_share": _mean(view, "gpu_tensor_active_ratio")}


def _gpu_sm(view: View) -> dict[str, Floats]:
    return {"sm_active_share": _mean(view, "gpu_sm_active_ratio")}


def _gpu_power(view: View) -> dict[str, Floats]:
    limit = view.gpu("gpu_power_limit_watts")
    share = np.full(len(limit), np.nan)
    np.divide(view.gpu("gpu_power_watts", _SECONDS), limit, out=share, where=limit > 0)
    return {"gpu_power_share": mean_by_host(view, share)}


def _gpu_memory(view: View) -> dict[str, Floats]:
    """Return the smallest memory among a host's GPUs, because a rank must also fit there."""
    return {"gpu_memory_total_bytes": -view.largest_by_host(-view.gpu("gpu_memory_total_bytes"), view.gpus.hosts)}


def _mean(view: View, metric: str) -> Floats:
    return mean_by_host(view, view.gpu(metric, _SECONDS))


Part = Callable[[View], dict[str, Floats]]
"""Makes arrays along hosts, by the name of the fact."""

PARTS: tuple[Part, ...] = (
    _of_processors,
    _of_programs,
    _of_memory,
    _of_disks,
    _of_services,
    _gpu_busy,
    _gpu_tensor,
    _gpu_sm,
    _gpu_power,
    _gpu_memory,
)
"""The first call of each takes a few milliseconds to find its metrics."""

_EVIDENCE = {
    "data_wait_share": ("data_wait_ratio",),
    "ready_share": ("training_delay_ratio",),
    "service_share": ("service_ratio",),
    "calls_per_sample": ("calls_per_sample",),
    "pool_wait_share": ("pool_wait_ratio",),
    "server_queue_share": ("server_queue_ratio",),
    "checkpoint_share": ("checkpoint_ratio",),
    "checkpoint_seconds": ("checkpoint_seconds",),
    "checkpoint_interval_seconds": ("checkpoint_interval_seconds",),
}
"""Facts that detectors report as evidence."""


def _from_evidence(active: Mapping[str, tuple[Event, ...]]) -> dict[str, Any]:
    known = {name: value for events in active.values() for event in events for name, value in event.evidence.items()}
    return {fact: known[name] for fact, names in _EVIDENCE.items() for name in names if name in known}


def _known(value: float) -> float | None:
    return value if isfinite(value) else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
