"""Every rank of every run, row by row: who has which row, since when, and until when.

Reports wait until the next look at the table and are then written together, so that a rank costs a microsecond or two.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.rank_sums import SUMS, Reports, Sums
from flyball_collector.fleet.rings import Rings
from flyball_collector.fleet.steps import StepTotals
from flyball_proto.v1 import telemetry_pb2 as pb

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_RANKS_OF_A_HOST = 256
"""A host has at most a few dozen accelerators, and a report costs its sender nothing."""

MAX_RANKS = 65_536

FORGET_AFTER_SECONDS = 300.0
"""A rank that has said nothing for this long is over, unless its process still belongs to the run …"""

KEEP_AT_MAX_SECONDS = 86_400.0
"""… and then it may hang."""

FINE_RANKS = 1024
"""With more ranks than this, sections are read in one second of `SECTIONS_EVERY`: they cost as much as all the rest."""

SECTIONS_EVERY = 4

DISMISS_EVERY_SECONDS = 10.0

_SECOND = 10**9
_MAX_WAITING = 8192


class RankKey(NamedTuple):
    """Which rank a row is about."""

    run: str
    rank: int
    host: str


class Ranks:
    """A row a rank: sums since it was first heard of, newest words, and rings of its latest reports.

    Arrays (`column`, `ring`, `times`, the means) stand in the order of `keys`. NaN is unknown.
    """

    def __init__(self, max_ranks: int = MAX_RANKS) -> None:
        self.generation = 0
        self.refused = 0  # reports of ranks for which there was no room
        self._max = max_ranks
        self._waiting: list[tuple[str, int, int, Sequence[pb.StepReport]]] = []
        self._waiting_reports = 0
        self._of_host: dict[str, dict[tuple[str, int], int]] = {}
        self._keys: list[RankKey | None] = []
        self._free: list[int] = []
        self._sums = Sums()
        self._rings = Rings()
        self._grow(64)
        self._rows: Rows | None = None
        self._sorted: tuple[RankKey, ...] = ()
        self._hosts_of: dict[str, tuple[str, ...]] | None = None
        self._means: dict[str, Floats] = {}
        self._last_look = 0.0

    def __len__(self) -> int:
        return len(self.rows)

    def hear(self, host: str, reports: Sequence[pb.StepReport], at_ns: int, received_ns: int) -> None:
        """Take a record's reports; they count at the next look at the table."""
        self._waiting.append((host, at_ns, received_ns, reports))
        self._waiting_reports += len(reports)
        if self._waiting_reports >= _MAX_WAITING:
            self.settle()

    def advance(self, now_ns: int, states: Mapping[str, HostState]) -> None:
        """One second on: what was heard counts, and who is over leaves."""
        self.settle()
        now = now_ns / _SECOND
        if not 0 <= now - self._last_look < DISMISS_EVERY_SECONDS:
            self._last_look = now
            self._dismiss(now, states)

    @property
    def rows(self) -> Rows:
        """The rows in use."""
        if self._rows is None:
            pairs = sorted((key, row) for row, key in enumerate(self._keys) if key is not None)
            self._rows = np.array([row for _, row in pairs], dtype=np.int64)
            self._sorted = tuple(key for key, _ in pairs)
        return self._rows

    @property
    def keys(self) -> tuple[RankKey, ...]:
        """Whom the rows are about, run by run and by rank; one object while nobody comes or goes."""
        _ = self.rows
        return self._sorted

    def hosts_of(self, run: str) -> tuple[str, ...]:
        """Where a run has ranks."""
        if self._rows is None or self._hosts_of is None:
            found: dict[str, dict[str, None]] = {}
            for key in self.keys:
                found.setdefault(key.run, {})[key.host] = None
            self._hosts_of = {name: tuple(hosts) for name, hosts in found.items()}
        return self._hosts_of.get(run, ())

    def column(self, name: str) -> Floats:
        """One of `SUMS`, `SECTION_SUMS`, `step`, `world_size`, `pid`, `loss`, the peaks, `at`, `received`,
        `bad_losses` (non-finite ones in a row), `longest_gap` (seconds without a report, slowly forgotten)."""
        return self._sums[name][self.rows]

    @property
    def counts(self) -> Rows:
        """How many reports each rank has made; those of one second count as one."""
        return self._rings.counts[self.rows]

    def ring(self, name: str, reports: int, places: Rows | None = None) -> NDArray[np.float32]:
        """The latest reports per step, report × rank, oldest first; unknown where there were not so many."""
        return self._rings.ring(name, reports, self._at(places))

    def times(self, reports: int, places: Rows | None = None) -> Floats:
        """When these were made, in seconds."""
        return self._rings.times(reports, self._at(places))

    def mean(self, name: str) -> Floats:
        """The mean over the reports that are remembered; unknown where none said so."""
        if name not in self._means:
            unsaid = np.isnan(self.column(name)).all()
            self._means[name] = np.full(len(self), np.nan) if unsaid else self._rings.mean(name, self.rows)
        return self._means[name]

    def steady_mean(self, name: str, places: Rows) -> Floats:
        """The same of some, without the largest tenth: rare long ones say nothing of how long it usually takes."""
        rows = self._at(places)
        unsaid = np.isnan(self._sums[name][rows]).all()
        return np.full(len(rows), np.nan) if unsaid else self._rings.steady_mean(name, rows)

    def _at(self, places: Rows | None) -> Rows:
        return self.rows if places is None else self.rows[places]

    def totals(self, now_ns: int, hosts: Iterable[str]) -> dict[str, tuple[StepTotals, ...]]:
        """The sums of the ranks that still report, by host."""
        self.settle()
        columns = [self._sums[name].tolist() for name in ("received", "step", *SUMS, "loss")]
        limit = now_ns / _SECOND - FORGET_AFTER_SECONDS
        found = {}
        for host in hosts:
            told = []
            for (run, rank), row in self._of_host.get(host, {}).items():
                received, step, steps, seconds, wait, tokens, samples, loss = (column[row] for column in columns)
                if received >= limit:
                    known = (_known(wait), _known(tokens), _known(samples), _known(loss))
                    told.append(
                        StepTotals(run, rank, round(received * _SECOND), int(step), int(steps), seconds, *known)
                    )
            found[host] = tuple(told)
        return found

    def forget(self, host: str) -> None:
        """A host is no more."""
        self.settle()
        for row in self._of_host.pop(host, {}).values():
            self._release(row)

    def settle(self) -> None:
        """Write what was heard."""
        waiting, self._waiting, self._waiting_reports = self._waiting, [], 0
        rows: list[int] = []
        told: list[pb.StepReport] = []
        at: list[int] = []
        received: list[int] = []
        for host, at_ns, received_ns, reports in waiting:
            for report in reports:
                row = self._row(host, report)
                if row >= 0:
                    rows.append(row)
                    told.append(report)
                    at.append(at_ns)
                    received.append(received_ns)
        if rows:
            self._means.clear()
            self._write(Reports(np.array(rows), told, np.array(at) / _SECOND, np.array(received) / _SECOND))

    def _row(self, host: str, report: pb.StepReport) -> int:
        book = self._of_host.setdefault(host, {})
        key = (report.run, report.rank)
        row = book.get(key)
        if row is None:
            if len(book) >= MAX_RANKS_OF_A_HOST:
                oldest = min(book, key=lambda known: self._sums["received"][book[known]])
                self._release(book.pop(oldest))
            row = self._seat()
            if row is None:
                self.refused += 1
                return -1
            book[key] = row
            self._keys[row] = RankKey(*key, host)
        return row

    def _write(self, reports: Reports) -> None:
        many = len(self._keys) - len(self._free) > FINE_RANKS
        sections = not (many and int(reports.received.max()) % SECTIONS_EVERY)
        rows, means = self._sums.take(reports, self._rings.counts[reports.rows], sections=sections)
        self._rings.remember(rows, self._sums["at"][rows], means)

    def _seat(self) -> int | None:
        if not self._free:
            if len(self._keys) >= self._max:
                return None
            self._grow(min(self._max, 2 * len(self._keys)))
        row = self._free.pop()
        self._sums.clear(row)
        self._rings.clear(row)
        self._changed()
        return row

    def _release(self, row: int) -> None:
        self._keys[row] = None
        self._free.append(row)
        self._changed()

    def _changed(self) -> None:
        self.generation += 1
        self._rows = self._hosts_of = None
        self._means.clear()

    def _grow(self, room: int) -> None:
        used = len(self._keys)
        self._free += range(room - 1, used - 1, -1)
        self._keys += [None] * (room - used)
        self._sums.grow(room)
        self._rings.grow(room)

    def _dismiss(self, now: float, states: Mapping[str, HostState]) -> None:
        """Ranks that are silent leave, except those whose processes are still there."""
        rows = self.rows
        silent = rows[now - self._sums["received"][rows] > FORGET_AFTER_SECONDS]
        for row in silent.tolist():
            key = self._keys[row]
            assert key is not None  # noqa: S101  it is in use
            age = now - self._sums["received"][row]
            if age > KEEP_AT_MAX_SECONDS or not _holds(states.get(key.host), key.run):
                del self._of_host[key.host][key.run, key.rank]
                self._release(row)


def _holds(state: HostState | None, run: str) -> bool:
    """Whether a process on this host says that it belongs to the run."""
    return state is not None and state.tenancy is not None and any(m.run == run for m in state.tenancy.members)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
