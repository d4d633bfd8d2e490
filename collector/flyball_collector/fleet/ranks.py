"""Every rank of every run, column by column: what step reports add up to, and the latest of them one by one.

Reports wait until the next look at the table and are then written together, so that a rank costs a microsecond or two.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.sections import is_input, is_own, is_waiting
from flyball_collector.fleet.steps import StepTotals
from flyball_proto.v1 import telemetry_pb2 as pb

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_RANKS_OF_A_HOST = 256
"""A host has at most a few dozen accelerators, and a report costs its sender nothing."""

MAX_RANKS = 65_536

RECENT = 64
"""Reports remembered one by one; those of one second count as one."""

BLOCK = 8
"""Reports behind each of the coarse entries, which are their medians."""

BLOCKS = 96

FORGET_AFTER_SECONDS = 300.0
"""A rank that has said nothing for this long is over, unless its process still belongs to the run …"""

KEEP_AT_MOST_SECONDS = 86_400.0
"""… and then it may hang."""

FINE_RANKS = 1024
"""With more ranks than this, sections are read in one second of `SECTIONS_EVERY`: they cost as much as all the rest."""

SECTIONS_EVERY = 4

_SECOND = 10**9
_MOST_WAITING = 8192

SUMS = ("steps", "step_seconds", "data_wait_seconds", "tokens", "samples")
SECTION_SUMS = ("covered_steps", "covered_seconds", "own_seconds", "waiting_seconds")
_OPTIONAL = SUMS[2:]
_NEWEST = ("step", "world_size", "pid", "loss", "allocated_peak_bytes", "reserved_peak_bytes")
_FIELDS = ("run", "rank", *_NEWEST, *SUMS)
_read = attrgetter(*_FIELDS)

_RARE = 0.1
"""Reports that `steady_mean` leaves out: a pause for rubbish, a file written, a scheduler's whim."""

RINGS = ("step_seconds", "data_wait_seconds", "tokens", "samples", "own_seconds", "waiting_seconds")


_Array = TypeVar("_Array", bound=NDArray[Any])


class RankKey(NamedTuple):
    """Which rank a row is about."""

    run: str
    rank: int
    host: str


class Ranks:
    """A row a rank: sums since it was first heard of, newest words, and rings of its latest reports.

    Arrays (`column`, `ring`, `times`, `blocks`) stand in the order of `keys`. NaN is unknown.
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
        self._columns: dict[str, Floats] = {}
        self._rings: dict[str, NDArray[np.float32]] = {}
        self._times: Floats = np.zeros((RECENT, 0))
        self._blocks: NDArray[np.float32] = np.zeros((BLOCKS, 0), dtype=np.float32)
        self._counts: Rows = np.zeros(0, dtype=np.int64)  # reports ever
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
        if self._waiting_reports >= _MOST_WAITING:
            self.settle()

    def advance(self, now_ns: int, states: Mapping[str, HostState]) -> None:
        """One second on: what was heard counts, and who is over leaves."""
        self.settle()
        now = now_ns / _SECOND
        if now - self._last_look >= 10 or now < self._last_look:
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
        return self._columns[name][self.rows]

    @property
    def counts(self) -> Rows:
        """How many reports each rank has made; those of one second count as one."""
        return self._counts[self.rows]

    def ring(self, name: str, reports: int, places: Rows | None = None) -> NDArray[np.float32]:
        """The latest reports per step, report × rank, oldest first; unknown where there were not so many."""
        rows = self.rows if places is None else self.rows[places]
        numbers = self._counts[rows] - np.arange(reports, 0, -1)[:, None]
        ring = self._rings[name]
        found = ring.reshape(-1).take(numbers % RECENT * ring.shape[1] + rows)  # faster than by two indices
        return found if (numbers[:1] >= 0).all() else np.where(numbers >= 0, found, np.float32(np.nan))

    def mean(self, name: str) -> Floats:
        """The mean over the latest `RECENT` reports; unknown where none said so."""
        found = self._means.get(name)
        if found is None:
            rows = self.rows
            if np.isnan(self._columns[name][rows]).all():
                found = np.full(len(rows), np.nan)
            else:
                values = self._rings[name]
                unknown = np.isnan(values)
                known = (len(values) - np.add.reduce(unknown, axis=0, dtype=np.int8))[rows]
                found = np.full(len(rows), np.nan)
                sums = np.add.reduce(values, axis=0, where=~unknown)[rows]
                np.divide(sums, known, out=found, where=known > 0)
            self._means[name] = found
        return found

    def steady_mean(self, name: str) -> Floats:
        """The same without the largest tenth: rare long ones say nothing about how long it usually takes."""
        values = np.sort(self._rings[name][:, self.rows], axis=0)  # what is unknown comes last
        known = np.count_nonzero(~np.isnan(values), axis=0)
        kept = known - (_RARE * known).astype(np.int64)
        sums = np.add.reduce(values, axis=0, where=np.arange(len(values))[:, None] < kept, dtype=np.float64)
        found: Floats = np.divide(sums, kept, out=np.full(len(kept), np.nan), where=kept > 0)
        return found

    def times(self, reports: int, places: Rows | None = None) -> Floats:
        """When these were made, in seconds."""
        rows = self.rows if places is None else self.rows[places]
        numbers = self._counts[rows] - np.arange(reports, 0, -1)[:, None]
        return np.where(numbers >= 0, self._times[numbers % RECENT, rows], np.nan)

    def blocks(self, count: int, places: Rows | None = None) -> NDArray[np.float32]:
        """Medians of the step seconds of each `BLOCK` reports, block × rank, oldest first."""
        rows = self.rows if places is None else self.rows[places]
        numbers = self._counts[rows] // BLOCK - np.arange(count, 0, -1)[:, None]
        return np.where(numbers >= 0, self._blocks[numbers % BLOCKS, rows], np.float32(np.nan))

    def totals(self, now_ns: int, hosts: Iterable[str]) -> dict[str, tuple[StepTotals, ...]]:
        """The sums of the ranks that still report, by host."""
        self.settle()
        columns = [self._columns[name].tolist() for name in ("received", "step", *SUMS, "loss")]
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
            self._write(np.array(rows), told, np.array(at) / _SECOND, np.array(received) / _SECOND)

    def _row(self, host: str, report: pb.StepReport) -> int:
        book = self._of_host.setdefault(host, {})
        key = (report.run, report.rank)
        row = book.get(key)
        if row is None:
            if len(book) >= MAX_RANKS_OF_A_HOST:
                oldest = min(book, key=lambda known: self._columns["received"][book[known]])
                self._release(book.pop(oldest))
            row = self._seat()
            if row is None:
                self.refused += 1
                return -1
            book[key] = row
            self._keys[row] = RankKey(*key, host)
        return row

    def _write(self, rows: Rows, told: list[pb.StepReport], at: Floats, received: Floats) -> None:
        fields = dict(zip(_FIELDS, zip(*map(_read, told), strict=True), strict=True))
        steps = np.array(fields["steps"], dtype=np.float64)
        sums = {"steps": steps} | {name: _amounts(fields[name]) for name in SUMS[1:]}
        self._hear_optional(rows, told, sums)
        before = {name: self._columns[name].copy() for name in ("steps", *RINGS)}
        for name, amounts in sums.items():
            self._add(name, rows, amounts)
        self._add_sections(rows, told, steps, sums, received)
        self._newest(rows, told, fields, at, received)
        self._remember(np.unique(rows), before)

    def _hear_optional(self, rows: Rows, told: list[pb.StepReport], sums: dict[str, Floats]) -> None:
        """What a rank says for the first time begins at nothing; what it never said stays unknown."""
        fresh = self._counts[rows] < 3
        for name in _OPTIONAL:
            column = self._columns[name]
            unheard = np.isnan(column[rows])
            said = sums[name] > 0
            for place in np.flatnonzero(unheard & ~said & fresh):
                report = told[place]
                said[place] = report.HasField(name) and getattr(report, name) == 0  # type: ignore[arg-type]  # ours
            column[rows[unheard & said]] = 0.0

    def _add(self, name: str, rows: Rows, amounts: Floats) -> None:
        self._columns[name] += np.bincount(rows, amounts, minlength=len(self._keys))

    def _add_sections(
        self, rows: Rows, told: list[pb.StepReport], steps: Floats, sums: Mapping[str, Floats], received: Floats
    ) -> None:
        """Sections by what they say: work of its own, waiting for others, or a mixture of both that says nothing."""
        many = len(self._keys) - len(self._free) > FINE_RANKS
        if many and int(received.max()) % SECTIONS_EVERY:
            return
        maps = [report.section_seconds for report in told]
        covered = np.flatnonzero(np.fromiter(map(len, maps), dtype=np.int64, count=len(maps)))
        if not len(covered):
            return
        own, waiting = _split([maps[place] for place in covered.tolist()], sums, covered)
        some = rows[covered]
        for name, seconds in (("own_seconds", own), ("waiting_seconds", waiting)):
            column, said = self._columns[name], ~np.isnan(seconds)
            column[some[said & np.isnan(column[some])]] = 0.0
            self._add(name, some[said], seconds[said])
        self._add("covered_steps", some, steps[covered])
        self._add("covered_seconds", some, sums["step_seconds"][covered])

    def _newest(
        self, rows: Rows, told: list[pb.StepReport], fields: Mapping[str, Sequence[float]], at: Floats, received: Floats
    ) -> None:
        for name in _NEWEST:
            values = np.array(fields[name], dtype=np.float64)
            if name == "loss":
                self._hear_losses(rows, told, values)
            elif name.endswith("_bytes"):
                column = self._columns[name]
                column[rows] = np.where(values > 0, values, column[rows])
            else:
                self._columns[name][rows] = values
        gap = np.where(self._counts[rows] > 0, at - self._columns["at"][rows], 0.0)
        longest = self._columns["longest_gap"]
        longest[rows] = np.maximum(longest[rows] * 0.998, gap)
        self._columns["at"][rows] = at
        self._columns["received"][rows] = received

    def _hear_losses(self, rows: Rows, told: list[pb.StepReport], values: Floats) -> None:
        said = np.ones(len(rows), dtype=bool)
        for place in np.flatnonzero(values == 0.0).tolist():
            said[place] = told[place].HasField("loss")
        good = said & np.isfinite(values)
        self._columns["bad_losses"][rows[good]] = 0
        self._add("bad_losses", rows[said & ~good], np.ones(np.count_nonzero(said & ~good)))
        self._columns["loss"][rows] = np.where(good, values, np.nan)

    def _remember(self, rows: Rows, before: Mapping[str, Floats]) -> None:
        """One entry a rank in the rings: means over the steps since the last one."""
        steps = self._columns["steps"][rows] - before["steps"][rows]
        rows, steps = rows[steps > 0], steps[steps > 0]
        slots = self._counts[rows] % RECENT
        covered = self._columns["covered_steps"][rows] - self._columns["covered_before"][rows]
        for name in RINGS:
            grown = self._columns[name][rows] - np.nan_to_num(before[name][rows])
            over = covered if name in SECTION_SUMS else steps
            means = np.full(len(rows), np.nan)
            np.divide(grown, over, out=means, where=over > 0)
            if name == "step_seconds":
                means[grown <= 0] = np.nan
            self._rings[name][slots, rows] = means
        self._columns["covered_before"][rows] = self._columns["covered_steps"][rows]
        self._times[slots, rows] = self._columns["at"][rows]
        self._counts[rows] += 1
        self._close_blocks(rows[self._counts[rows] % BLOCK == 0])

    def _close_blocks(self, rows: Rows) -> None:
        if len(rows):
            slots = (self._counts[rows] - np.arange(BLOCK, 0, -1)[:, None]) % RECENT
            last = self._rings["step_seconds"][slots, rows]
            middle = np.median(last, axis=0) if not np.isnan(last).any() else _nanmedian(last)
            self._blocks[(self._counts[rows] // BLOCK - 1) % BLOCKS, rows] = middle

    def _seat(self) -> int | None:
        if not self._free:
            if len(self._keys) >= self._max:
                return None
            self._grow(min(self._max, 2 * len(self._keys)))
        row = self._free.pop()
        for name, column in self._columns.items():
            column[row] = np.nan if name in _UNKNOWN_AT_FIRST else 0.0
        self._counts[row] = 0
        self._blocks[:, row] = np.nan
        for ring in self._rings.values():
            ring[:, row] = np.nan
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
        for name in (*SUMS, *SECTION_SUMS, *_NEWEST, "covered_before", "at", "received", "bad_losses", "longest_gap"):
            self._columns[name] = _wider(self._columns.get(name, np.zeros(0)), room)
        for name in RINGS:
            self._rings[name] = _wider(self._rings.get(name, np.zeros((RECENT, 0), dtype=np.float32)), room)
        self._times, self._blocks = _wider(self._times, room), _wider(self._blocks, room)
        self._counts = _wider(self._counts, room)

    def _dismiss(self, now: float, states: Mapping[str, HostState]) -> None:
        """Ranks that are silent leave, except those whose processes are still there."""
        rows = self.rows
        silent = rows[now - self._columns["received"][rows] > FORGET_AFTER_SECONDS]
        for row in silent.tolist():
            key = self._keys[row]
            assert key is not None  # noqa: S101  it is in use
            age = now - self._columns["received"][row]
            if age > KEEP_AT_MOST_SECONDS or not _holds(states.get(key.host), key.run):
                del self._of_host[key.host][key.run, key.rank]
                self._release(row)


_UNKNOWN_AT_FIRST = frozenset(
    {*_OPTIONAL, "own_seconds", "waiting_seconds", "loss", "allocated_peak_bytes", "reserved_peak_bytes"}
)


def _holds(state: HostState | None, run: str) -> bool:
    """Whether a process on this host says that it belongs to the run."""
    return state is not None and state.tenancy is not None and any(m.run == run for m in state.tenancy.members)


def _amounts(values: Sequence[float]) -> Floats:
    """A counter cannot take what is negative or no number."""
    amounts = np.array(values, dtype=np.float64)
    amounts[~(amounts >= 0) | np.isinf(amounts)] = 0.0
    return amounts


def _split(maps: Sequence[Mapping[str, float]], sums: Mapping[str, Floats], places: Rows) -> tuple[Floats, Floats]:
    """Seconds of a rank's own work and of its waiting for others; unknown where no section says so."""
    parts = np.array([_parts(sections) for sections in maps])
    own, data, waiting, kinds = parts.T
    wait, step = sums["data_wait_seconds"][places], sums["step_seconds"][places]
    own = own + np.maximum(data, wait)  # a section for the input counts once
    own = np.where(kinds >= _OWN, own, np.where(kinds >= _WAITS, np.maximum(0.0, step - waiting), np.nan))
    return own, np.where(kinds % _OWN >= _WAITS, waiting, np.nan)


_WAITS, _OWN = 1.0, 2.0


def _parts(sections: Mapping[str, float]) -> tuple[float, float, float, float]:
    """Seconds of own work without the input, of the input, of waiting; and which of them were named."""
    own = data = waiting = kinds_own = kinds_waiting = 0.0
    for name, seconds in sections.items():
        if not 0 <= seconds < math.inf:
            continue
        if is_waiting(name):
            waiting += seconds
            kinds_waiting = _WAITS
        elif is_own(name):
            kinds_own = _OWN
            if is_input(name):
                data += seconds
            else:
                own += seconds
    return own, data, waiting, kinds_own + kinds_waiting


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _wider(array: _Array, room: int) -> _Array:
    more = np.zeros((*array.shape[:-1], room - array.shape[-1]), dtype=array.dtype)
    return np.concatenate([array, more], axis=-1)  # type: ignore[return-value]  # of the same type


def _nanmedian(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of columns, of which some may know nothing."""
    found = np.full(values.shape[1], np.nan, dtype=np.float32)
    some = ~np.isnan(values).all(axis=0)
    found[some] = np.nanmedian(values[:, some], axis=0)
    return found
