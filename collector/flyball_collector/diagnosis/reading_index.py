"""Finds where the readings of each metric are stored. The result is kept until hosts or layouts change."""

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
class Positions:
    """The position of each subject's reading in the arena, and its row in the window; −1 means none."""

    arena: Places
    rows: Places

    @cached_property
    def windowed(self) -> bool:
        """Return True if any subject has a row in the window."""
        return bool((self.rows >= 0).any())

    @cached_property
    def absent(self) -> bool:
        """Return True if no subject has this reading."""
        return bool((self.arena < 0).all())

    @cached_property
    def rowless(self) -> Places:
        """The subjects without a row in the window."""
        return np.flatnonzero(self.rows < 0)


@dataclass(frozen=True, slots=True)
class ResourcePositions:
    """The positions of a metric with its own labels, and the subjects that these labels make."""

    subjects: Subjects
    labels: tuple[Mapping[str, str], ...]
    positions: Positions


class LayoutIndex:
    """The columns of a layout by metric: (labels, column, row in the window)."""

    __slots__ = ("_columns", "_gpu_columns", "_labels", "_layout", "_rows", "gpus")

    def __init__(self, layout: KnownLayout, windowed: Places) -> None:
        row_of = np.full(layout.count, -1, dtype=np.int64)
        row_of[windowed] = np.arange(len(windowed))
        self._rows: list[int] = row_of.tolist()
        self._layout = layout.layout
        self._columns: dict[str, list[tuple[Mapping[str, str], int, int]]] = {}  # filled on demand
        self._labels: dict[tuple[tuple[str, ...], tuple[str, ...]], Mapping[str, str]] = {}  # shares equal labels
        self._gpu_columns: dict[tuple[str, tuple[tuple[str, str], ...]], Places] = {}
        self.gpus = tuple(dict.fromkeys(_gpus(self._layout)))

    @property
    def metrics(self) -> Iterable[str]:
        """All metrics of the layout."""
        return self._layout.places

    def columns(self, metric: str) -> Sequence[tuple[Mapping[str, str], int, int]]:
        """Return the columns of a metric."""
        found = self._columns.get(metric)
        if found is None:
            places = self._layout.places.get(metric, ())
            found = self._columns[metric] = [
                (self._labels_of(self._layout.columns[place]), place, self._rows[place]) for place in places
            ]
        return found

    def _labels_of(self, column: Column) -> Mapping[str, str]:
        key = column.metric.labels, column.labels
        return self._labels.get(key) or self._labels.setdefault(key, dict(column.label_pairs()))

    def of_host(self, metric: str, where: Mapping[str, str]) -> tuple[int, int]:
        """Return the column of a metric with exactly these labels, and its row in the window; −1 if there is none."""
        for labels, offset, row in self.columns(metric):
            if labels == where:
                return offset, row
        return -1, -1

    def of_gpus(self, metric: str, where: Mapping[str, str]) -> Places:
        """Return the columns of a metric for each GPU: GPU × (column, row)."""
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
class FleetIndex:
    """The positions of all readings while the set of hosts in the window stays the same."""

    states: tuple[HostState, ...]
    layouts: tuple[LayoutIndex, ...]
    starts: Places  # of each host in the arena
    firsts: Places  # of each host in the window
    known: tuple[HostState, ...] = ()  # every host of the fleet, also those without a record since the start
    _host: dict[tuple[str, tuple[tuple[str, str], ...]], Positions] = field(default_factory=dict)
    _gpu: dict[tuple[str, tuple[tuple[str, str], ...]], Positions] = field(default_factory=dict)
    _resources: dict[str, ResourcePositions] = field(default_factory=dict)

    def reusing(self, before: "FleetIndex") -> "FleetIndex":
        """Return this index with the old `Subjects` objects where they are equal: arrays along them stay valid."""
        for name in ("hosts", "gpus", "everyone"):
            old, new = getattr(before, name), getattr(self, name)
            if old.names == new.names and np.array_equal(old.hosts, new.hosts):
                self.__dict__[name] = old
        return self

    @cached_property
    def hosts(self) -> Subjects:
        """All hosts in the window."""
        return subjects([Subject(state.name) for state in self.states], np.arange(len(self.states)))

    @cached_property
    def everyone(self) -> Subjects:
        """All known hosts, along `known`. Their `hosts` are positions in `hosts`, or −1."""
        places = {state.name: place for place, state in enumerate(self.states)}
        return subjects([Subject(state.name) for state in self.known], [places.get(s.name, -1) for s in self.known])

    @cached_property
    def gpus(self) -> Subjects:
        """All GPUs, host by host."""
        names = [
            Subject(state.name, gpu)
            for state, layout in zip(self.states, self.layouts, strict=True)
            for gpu in layout.gpus
        ]
        return subjects(names, np.repeat(np.arange(len(self.states)), [len(layout.gpus) for layout in self.layouts]))

    def host(self, metric: str, where: Mapping[str, str]) -> Positions:
        """Return the positions of a metric that each host has once."""
        key = (metric, tuple(sorted(where.items())))
        found = self._host.get(key)
        if found is None:
            pairs = np.array([layout.of_host(metric, where) for layout in self.layouts], dtype=np.int64).reshape(-1, 2)
            found = self._host[key] = self._positions(pairs, np.arange(len(self.layouts)))
        return found

    def gpu(self, metric: str, where: Mapping[str, str]) -> Positions:
        """Return the positions of a metric that each GPU has once."""
        key = (metric, tuple(sorted(where.items())))
        found = self._gpu.get(key)
        if found is None:
            pairs = np.concatenate(
                [np.empty((0, 2), dtype=np.int64), *(layout.of_gpus(metric, where) for layout in self.layouts)]
            )
            found = self._gpu[key] = self._positions(pairs, self.gpus.hosts)
        return found

    def resources(self, metric: str) -> ResourcePositions:
        """Return the positions of a metric with its own labels, one subject for each column."""
        found = self._resources.get(metric)
        if found is None:
            names: list[Subject] = []
            hosts: list[int] = []
            every: list[Mapping[str, str]] = []
            pairs: list[tuple[int, int]] = []
            for number, (state, layout) in enumerate(zip(self.states, self.layouts, strict=True)):
                for labels, offset, row in layout.columns(metric):
                    names.append(_resource(state.name, labels))
                    hosts.append(number)
                    every.append(labels)
                    pairs.append((offset, row))
            positions = self._positions(np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(hosts, dtype=np.int64))
            found = self._resources[metric] = ResourcePositions(subjects(names, hosts), tuple(every), positions)
        return found

    def _positions(self, pairs: Places, hosts: Places) -> Positions:
        offsets, rows = pairs[:, 0], pairs[:, 1]
        return Positions(
            np.where(offsets >= 0, self.starts[hosts] + offsets, -1), np.where(rows >= 0, self.firsts[hosts] + rows, -1)
        )


def _gpus(layout: Layout) -> Iterator[str]:
    """Yield the GPU of each GPU column. Agents may send columns without this label."""
    for metric, places in layout.places.items():
        for column in (layout.columns[place] for place in places) if metric.startswith("gpu_") else ():
            names = column.metric.labels
            if "gpu" in names:
                yield column.labels[names.index("gpu")]


def _resource(host: str, labels: Mapping[str, str]) -> Subject:
    rest = "/".join(value for name, value in labels.items() if name not in _GPU_LABELS)
    return Subject(host, labels.get("gpu", ""), resource=rest)


class IndexCache:
    """Builds the index whenever the hosts in the window change, and reuses the layouts of hosts."""

    def __init__(self) -> None:
        self.seen_metrics = SeenMetrics()
        self._layouts: dict[tuple[str, int], LayoutIndex] = {}
        self._census = -1
        self._last = FleetIndex((), (), _array([]), _array([]))

    def index(self, fleet: Fleet) -> FleetIndex:
        """Return the index for the hosts in the window. It stays the same object until a host is added or removed."""
        if fleet.window.admissions != self._census:
            self._last = self._build(fleet.window.states, fleet.window, tuple(fleet.hosts()))
            self._census = fleet.window.admissions
        return self._last

    def _build(self, states: tuple[HostState, ...], window: Window, known: tuple[HostState, ...]) -> FleetIndex:
        layouts: dict[tuple[str, int], LayoutIndex] = {}
        order, firsts = [], []
        for state in states:
            first, windowed = window.place_of(state.name)
            layout = state.layout
            assert layout is not None  # noqa: S101  a host without a layout has no rows
            key = (state.name, layout.digest)
            index = layouts[key] = self._layouts.get(key) or self._add(LayoutIndex(layout, windowed))
            order.append(index)
            firsts.append(first)
        self._layouts = layouts
        built = FleetIndex(states, tuple(order), _array([state.start for state in states]), _array(firsts), known)
        return built.reusing(self._last)

    def _add(self, layout: LayoutIndex) -> LayoutIndex:
        self.seen_metrics.add(layout.metrics)
        if layout.gpus:
            self.seen_metrics.add([ANY_GPU])
        return layout


def _array(places: Sequence[int]) -> Places:
    return np.array(places, dtype=np.int64)
