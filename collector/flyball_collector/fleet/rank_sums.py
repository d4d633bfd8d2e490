"""Sums of the step reports of each rank, and each rank's newest values. Many reports are added at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
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
_STATE = ("covered_before", "begun", "at", "received", "bad_losses", "longest_gap")
ADJUSTED_SUMS = ("oom_retries", "paused_seconds", "throttled_seconds")
"""What adjustments and running out of memory cost."""

DETAILS = ("attempt", "dropped", "device_seconds", "device_covered_seconds", "named_steps", "detailed", *ADJUSTED_SUMS)
"""Columns that `RankDetails` fills. `detailed` is 1 for a rank that has reported any of its details."""

_UNKNOWN_AT_FIRST = frozenset(
    {
        *_OPTIONAL,
        "own_seconds",
        "waiting_seconds",
        "loss",
        "allocated_peak_bytes",
        "reserved_peak_bytes",
        "device_seconds",
        *ADJUSTED_SUMS,
    }
)
_FIELDS = (*_NEWEST, *SUMS)
_read = attrgetter(*_FIELDS)

_FIRST_REPORTS = 3
"""Reports of a rank in which a field may still appear for the first time with the value zero."""

_GAP_DECAY = 0.998
"""Decay of the longest gap with each report: a stop is forgotten after some hundreds."""

_RESTART_SECONDS = 5.0
"""Shorter gaps are too short for a restart of the run."""


@dataclass(frozen=True, eq=False)
class StepReportTable:
    """Some reports: the row of each, and the seconds at which it was made and received."""

    rows: Rows
    messages: Sequence[pb.StepReport]
    at: Floats
    received: Floats

    @cached_property
    def fields(self) -> Mapping[str, Floats]:
        """Return the values of the reports by field."""
        values = chain.from_iterable(map(_read, self.messages))
        count = len(_FIELDS) * len(self.messages)
        table = np.fromiter(values, dtype=np.float64, count=count).reshape(-1, len(_FIELDS))
        return dict(zip(_FIELDS, np.ascontiguousarray(table.T), strict=True))

    @cached_property
    def amounts(self) -> Mapping[str, Floats]:
        """Return the amounts that each report adds to `SUMS`."""
        return {"steps": self.fields["steps"]} | {name: _amounts(self.fields[name]) for name in SUMS[1:]}

    @cached_property
    def sections(self) -> Sequence[Mapping[str, float]]:
        """Return the seconds of the sections of each report."""
        maps = [report.section_seconds for report in self.messages]
        return [{name: seconds[name] for name in seconds} for seconds in maps]  # faster than dict()


class RankSums:
    """One row for each rank. NaN is unknown: the rank has never reported the value."""

    def __init__(self) -> None:
        names = (*SUMS, *SECTION_SUMS, *_NEWEST, *_STATE, *DETAILS)
        self._columns: dict[str, Floats] = {name: np.zeros(0) for name in names}
        self._room = 0

    def __getitem__(self, name: str) -> Floats:
        return self._columns[name]

    def grow(self, room: int) -> None:
        """Extend the table to so many rows."""
        self._columns = {name: wider(column, room) for name, column in self._columns.items()}
        self._room = room

    def clear(self, row: int) -> None:
        """Clear a row for another rank."""
        for name, column in self._columns.items():
            column[row] = np.nan if name in _UNKNOWN_AT_FIRST else 0.0

    def take(self, reports: StepReportTable, earlier: Rows, *, sections: bool) -> tuple[Rows, dict[str, Floats]]:
        """Add reports. Return the rows that made a step, and their means per step since the last call.

        `earlier` is the number of earlier reports of each report's rank. `sections`: also add section times.
        """
        rows = np.unique(reports.rows)
        before = {name: self._columns[name][rows] for name in ("steps", *RINGS)}
        self._start_optional(reports, earlier)
        for name, amounts in reports.amounts.items():
            self.add(name, reports.rows, amounts)
        if sections:
            self._add_sections(reports)
        self._update_newest(reports, earlier)
        return self._means(rows, before)

    def _start_optional(self, reports: StepReportTable, earlier: Rows) -> None:
        """Start the sum of a value that a rank reports for the first time. Values never reported stay unknown."""
        fresh = earlier < _FIRST_REPORTS
        for name in _OPTIONAL:
            column = self._columns[name]
            unknown = np.isnan(column[reports.rows])
            reported = reports.amounts[name] > 0
            for place in np.flatnonzero(unknown & ~reported & fresh).tolist():
                report = reports.messages[place]
                reported[place] = report.HasField(name) and getattr(report, name) == 0  # type: ignore[arg-type]  # one of our names
            column[reports.rows[unknown & reported]] = 0.0

    def add(self, name: str, rows: Rows, amounts: Floats) -> None:
        """Add amounts to a column. A row may occur several times."""
        self._columns[name] += np.bincount(rows, amounts, minlength=self._room)

    def _add_sections(self, reports: StepReportTable) -> None:
        """Add the section times: the rank's own work, waiting for others, or a mixture, which is not counted."""
        maps = reports.sections
        covered = np.flatnonzero(np.fromiter(map(len, maps), dtype=np.int64, count=len(maps)))
        if not len(covered):
            return
        steps, seconds, waits = (
            reports.amounts[name][covered] for name in ("steps", "step_seconds", "data_wait_seconds")
        )
        own, waiting = split([maps[place] for place in covered.tolist()], seconds, waits)
        some = reports.rows[covered]
        for name, spent in (("own_seconds", own), ("waiting_seconds", waiting)):
            column, reported = self._columns[name], ~np.isnan(spent)
            column[some[reported & np.isnan(column[some])]] = 0.0
            self.add(name, some[reported], spent[reported])
        self.add("covered_steps", some, steps)
        self.add("covered_seconds", some, seconds)

    def _update_newest(self, reports: StepReportTable, earlier: Rows) -> None:
        rows, columns = reports.rows, self._columns
        for name in _NEWEST:
            values = reports.fields[name]
            if name == "loss":
                self._update_losses(reports, values)
            elif name.endswith("_bytes"):
                columns[name][rows] = np.where(values > 0, values, columns[name][rows])
            else:
                columns[name][rows] = values
        gap = np.where(earlier > 0, reports.at - columns["at"][rows], 0.0)
        self._leave_out_restarts(reports, gap)
        columns["longest_gap"][rows] = np.maximum(columns["longest_gap"][rows] * _GAP_DECAY, gap)
        columns["at"][rows] = reports.at
        columns["received"][rows] = reports.received
        new = rows[columns["begun"][rows] == 0]
        if len(new):
            columns["begun"][rows[::-1]] = np.where(
                columns["begun"][rows] == 0, reports.at - reports.amounts["step_seconds"], columns["begun"][rows]
            )[::-1]  # the first of several reports is written last

    def _leave_out_restarts(self, reports: StepReportTable, gap: Floats) -> None:
        """Set the gap between two attempts of a run to 0. It is not a pause between steps."""
        for place in np.flatnonzero(gap > _RESTART_SECONDS).tolist():
            row, attempt = reports.rows[place], reports.messages[place].attempt
            if attempt != self._columns["attempt"][row]:
                gap[place], self._columns["attempt"][row] = 0.0, attempt

    def _update_losses(self, reports: StepReportTable, values: Floats) -> None:
        rows, reported = reports.rows, np.ones(len(values), dtype=bool)
        for place in np.flatnonzero(values == 0.0).tolist():
            reported[place] = reports.messages[place].HasField("loss")
        good = reported & np.isfinite(values)
        self._columns["bad_losses"][rows[good]] = 0
        self.add("bad_losses", rows[reported & ~good], np.ones(np.count_nonzero(reported & ~good)))
        self._columns["loss"][rows] = np.where(good, values, np.nan)

    def _means(self, rows: Rows, before: Mapping[str, Floats]) -> tuple[Rows, dict[str, Floats]]:
        """Return, for the rows that made a step, the mean per step of everything that is kept for each report."""
        stepped = self._columns["steps"][rows] > before["steps"]
        rows, before = rows[stepped], {name: values[stepped] for name, values in before.items()}
        steps = self._columns["steps"][rows] - before["steps"]
        covered = self._columns["covered_steps"][rows] - self._columns["covered_before"][rows]
        self._columns["covered_before"][rows] = self._columns["covered_steps"][rows]
        means = {}
        for name in RINGS:
            increase = self._columns[name][rows] - np.nan_to_num(before[name])
            over = covered if name in SECTION_SUMS else steps
            means[name] = np.full(len(rows), np.nan)
            np.divide(increase, over, out=means[name], where=over > 0)
            if name == "step_seconds":
                means[name][increase <= 0] = np.nan
        return rows, means


def _amounts(values: Floats) -> Floats:
    """Return the values with 0 for negative and non-finite ones, which a counter cannot add."""
    amounts = values.copy()
    amounts[~(amounts >= 0) | np.isinf(amounts)] = 0.0
    return amounts
