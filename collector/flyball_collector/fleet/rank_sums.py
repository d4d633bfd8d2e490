"""What step reports add up to, rank by rank, with the newest that each said; many reports at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.rings import RINGS, wider
from flyball_collector.fleet.sections import split
from flyball_proto.v1 import telemetry_pb2 as pb

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

SUMS = ("steps", "step_seconds", "data_wait_seconds", "tokens", "samples")
SECTION_SUMS = ("covered_steps", "covered_seconds", "own_seconds", "waiting_seconds")
_OPTIONAL = SUMS[2:]
_NEWEST = ("step", "world_size", "pid", "loss", "allocated_peak_bytes", "reserved_peak_bytes")
_OTHERS = ("covered_before", "at", "received", "bad_losses", "longest_gap")
_UNKNOWN_AT_FIRST = frozenset(
    {*_OPTIONAL, "own_seconds", "waiting_seconds", "loss", "allocated_peak_bytes", "reserved_peak_bytes"}
)
_FIELDS = (*_NEWEST, *SUMS)
_read = attrgetter(*_FIELDS)

_FEW = 3
"""Reports of a rank before which it may yet say for the first time that something is nothing."""

_KEEPS = 0.998
"""Of the longest gap with each report: a stop is forgotten after some hundreds."""


@dataclass(frozen=True, eq=False)
class Reports:
    """Some reports: of which row each is, and when it was made and received, in seconds."""

    rows: Rows
    told: Sequence[pb.StepReport]
    at: Floats
    received: Floats

    @cached_property
    def fields(self) -> Mapping[str, Sequence[float]]:
        """What they say, field by field."""
        return dict(zip(_FIELDS, zip(*map(_read, self.told), strict=True), strict=True))

    @cached_property
    def amounts(self) -> Mapping[str, Floats]:
        """What each adds to `SUMS`."""
        steps = np.array(self.fields["steps"], dtype=np.float64)
        return {"steps": steps} | {name: _amounts(self.fields[name]) for name in SUMS[1:]}


class Sums:
    """A row a rank. NaN is unknown: a rank never said so."""

    def __init__(self) -> None:
        names = (*SUMS, *SECTION_SUMS, *_NEWEST, *_OTHERS)
        self._columns: dict[str, Floats] = {name: np.zeros(0) for name in names}
        self._room = 0

    def __getitem__(self, name: str) -> Floats:
        return self._columns[name]

    def grow(self, room: int) -> None:
        """Have so many rows."""
        self._columns = {name: wider(column, room) for name, column in self._columns.items()}
        self._room = room

    def clear(self, row: int) -> None:
        """This row is another rank's from now on."""
        for name, column in self._columns.items():
            column[row] = np.nan if name in _UNKNOWN_AT_FIRST else 0.0

    def take(self, reports: Reports, heard: Rows, *, sections: bool) -> tuple[Rows, dict[str, Floats]]:
        """Add reports up; returns the rows that made a step, and their means a step since the last call.

        `heard`: how often each report's rank was heard before. `sections`: whether they are read this time.
        """
        rows = np.unique(reports.rows)
        before = {name: self._columns[name][rows] for name in ("steps", *RINGS)}
        self._hear_optional(reports, heard)
        for name, amounts in reports.amounts.items():
            self._add(name, reports.rows, amounts)
        if sections:
            self._add_sections(reports)
        self._hear_newest(reports, heard)
        return self._means(rows, before)

    def _hear_optional(self, reports: Reports, heard: Rows) -> None:
        """What a rank says for the first time begins at nothing; what it never said stays unknown."""
        fresh = heard < _FEW
        for name in _OPTIONAL:
            column = self._columns[name]
            unheard = np.isnan(column[reports.rows])
            said = reports.amounts[name] > 0
            for place in np.flatnonzero(unheard & ~said & fresh).tolist():
                report = reports.told[place]
                said[place] = report.HasField(name) and getattr(report, name) == 0  # type: ignore[arg-type]  # ours
            column[reports.rows[unheard & said]] = 0.0

    def _add(self, name: str, rows: Rows, amounts: Floats) -> None:
        self._columns[name] += np.bincount(rows, amounts, minlength=self._room)

    def _add_sections(self, reports: Reports) -> None:
        """Sections by what they say: work of its own, waiting for others, or a mixture of both that says nothing."""
        maps = [report.section_seconds for report in reports.told]
        covered = np.flatnonzero(np.fromiter(map(len, maps), dtype=np.int64, count=len(maps)))
        if not len(covered):
            return
        steps, seconds, waits = (
            reports.amounts[name][covered] for name in ("steps", "step_seconds", "data_wait_seconds")
        )
        own, waiting = split([maps[place] for place in covered.tolist()], seconds, waits)
        some = reports.rows[covered]
        for name, spent in (("own_seconds", own), ("waiting_seconds", waiting)):
            column, said = self._columns[name], ~np.isnan(spent)
            column[some[said & np.isnan(column[some])]] = 0.0
            self._add(name, some[said], spent[said])
        self._add("covered_steps", some, steps)
        self._add("covered_seconds", some, seconds)

    def _hear_newest(self, reports: Reports, heard: Rows) -> None:
        rows, columns = reports.rows, self._columns
        for name in _NEWEST:
            values = np.array(reports.fields[name], dtype=np.float64)
            if name == "loss":
                self._hear_losses(reports, values)
            elif name.endswith("_bytes"):
                columns[name][rows] = np.where(values > 0, values, columns[name][rows])
            else:
                columns[name][rows] = values
        gap = np.where(heard > 0, reports.at - columns["at"][rows], 0.0)
        columns["longest_gap"][rows] = np.maximum(columns["longest_gap"][rows] * _KEEPS, gap)
        columns["at"][rows] = reports.at
        columns["received"][rows] = reports.received

    def _hear_losses(self, reports: Reports, values: Floats) -> None:
        rows, said = reports.rows, np.ones(len(values), dtype=bool)
        for place in np.flatnonzero(values == 0.0).tolist():
            said[place] = reports.told[place].HasField("loss")
        good = said & np.isfinite(values)
        self._columns["bad_losses"][rows[good]] = 0
        self._add("bad_losses", rows[said & ~good], np.ones(np.count_nonzero(said & ~good)))
        self._columns["loss"][rows] = np.where(good, values, np.nan)

    def _means(self, rows: Rows, before: Mapping[str, Floats]) -> tuple[Rows, dict[str, Floats]]:
        """Of the rows that made a step: what each step took of everything that is remembered report by report."""
        stepped = self._columns["steps"][rows] > before["steps"]
        rows, before = rows[stepped], {name: values[stepped] for name, values in before.items()}
        steps = self._columns["steps"][rows] - before["steps"]
        covered = self._columns["covered_steps"][rows] - self._columns["covered_before"][rows]
        self._columns["covered_before"][rows] = self._columns["covered_steps"][rows]
        means = {}
        for name in RINGS:
            grown = self._columns[name][rows] - np.nan_to_num(before[name])
            over = covered if name in SECTION_SUMS else steps
            means[name] = np.full(len(rows), np.nan)
            np.divide(grown, over, out=means[name], where=over > 0)
            if name == "step_seconds":
                means[name][grown <= 0] = np.nan
        return rows, means


def _amounts(values: Sequence[float]) -> Floats:
    """A counter cannot take what is negative or no number."""
    amounts = np.array(values, dtype=np.float64)
    amounts[~(amounts >= 0) | np.isinf(amounts)] = 0.0
    return amounts
