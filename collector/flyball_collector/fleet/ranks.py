"""The table of all ranks of all runs: the row of each, since when and until when.

Reports wait until the table is next used and are then written together, so that a rank costs a microsecond or two.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.rank_details import MARK_EVERY_SECONDS, RankDetails
from flyball_collector.fleet.rank_figures import rank_steps
from flyball_collector.fleet.rank_sums import RankSums, StepReportTable
from flyball_collector.fleet.rank_totals import step_totals
from flyball_collector.fleet.rings import Rings
from flyball_collector.fleet.run_steps import RankSteps
from flyball_collector.fleet.step_totals import StepTotals
from flyball_proto.v1 import telemetry_pb2 as pb

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_RANKS_OF_A_HOST = 256
"""A host has at most a few dozen accelerators, and a sender can make up any number of ranks."""

MAX_RANKS = 65_536

FORGET_AFTER_SECONDS = 300.0
"""A rank without a report for this long is over, unless its process still belongs to the run …"""

KEEP_AT_MAX_SECONDS = 86_400.0
"""… because then it may hang."""

FINE_RANKS = 1024
"""With more ranks than this, sections are read in one of `SECTIONS_EVERY` seconds: they cost as much as the rest."""

SECTIONS_EVERY = 4

NAMES_EVERY = 8
"""The same for sections by name, and for the first report of calls, levels and other details of a rank."""

DISMISS_EVERY_SECONDS = 10.0

MOVED_AFTER_SECONDS = 30.0
"""A rank that reports from two hosts belongs to two runs with one name. One that is quiet for this long has moved."""

_SECOND = 10**9
_MAX_WAITING = 4096
_MORE_THAN_RANKS = 2**32


class RankKey(NamedTuple):
    """The rank of a row."""

    run: str
    rank: int
    host: str


class Ranks:
    """One row for each rank: sums since its first report, newest values, and rings of its latest reports.

    Arrays (`column`, `ring`, `times`, the means) are in the order of `keys`. NaN is unknown.
    """

    def __init__(self, max_ranks: int = MAX_RANKS) -> None:
        self.generation = 0
        self.refused = 0  # reports of ranks that did not fit
        self._max = max_ranks
        self._waiting: list[tuple[str, int, int, Sequence[pb.StepReport]]] = []
        self._waiting_reports = 0
        self._of_host: dict[str, dict[tuple[str, int], int]] = {}
        self._keys: list[RankKey | None] = []
        self._free: list[int] = []
        self._sums = RankSums()
        self._details = RankDetails(self._sums)
        self._rings = Rings()
        self._grow(64)
        self._rows: Rows | None = None
        self._sorted: tuple[RankKey, ...] = ()
        self._hosts_of: dict[str, tuple[str, ...]] | None = None
        self._means: dict[str, Floats] = {}
        self._last_dismissal = 0.0
        self._last_mark = 0.0

    def __len__(self) -> int:
        return len(self.rows)

    def add_reports(self, host: str, reports: Sequence[pb.StepReport], at_ns: int, received_ns: int) -> None:
        """Add a record's reports. They count when the table is next used."""
        self._waiting.append((host, at_ns, received_ns, reports))
        self._waiting_reports += len(reports)
        if self._waiting_reports >= _MAX_WAITING:
            self.settle()

    def advance(self, now_ns: int, states: Mapping[str, HostState]) -> None:
        """Advance by a second: add the waiting reports, and remove ranks that are over."""
        self.settle()
        now = now_ns / _SECOND
        if not 0 <= now - self._last_mark < MARK_EVERY_SECONDS:
            self._last_mark = now
            self._details.mark()
        if not 0 <= now - self._last_dismissal < DISMISS_EVERY_SECONDS:
            self._last_dismissal = now
            self._dismiss(now, states)

    @property
    def rows(self) -> Rows:
        """Return the rows in use."""
        if self._rows is None:
            pairs = sorted((key, row) for row, key in enumerate(self._keys) if key is not None)
            self._rows = np.array([row for _, row in pairs], dtype=np.int64)
            self._sorted = tuple(key for key, _ in pairs)
        return self._rows

    @property
    def keys(self) -> tuple[RankKey, ...]:
        """Return the keys of the rows, by run and rank. It is the same object until ranks change."""
        _ = self.rows
        return self._sorted

    def hosts_of(self, run: str) -> tuple[str, ...]:
        """Return the hosts on which a run has ranks."""
        if self._rows is None or self._hosts_of is None:
            found: dict[str, dict[str, None]] = {}
            for key in self.keys:
                found.setdefault(key.run, {})[key.host] = None
            self._hosts_of = {name: tuple(hosts) for name, hosts in found.items()}
        return self._hosts_of.get(run, ())

    def column(self, name: str) -> Floats:
        """Return a column: one of `SUMS`, `SECTION_SUMS`, `step`, `world_size`, `pid`, `loss`, the peaks, `at`,
        `received`, `attempt`, `bad_losses` (consecutive non-finite ones) or `longest_gap` (seconds without a report,
        decaying)."""
        return self._sums[name][self.rows]

    @property
    def counts(self) -> Rows:
        """Return the number of reports of each rank. Those of one second count as one."""
        return self._rings.counts[self.rows]

    def ring(self, name: str, reports: int, places: Rows | None = None) -> NDArray[np.float32]:
        """Return the latest reports per step, report × rank, oldest first; unknown where there are fewer."""
        return self._rings.ring(name, reports, self._at(places))

    def times(self, reports: int, places: Rows | None = None) -> Floats:
        """Return the times of these reports in seconds."""
        return self._rings.times(reports, self._at(places))

    def mean(self, name: str) -> Floats:
        """Return the mean over the kept reports; unknown where none has the value."""
        if name not in self._means:
            unknown = np.isnan(self.column(name)).all()
            self._means[name] = np.full(len(self), np.nan) if unknown else self._rings.mean(name, self.rows)
        return self._means[name]

    def steady_mean(self, name: str, places: Rows) -> Floats:
        """Return the mean of some ranks without the largest tenth, because rare long steps are not usual ones."""
        rows = self._at(places)
        unknown = np.isnan(self._sums[name][rows]).all()
        return np.full(len(rows), np.nan) if unknown else self._rings.steady_mean(name, rows)

    def _at(self, places: Rows | None) -> Rows:
        return self.rows if places is None else self.rows[places]

    def totals(self, now_ns: int, hosts: Iterable[str]) -> dict[str, tuple[StepTotals, ...]]:
        """Return the sums of the ranks that still report, by host."""
        self.settle()
        rows_of = {host: self._of_host.get(host, {}) for host in hosts}
        return step_totals(rows_of, self._sums, self._details, now_ns / _SECOND - FORGET_AFTER_SECONDS)

    def of_run(self, run: str, now_ns: int) -> list[RankSteps]:
        """Return the steps of each rank of a run. A rank that moved to another host may occur twice."""
        self.settle()
        first, end = bisect_left(self.keys, (run,)), bisect_left(self.keys, (run, _MORE_THAN_RANKS))
        return rank_steps(self.keys[first:end], self.rows[first:end], self._sums, self._details, now_ns / _SECOND)

    def forget(self, host: str) -> None:
        """Remove the ranks of a host."""
        self.settle()
        for row in self._of_host.pop(host, {}).values():
            self._release(row)

    def settle(self) -> None:
        """Write the waiting reports."""
        waiting, self._waiting, self._waiting_reports = self._waiting, [], 0
        rows: list[int] = []
        messages: list[pb.StepReport] = []
        at: list[int] = []
        received: list[int] = []
        for host, at_ns, received_ns, reports in waiting:
            for report in reports:
                row = self._row(host, report)
                if row >= 0:
                    rows.append(row)
                    messages.append(report)
                    at.append(at_ns)
                    received.append(received_ns)
        if rows:
            self._means.clear()
            self._write(StepReportTable(np.array(rows), messages, np.array(at) / _SECOND, np.array(received) / _SECOND))

    def _row(self, host: str, report: pb.StepReport) -> int:
        rows_of_host = self._of_host.setdefault(host, {})
        key = (report.run, report.rank)
        row = rows_of_host.get(key)
        if row is None:
            if len(rows_of_host) >= MAX_RANKS_OF_A_HOST:
                oldest = min(rows_of_host, key=lambda known: self._sums["received"][rows_of_host[known]])
                self._release(rows_of_host.pop(oldest))
            row = self._new_row()
            if row is None:
                self.refused += 1
                return -1
            rows_of_host[key] = row
            self._keys[row] = RankKey(*key, host)
        return row

    def _write(self, reports: StepReportTable) -> None:
        many = len(self._keys) - len(self._free) > FINE_RANKS
        second = int(reports.received.max())
        sections, names = not (many and second % SECTIONS_EVERY), not (many and second % NAMES_EVERY)
        rows, means = self._sums.take(reports, self._rings.counts[reports.rows], sections=sections)
        self._details.take(reports, names=names)
        self._rings.remember(rows, self._sums["at"][rows], means)

    def _new_row(self) -> int | None:
        if not self._free:
            if len(self._keys) >= self._max:
                return None
            self._grow(min(self._max, 2 * len(self._keys)))
        row = self._free.pop()
        self._sums.clear(row)
        self._details.clear(row)
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
        self._details.grow(room)
        self._rings.grow(room)

    def _dismiss(self, now: float, states: Mapping[str, HostState]) -> None:
        """Remove ranks that do not report, except those whose processes still exist, and ranks that have moved."""
        received = self._sums["received"]
        for row in self._moved(now):
            self._remove(row)
        rows = self.rows
        for row in rows[now - received[rows] > FORGET_AFTER_SECONDS].tolist():
            key = self._keys[row]
            assert key is not None  # noqa: S101  the row is in use
            if now - received[row] > KEEP_AT_MAX_SECONDS or not _has_process(states.get(key.host), key.run):
                self._remove(row)

    def _moved(self, now: float) -> list[int]:
        """Return the rows of ranks that report from another host now: the scheduler has restarted their run there."""
        received, rows = self._sums["received"], self.rows.tolist()
        moved = []
        for (one, at), (other, there) in pairwise(zip(self.keys, rows, strict=True)):
            if one.rank == other.rank and one.run == other.run:
                older, newer = sorted((at, there), key=received.__getitem__)
                if now - received[older] > MOVED_AFTER_SECONDS > now - received[newer]:
                    moved.append(older)
        return moved

    def _remove(self, row: int) -> None:
        key = self._keys[row]
        if key is not None:
            del self._of_host[key.host][key.run, key.rank]
            self._release(row)


def _has_process(state: HostState | None, run: str) -> bool:
    """Return True if a process on this host belongs to the run."""
    return state is not None and state.tenancy is not None and any(m.run == run for m in state.tenancy.members)
