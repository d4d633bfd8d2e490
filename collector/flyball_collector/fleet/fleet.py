"""The fleet: the newest reading of every column of every host, in one flat array.

Only the event loop writes. Another thread reads a `Snapshot` that was made on the event loop.
"""

from collections.abc import Collection

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from flyball_collector.blocks.block import RowGroup
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.ranks import Ranks
from flyball_collector.fleet.run_steps import RunSteps, run_steps
from flyball_collector.fleet.run_trends import RunTrends
from flyball_collector.fleet.runs import FleetRun, FleetRuns
from flyball_collector.fleet.snapshot import HostView, Snapshot
from flyball_collector.fleet.step_totals import StepTotals
from flyball_collector.fleet.window import Window
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column
from flyball_proto.v1 import telemetry_pb2 as pb

Readings = NDArray[np.float64]

_INITIAL_SIZE = 256


class FleetFull(Exception):
    """The limit of hosts is reached. The message names the setting to raise."""


class Fleet:
    """Hosts by name. A host's readings begin at `state.start` of the array; NaN is unknown.

    `generation` grows when a host is added or removed, or changes its layout. Positions in the array are valid for one
    generation, or for one admission of the window, which delays new hosts of a large fleet.
    """

    def __init__(self, max_hosts: int = 4096, window: Window | None = None, runs: FleetRuns | None = None) -> None:
        self.generation = 0
        self._moves = 0  # grows when a host is removed, or when all hosts are moved
        self.window = window if window is not None else Window()
        self.ranks = Ranks()
        self.trends = RunTrends()
        self.runs = runs if runs is not None else FleetRuns()
        self._max_hosts = max_hosts
        self._hosts: dict[str, HostState] = {}
        self._sorted: tuple[HostState, ...] | None = ()
        self._arena: Readings = np.full(_INITIAL_SIZE, np.nan)
        self._used = 0

    def ensure(self, name: str) -> HostState:
        """Return the host of this name. Add it if it is new."""
        state = self._hosts.get(name)
        if state is None:
            if len(self._hosts) >= self._max_hosts:
                remedy = "raise it, or remove old hosts"
                raise FleetFull(f"cannot add host {name!r}: limits.hosts is {self._max_hosts}; {remedy}")
            state = self._hosts[name] = HostState(name)
            self._changed()
        return state

    def get(self, name: str) -> HostState | None:
        """Return the host of this name, or `None`."""
        return self._hosts.get(name)

    def gpu_index_of(self, host: str, gpu: str) -> int | None:
        """Return the host's current number of one of its GPUs, if known. It may change at a reboot."""
        state = self._hosts.get(host)
        return None if state is None else state.gpu_index_of(gpu)

    def hosts(self) -> list[HostState]:
        """Return all hosts, sorted by name."""
        return list(self._by_name())

    def apply(self, tick: Tick) -> None:
        """Apply the newest tick of a host: its readings, and its step reports.

        Call it with every live tick, in order. It also sets `extras`. A tick that is not newer is ignored.
        """
        state = self._hosts.get(tick.host) or self.ensure(tick.host)
        if tick.sequence <= state.sequence and tick.epoch == state.epoch:
            return
        layout = tick.layout
        if layout is not state.layout:
            self._place(state, layout)
        readings = self._arena[state.start : state.start + layout.count]
        np.divide(tick.values, layout.scales, out=readings)
        if tick.valid is not None:
            np.copyto(readings, np.nan, where=~tick.valid)
        state.epoch = tick.epoch
        state.sequence = tick.sequence
        state.corrected_ns = tick.corrected_ns
        state.received_ns = tick.received_ns
        if tick.extras:
            self._take_extras(state, tick)
        else:
            state.extras = None

    def seen_runs(self, now_ns: int, not_reporting_after_seconds: float = 10.0) -> dict[str, FleetRun]:
        """Return the runs whose processes agents report, and those that have ended, by name."""
        return self.runs.all(now_ns, self._hosts, not_reporting_after_seconds)

    def run_steps(self, run: str, now_ns: int) -> RunSteps | None:
        """Return the steps of a run; None if none of its ranks reports steps."""
        return run_steps(run, self.ranks.of_run(run, now_ns))

    def advance(self, now_ns: int) -> bool:
        """Write this second's row of the window. Call it once a second, with an offset that lets records arrive."""
        self.ranks.advance(now_ns, self._hosts)
        self.trends.advance(now_ns, self.ranks)
        self.runs.advance(now_ns, self._hosts)
        return self.window.advance(now_ns, self._arena, self._by_name(), self.generation, self._moves)

    def restore(self, state: HostState, layout: KnownLayout, rows: RowGroup) -> None:
        """Take the last stored row as a host's newest readings at start-up, unless newer ones are known.

        The host's next live tick is applied whatever its sequence.
        """
        if not len(rows.sequences) or (newest := int(rows.corrected_ns[-1])) <= state.corrected_ns:
            return
        if layout is not state.layout:
            self._place(state, layout)
        readings = rows.values[-1] / layout.scales
        self._arena[state.start : state.start + layout.count] = np.where(rows.valid[-1], readings, np.nan)
        state.corrected_ns, state.received_ns = newest, int(rows.received_ns[-1])

    def warm_window(self, state: HostState, layout: KnownLayout, rows: RowGroup, now_ns: int) -> None:
        """Add stored rows of a host to the window at start-up. They have the columns of `window.window_columns`.

        Call it for the row groups of the last five minutes, oldest first, each with its layout, after `restore`.
        Live ticks may come in between.
        """
        self.window.fill(state, layout, rows.corrected_ns, rows.values, rows.valid, now_ns)

    def readings(self, state: HostState) -> list[tuple[Column, float | None]]:
        """Return the columns of a host with their newest readings; `None` is unknown."""
        if state.layout is None:
            return []
        values = self.values(state).tolist()
        return [
            (column, None if value != value else value)  # noqa: PLR0124  only NaN differs from itself
            for column, value in zip(state.layout.layout.columns, values, strict=True)
        ]

    def arena(self) -> Readings:
        """Return a copy of all readings, followed by an unknown one."""
        return np.append(self._arena[: self._used], np.nan)

    def values(self, state: HostState) -> Readings:
        """Return a view of a host's readings. It is valid until the generation changes."""
        count = state.layout.count if state.layout is not None else 0
        return self._arena[state.start : state.start + count]

    def remove(self, name: str) -> bool:
        """Remove a host. Return False if there was none."""
        if self._hosts.pop(name, None) is None:
            return False
        self.ranks.forget(name)
        self._moves += 1
        self._changed()
        return True

    def forget_before(self, received_ns: int) -> list[str]:
        """Remove hosts without a stream whose last record is older. Return their names."""
        names = [s.name for s in self._by_name() if not s.connected and s.received_ns < received_ns]
        for name in names:
            self.remove(name)
        return names

    def snapshot(self, now_ns: int, names: Collection[str] | None = None) -> Snapshot:
        """Return a copy of all hosts, or of some, for another thread. It costs some microseconds a host."""
        if names is None:
            totals = self.ranks.totals(now_ns, self._hosts)
            hosts = tuple(_view(state, state.start, totals[state.name]) for state in self._by_name())
            return Snapshot(self.generation, hosts, self._arena[: self._used].copy())
        states = [state for name in sorted(set(names)) if (state := self._hosts.get(name)) is not None]
        pieces = [self.values(state) for state in states]
        starts = np.cumsum([0, *map(len, pieces)]).tolist()
        totals = self.ranks.totals(now_ns, [state.name for state in states])
        views = tuple(_view(state, start, totals[state.name]) for state, start in zip(states, starts, strict=False))
        return Snapshot(self.generation, views, np.concatenate([*pieces, np.empty(0)]))

    def _take_extras(self, state: HostState, tick: Tick) -> None:
        try:
            state.extras = tick.parsed_extras or pb.Record.FromString(tick.extras)
        except DecodeError:  # the record reader has parsed it before; an invalid message must not affect the readings
            state.extras = None
            return
        if state.extras.steps:
            self.ranks.add_reports(state.name, state.extras.steps, tick.corrected_ns, tick.received_ns)

    def _by_name(self) -> tuple[HostState, ...]:
        if self._sorted is None:
            self._sorted = tuple(self._hosts[name] for name in sorted(self._hosts))
        return self._sorted

    def _changed(self) -> None:
        self.generation += 1
        self._sorted = None

    def _place(self, state: HostState, layout: KnownLayout) -> None:
        """Give a host a place for a layout. An equal layout in another object keeps the place."""
        same = state.layout is not None and state.layout.digest == layout.digest
        state.layout = layout
        if same:
            return
        if self._used + layout.count > len(
            self._arena
        ):  # never reuse the old place: readers may still use its position
            self._repack(state)
        else:
            state.start = self._used
            self._used += layout.count
        self._arena[state.start : state.start + layout.count] = np.nan
        self._changed()

    def _repack(self, newcomer: HostState) -> None:
        """Move all hosts into a new array with as much free space again, which amortises the cost of moving."""
        placed = [(state, state.layout.count) for state in self._hosts.values() if state.layout is not None]
        arena: Readings = np.full(max(_INITIAL_SIZE, 2 * sum(count for _, count in placed)), np.nan)
        used = 0
        for state, count in placed:
            if state is not newcomer:  # its old readings belong to another layout
                arena[used : used + count] = self._arena[state.start : state.start + count]
            state.start = used
            used += count
        self._arena, self._used = arena, used
        self._moves += 1


def _view(state: HostState, start: int, steps: tuple[StepTotals, ...]) -> HostView:
    return HostView(
        state.name,
        state.agent_version,
        state.connected,
        state.duplicate,
        state.layout,
        start,
        state.received_ns,
        state.clock_skew_seconds,
        state.backlog_bytes,
        state.unavailable,
        state.tenancy,
        state.inventory,
        state.extras,
        steps,
    )
