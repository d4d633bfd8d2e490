"""Where the readings of every metric lie: for one set of hosts and layouts, found once and kept."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.seen_metrics import ANY_GPU, SeenMetrics
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.window import Window
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout

Places = NDArray[np.int64]

_GPU_LABELS = frozenset({"gpu", "index"})


@dataclass(frozen=True, eq=False)
class Spots:
    """Along some subjects: the place of each one's reading in the arena, and its row in the window; −1: none."""

    arena: Places
    rows: Places

    @cached_property
    def windowed(self) -> bool:
        """Whether any has a row."""
        return bool((self.rows >= 0).any())

    @cached_property
    def rowless(self) -> Places:
        """Which have none."""
        return np.flatnonzero(self.rows < 0)


@dataclass(frozen=True, slots=True)
class ResourceSpots:
    """The same with the subjects, where a metric makes its own."""

    subjects: Subjects
    labels: tuple[Mapping[str, str], ...]
    spots: Spots


class HostPlan:
    """What a layout has, looked up by metric: (labels, column, row among the windowed) each."""

    __slots__ = ("_columns", "_gpu_columns", "_labels", "_layout", "_rows", "gpus")

    def __init__(self, layout: KnownLayout, windowed: Places) -> None:
        row_of = np.full(layout.count, -1, dtype=np.int64)
        row_of[windowed] = np.arange(len(windowed))
        self._rows: list[int] = row_of.tolist()
        self._layout = layout.layout
        self._columns: dict[str, list[tuple[Mapping[str, str], int, int]]] = {}  # of metrics that were asked for
        self._labels: dict[tuple[tuple[str, ...], tuple[str, ...]], Mapping[str, str]] = {}  # equal ones are one object
        self._gpu_columns: dict[tuple[str, tuple[tuple[str, str], ...]], Places] = {}
        self.gpus = tuple(dict.fromkeys(_gpus(self._layout)))

    @property
    def metrics(self) -> Iterable[str]:
        """Whatever it has."""
        return self._layout.places

    def columns(self, metric: str) -> Sequence[tuple[Mapping[str, str], int, int]]:
        """Those of a metric."""
        found = self._columns.get(metric)
        if found is None:
            places = self._layout.places.get(metric, ())
            found = self._columns[metric] = [
                (self._told(self._layout.columns[place]), place, self._rows[place]) for place in places
            ]
        return found

    def _told(self, column: Column) -> Mapping[str, str]:
        key = column.metric.labels, column.labels
        return self._labels.get(key) or self._labels.setdefault(key, dict(column.label_pairs()))

    def of_host(self, metric: str, where: Mapping[str, str]) -> tuple[int, int]:
        """The one column of a metric with these labels: its place in the layout and among the windowed."""
        for labels, offset, row in self.columns(metric):
            if labels == where:
                return offset, row
        return -1, -1

    def of_gpus(self, metric: str, where: Mapping[str, str]) -> Places:
        """The same of each GPU: GPU × (place, row)."""
        key = (metric, tuple(sorted(where.items())))
        found = self._gpu_columns.get(key)
        if found is None:
            found = np.full((len(self.gpus), 2), -1, dtype=np.int64)
            order = {gpu: number for number, gpu in enumerate(self.gpus)}
            for labels, offset, row in self.columns(metric):
                if "gpu" in labels and {k: v for k, v in labels.items() if k not in _GPU_LABELS} == where:
                    found[order[labels["gpu"]]] = offset, row
            self._gpu_columns[key] = found
        return found


@dataclass(eq=False)
class FleetPlan:
    """The places of the window's hosts at one census."""

    states: tuple[HostState, ...]
    plans: tuple[HostPlan, ...]
    starts: Places  # of each host in the arena
    firsts: Places  # of each host in the window
    known: tuple[HostState, ...] = ()  # every host of the fleet, also one that has said nothing since the start
    _host: dict[tuple[str, tuple[tuple[str, str], ...]], Spots] = field(default_factory=dict)
    _gpu: dict[tuple[str, tuple[tuple[str, str], ...]], Spots] = field(default_factory=dict)
    _resources: dict[str, ResourceSpots] = field(default_factory=dict)

    def keeping(self, before: "FleetPlan") -> "FleetPlan":
        """This plan, with the subjects of the one before where they are the same: arrays along them stay good."""
        for name in ("hosts", "gpus", "everyone"):
            old, new = getattr(before, name), getattr(self, name)
            if old.names == new.names and np.array_equal(old.hosts, new.hosts):
                self.__dict__[name] = old
        return self

    @cached_property
    def hosts(self) -> Subjects:
        """Every host."""
        return subjects([Subject(state.name) for state in self.states], np.arange(len(self.states)))

    @cached_property
    def everyone(self) -> Subjects:
        """Every host that is known, along `known`; where it stands in `hosts`, or −1."""
        places = {state.name: place for place, state in enumerate(self.states)}
        return subjects([Subject(state.name) for state in self.known], [places.get(s.name, -1) for s in self.known])

    @cached_property
    def gpus(self) -> Subjects:
        """Every GPU, host by host."""
        names = [
            Subject(state.name, gpu) for state, plan in zip(self.states, self.plans, strict=True) for gpu in plan.gpus
        ]
        return subjects(names, np.repeat(np.arange(len(self.states)), [len(plan.gpus) for plan in self.plans]))

    def host(self, metric: str, where: Mapping[str, str]) -> Spots:
        """Of a metric that a host has once."""
        key = (metric, tuple(sorted(where.items())))
        found = self._host.get(key)
        if found is None:
            pairs = np.array([plan.of_host(metric, where) for plan in self.plans], dtype=np.int64).reshape(-1, 2)
            found = self._host[key] = self._spots(pairs, np.arange(len(self.plans)))
        return found

    def gpu(self, metric: str, where: Mapping[str, str]) -> Spots:
        """Of a metric that each GPU has once."""
        key = (metric, tuple(sorted(where.items())))
        found = self._gpu.get(key)
        if found is None:
            pairs = np.concatenate(
                [np.empty((0, 2), dtype=np.int64), *(plan.of_gpus(metric, where) for plan in self.plans)]
            )
            found = self._gpu[key] = self._spots(pairs, self.gpus.hosts)
        return found

    def resources(self, metric: str) -> ResourceSpots:
        """Of a metric with labels of its own: a subject each."""
        found = self._resources.get(metric)
        if found is None:
            names: list[Subject] = []
            hosts: list[int] = []
            every: list[Mapping[str, str]] = []
            pairs: list[tuple[int, int]] = []
            for number, (state, plan) in enumerate(zip(self.states, self.plans, strict=True)):
                for labels, offset, row in plan.columns(metric):
                    names.append(_resource(state.name, labels))
                    hosts.append(number)
                    every.append(labels)
                    pairs.append((offset, row))
            spots = self._spots(np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(hosts, dtype=np.int64))
            found = self._resources[metric] = ResourceSpots(subjects(names, hosts), tuple(every), spots)
        return found

    def _spots(self, pairs: Places, hosts: Places) -> Spots:
        offsets, rows = pairs[:, 0], pairs[:, 1]
        return Spots(
            np.where(offsets >= 0, self.starts[hosts] + offsets, -1), np.where(rows >= 0, self.firsts[hosts] + rows, -1)
        )


def _gpus(layout: Layout) -> Iterator[str]:
    """Of each column of a GPU, whose it is; agents are free to send one that does not say."""
    for metric, places in layout.places.items():
        for column in (layout.columns[place] for place in places) if metric.startswith("gpu_") else ():
            names = column.metric.labels
            if "gpu" in names:
                yield column.labels[names.index("gpu")]


def _resource(host: str, labels: Mapping[str, str]) -> Subject:
    rest = "/".join(value for name, value in labels.items() if name not in _GPU_LABELS)
    return Subject(host, labels.get("gpu", ""), resource=rest)


class Planner:
    """Makes the plan of each census of the window, reusing what hosts had before."""

    def __init__(self) -> None:
        self.met = SeenMetrics()
        self._plans: dict[tuple[str, int], HostPlan] = {}
        self._census = -1
        self._last = FleetPlan((), (), _array([]), _array([]))

    def plan(self, fleet: Fleet) -> FleetPlan:
        """The plan for the hosts that have a window now; the same object while nobody is admitted to it or leaves."""
        if fleet.window.census != self._census:
            self._last = self._make(fleet.window.states, fleet.window, tuple(fleet.hosts()))
            self._census = fleet.window.census
        return self._last

    def _make(self, states: tuple[HostState, ...], window: Window, known: tuple[HostState, ...]) -> FleetPlan:
        plans: dict[tuple[str, int], HostPlan] = {}
        order, firsts = [], []
        for state in states:
            first, windowed = window.place_of(state.name)
            layout = state.layout
            assert layout is not None  # noqa: S101  a host without a layout has no rows
            key = (state.name, layout.digest)
            plan = plans[key] = self._plans.get(key) or self._meet(HostPlan(layout, windowed))
            order.append(plan)
            firsts.append(first)
        self._plans = plans
        made = FleetPlan(states, tuple(order), _array([state.start for state in states]), _array(firsts), known)
        return made.keeping(self._last)

    def _meet(self, plan: HostPlan) -> HostPlan:
        self.met.meet(plan.metrics)
        if plan.gpus:
            self.met.meet([ANY_GPU])
        return plan


def _array(places: Sequence[int]) -> Places:
    return np.array(places, dtype=np.int64)
