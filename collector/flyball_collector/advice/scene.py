"""From a view and what stands in it to situations: one for each host and each run that something is said of."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flyball_collector.advice.checkpoint_watch import Habit
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.view import View
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_SECONDS = 60
_REPORTS = 16  # of each rank: the latest steps

LOCAL = "localhost"
"""The round trip over loopback, which no service answers."""


class Scene:
    """The facts of one moment, as arrays; a situation takes its host's numbers from them."""

    def __init__(
        self,
        view: View,
        overlaps: Mapping[str, float],
        opened: Floats,
        habits: Mapping[str, Habit] = MappingProxyType({}),
    ) -> None:
        """`overlaps`: by host, the share of the time that input was waited for while its GPUs idled, as measured
        before; `opened`: along hosts, TCP connections opened a second; `habits`: how runs write checkpoints."""
        self._view = view
        self._overlaps = overlaps
        self._opened = opened
        self._habits = habits
        self._ranks_of_host: dict[str, list[int]] = defaultdict(list)
        self._ranks_of_run: dict[str, list[int]] = defaultdict(list)
        for place, key in enumerate(view.ranks.keys):
            self._ranks_of_host[key.host].append(place)
            self._ranks_of_run[key.run].append(place)

    def situations(self, events: Iterable[Event]) -> Iterator[Situation]:
        """What stands, by host; and by run where it names no host. One by one: there may be thousands."""
        by_place: dict[tuple[str, str], dict[str, list[Event]]] = {}
        for event in events:
            host = event.subject.host
            kinds = by_place.setdefault((host, "" if host else event.subject.run), {})
            kinds.setdefault(event.kind.name, []).append(event)
        for (host, run), kinds in by_place.items():
            standing = {kind: tuple(events) for kind, events in kinds.items()}
            yield self._of_host(Subject(host), standing) if host else self._of_run(Subject(run=run), standing)

    def overlap(self, host: str) -> float | None:
        """How much of the last seconds this host waited for input while its GPUs idled, at most."""
        place = self._view.hosts.places.get(Subject(host))
        wait = self._share("data_wait_seconds", self._ranks_of_host.get(host, []))
        if place is None or wait is None or np.isnan(self._busy_now[place]):
            return None
        return min(wait, max(0.0, 1.0 - float(self._busy_now[place])))

    def _of_host(self, subject: Subject, standing: Mapping[str, tuple[Event, ...]]) -> Situation:
        place = self._view.hosts.places.get(subject)
        ranks = self._ranks_of_host.get(subject.host, [])
        facts = _told(standing) | self._run_facts(ranks)
        if place is None:
            return Situation(subject=subject, standing=standing, **facts)
        inventory = self._view.states[place].inventory
        facts |= self._gpu_facts(place, inventory) | self._host_facts(place)
        facts["waiting_while_idle_share"] = self._overlaps.get(subject.host)
        facts["power_source"] = inventory.power_source if inventory is not None else ""
        return Situation(subject=subject, standing=standing, **facts)

    def _of_run(self, subject: Subject, standing: Mapping[str, tuple[Event, ...]]) -> Situation:
        ranks = self._ranks_of_run.get(subject.run, [])
        return Situation(subject=subject, standing=standing, **(_told(standing) | self._run_facts(ranks)))

    # -- facts --

    def _run_facts(self, ranks: Sequence[int]) -> dict[str, Any]:
        """What the ranks' latest reports say, as far as they say it; of several runs on one host none is named."""
        if not ranks:
            return {}
        table = self._view.ranks
        runs = {table.keys[place].run for place in ranks}
        world = float(table.column("world_size")[ranks].max())
        facts: dict[str, Any] = {
            "world_size": int(world) if world >= 1 else None,
            "step_seconds": _median(self._steps[:, ranks]),
            "data_wait_share": self._share("data_wait_seconds", ranks),
            "communication_share": self._share("waiting_seconds", ranks),
            "allocated_peak_bytes": _largest(table.column("allocated_peak_bytes")[ranks]),
            "reserved_peak_bytes": _largest(table.column("reserved_peak_bytes")[ranks]),
        }
        if len(runs) == 1:
            facts["run"] = run = runs.pop()
            habit = self._habits.get(run)
            facts["checkpoint_seconds"] = habit.cost_seconds if habit is not None else None
            facts["checkpoint_interval_seconds"] = habit.interval_seconds if habit is not None else None
        return {name: value for name, value in facts.items() if value is not None}

    def _gpu_facts(self, place: int, inventory: pb.Inventory | None) -> dict[str, Any]:
        capabilities = [_number(gpu.compute_capability) for gpu in inventory.gpus] if inventory is not None else []
        return {
            "gpus": int(self._gpu_counts[place]),
            "gpu_busy_share": _known(self._busy[place]),
            "gpu_power_share": _known(self._power[place]),
            "gpu_memory_total_bytes": _known(self._gpu_memory[place]),
            "tensor_active_share": _known(self._tensor[place]),
            "sm_active_share": _known(self._sm[place]),
            "capability": min((c for c in capabilities if c is not None), default=None),
        }

    def _host_facts(self, place: int) -> dict[str, Any]:
        return {name: _known(values[place]) for name, values in self._hosts.items()}

    @cached_property
    def _hosts(self) -> dict[str, Floats]:
        """Every fact along hosts that one look gives."""
        view = self._view
        limit, working = view.host("cgroup_memory_limit_bytes"), view.host("cgroup_memory_working_bytes")
        shared, used = view.host("shared_memory_total_bytes"), view.host("shared_memory_used_bytes")
        disks = view.resources("disk_busy_seconds_total")
        disk = view.largest_by_host(view.resource("disk_busy_seconds_total", _SECONDS), disks.hosts)
        return {
            "cpu_busy_share": view.host("cpu_busy_ratio", _SECONDS),
            "cores": np.fmin(view.host("cpu_threads_online"), view.host("cgroup_cpu_limit_cores")),
            "io_stalled_share": view.host("pressure_seconds_total", _SECONDS, resource="io", extent="full"),
            "disk_busy_share": disk,
            "memory_available_bytes": np.fmin(view.host("memory_available_bytes"), limit - working),
            "memory_total_bytes": np.fmin(view.host("memory_total_bytes"), limit),
            "shared_memory_free_bytes": shared - used,
            "shared_memory_total_bytes": shared,
            "call_seconds": self._call_seconds,
            "connections_opened_per_second": self._opened,
        }

    @cached_property
    def _call_seconds(self) -> Floats:
        """The slowest round trip to a service of each host."""
        view = self._view
        targets = view.resources("latency_seconds")
        remote = np.array([labels.get("target") != LOCAL for labels in view.labels("latency_seconds")], dtype=bool)
        seconds = np.where(remote, view.resource("latency_seconds", _SECONDS), np.nan)
        return view.largest_by_host(seconds, targets.hosts)

    @cached_property
    def _gpu_counts(self) -> Places:
        return np.bincount(self._view.gpus.hosts, minlength=len(self._view.hosts))

    @cached_property
    def _busy(self) -> Floats:
        return self._gpu_mean("gpu_utilization_ratio")

    @cached_property
    def _tensor(self) -> Floats:
        return self._gpu_mean("gpu_tensor_active_ratio")

    @cached_property
    def _sm(self) -> Floats:
        return self._gpu_mean("gpu_sm_active_ratio")

    @cached_property
    def _busy_now(self) -> Floats:
        return self._mean(self._view.gpu("gpu_utilization_ratio", 10))

    @cached_property
    def _power(self) -> Floats:
        limit = self._view.gpu("gpu_power_limit_watts")
        share = np.full(len(limit), np.nan)
        np.divide(self._view.gpu("gpu_power_watts", _SECONDS), limit, out=share, where=limit > 0)
        return self._mean(share)

    @cached_property
    def _gpu_memory(self) -> Floats:
        """The smallest of a host's GPUs: a rank must fit there too."""
        view = self._view
        return -view.largest_by_host(-view.gpu("gpu_memory_total_bytes"), view.gpus.hosts)

    @cached_property
    def _steps(self) -> NDArray[np.float32]:
        return self._view.ranks.ring("step_seconds", _REPORTS)

    def _gpu_mean(self, metric: str) -> Floats:
        return self._mean(self._view.gpu(metric, _SECONDS))

    def _mean(self, values: Floats) -> Floats:
        view = self._view
        counts = np.bincount(view.gpus.hosts[~np.isnan(values)], minlength=len(view.hosts))
        mean = np.full(len(view.hosts), np.nan)
        np.divide(view.sum_by_host(values, view.gpus.hosts), counts, out=mean, where=counts > 0)
        return mean

    def _share(self, ring: str, ranks: Sequence[int]) -> float | None:
        """Share of the latest steps that a part of them took, over these ranks."""
        if not ranks:
            return None
        places = np.array(ranks)
        part, whole = self._view.ranks.ring(ring, _REPORTS, places), self._steps[:, places]
        both = ~np.isnan(part) & ~np.isnan(whole)
        total = float(whole[both].sum())
        return min(1.0, float(part[both].sum()) / total) if total > 0 else None


_TOLD = {
    "data_wait_share": ("data_wait_ratio",),
    "service_share": ("service_ratio",),
    "calls_per_sample": ("calls_per_sample",),
    "pool_wait_share": ("pool_wait_ratio",),
    "server_queue_share": ("server_queue_ratio",),
    "checkpoint_share": ("checkpoint_ratio",),
    "checkpoint_seconds": ("checkpoint_seconds",),
    "checkpoint_interval_seconds": ("checkpoint_interval_seconds",),
}
"""Facts that detectors give as evidence."""


def _told(standing: Mapping[str, tuple[Event, ...]]) -> dict[str, Any]:
    said = {name: value for events in standing.values() for event in events for name, value in event.evidence.items()}
    return {fact: said[name] for fact, names in _TOLD.items() for name in names if name in said}


def _known(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _largest(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else None


def _median(values: NDArray[np.float32]) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
