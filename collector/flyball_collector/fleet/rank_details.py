"""Details of ranks: sections, services and levels by name, attempts, and time on the device."""

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.named_sums import Named, NamedSums
from flyball_collector.fleet.rank_sums import ADJUSTED_SUMS, SUMS, RankSums, StepReportTable
from flyball_collector.fleet.rings import wider
from flyball_collector.fleet.step_totals import CallTotals
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

MARK_EVERY_SECONDS = 30.0
"""Recent figures begin at the mark before the newest one: half a minute to a minute ago."""

MAX_SECTIONS, MAX_SERVICES, MAX_LEVELS = 64, 32, 64
"""Names of one rank. A report has at most 32 sections, but they may change."""

MARKED = (*SUMS, "device_seconds", "device_covered_seconds", "named_steps", "at", *ADJUSTED_SUMS)
_LONGEST_SECONDS = 1e9
_read = attrgetter("attempt", "dropped", "calls", "levels", *ADJUSTED_SUMS)
_read_adjusted = attrgetter(*ADJUSTED_SUMS)


class NamedDetails(NamedTuple):
    """The sums of one rank by name."""

    sections: Mapping[str, Named]  # seconds within `named_steps`
    calls: Mapping[str, Named]  # by service: count, seconds and errors
    levels: Mapping[str, Named]  # items and seconds


class RankDetails:
    """Completes the columns of `RankSums`, and keeps sums by name."""

    def __init__(self, sums: RankSums) -> None:
        self._columns = sums
        self._sections = NamedSums(1, MAX_SECTIONS)
        self._calls = NamedSums(3, MAX_SERVICES)
        self._levels = NamedSums(2, MAX_LEVELS)
        self._newer: dict[str, Floats] = {name: np.zeros(0) for name in MARKED}
        self._older: dict[str, Floats] = {name: np.zeros(0) for name in MARKED}

    def grow(self, room: int) -> None:
        """Extend the table to so many rows."""
        self._newer = {name: wider(column, room) for name, column in self._newer.items()}
        self._older = {name: wider(column, room) for name, column in self._older.items()}

    def clear(self, row: int) -> None:
        """Clear a row for another rank."""
        for named in (self._sections, self._calls, self._levels):
            named.clear(row)
        for marks in (self._newer, self._older):
            for column in marks.values():
                column[row] = 0.0

    def take(self, reports: StepReportTable, *, names: bool) -> None:
        """Add reports, after `RankSums.take`. Without `names`, read only reports of ranks that have had details."""
        detailed = self._columns["detailed"][reports.rows]
        if names:
            self._take_sections(reports)
            for place, message in enumerate(reports.messages):
                if any(_read(message)) or message.HasField("device_seconds"):
                    detailed[place] = 1.0
            self._columns["detailed"][reports.rows[detailed > 0]] = 1.0
        for place in np.flatnonzero(detailed).tolist():
            self._take_details(int(reports.rows[place]), reports.messages[place])

    def mark(self) -> None:
        """Set a mark for the ranks that made steps since their last one."""
        stepped = self._columns["steps"] > self._newer["steps"]
        for name in MARKED:
            self._older[name][stepped] = self._newer[name][stepped]
            self._newer[name][stepped] = self._columns[name][stepped]
        for named in (self._sections, self._calls, self._levels):
            named.mark(stepped)

    def before(self, name: str, rows: Rows) -> list[float]:
        """Return a sum of some ranks as it was when their recent figures begin."""
        before: list[float] = np.nan_to_num(self._older[name][rows]).tolist()
        return before

    def named(self, rows: Sequence[int]) -> list[NamedDetails]:
        """Return what some ranks report by name."""
        parts = (self._sections.of(rows), self._calls.of(rows), self._levels.of(rows))
        return list(map(NamedDetails, *parts))

    def call_totals(self, rows: Sequence[int]) -> list[tuple[CallTotals, ...]]:
        """Return the calls of some ranks to each service."""
        return [
            tuple(
                CallTotals(service, int(calls), seconds, int(errors))
                for service, ((calls, seconds, errors), _) in services.items()
            )
            for services in self._calls.of(rows)
        ]

    def _take_sections(self, reports: StepReportTable) -> None:
        rows = reports.rows.tolist()
        named = [place for place, sections in enumerate(reports.sections) if sections]
        for place in named:
            sections = reports.sections[place]
            refused = self._sections.add(rows[place], list(sections), list(sections.values()))
            if refused:
                self._columns["dropped"][rows[place]] += refused
        if named:
            self._sections.settle()
            self._columns.add("named_steps", reports.rows[named], reports.amounts["steps"][named])

    def _take_details(self, row: int, report: pb.StepReport) -> None:
        columns = self._columns
        columns["attempt"][row] = report.attempt
        dropped = report.dropped
        if calls := report.calls:
            amounts = [amount for call in calls for amount in (call.count, call.seconds, call.errors)]
            dropped += self._calls.add(row, [call.service for call in calls], amounts)
        if levels := report.levels:
            amounts = [amount for level in levels for amount in (level.items, level.seconds)]
            dropped += self._levels.add(row, [level.level for level in levels], amounts)
        columns["dropped"][row] += dropped
        for name, amount in zip(ADJUSTED_SUMS, _read_adjusted(report), strict=True):
            if 0 < amount <= _LONGEST_SECONDS:
                columns[name][row] = np.nan_to_num(columns[name][row]) + amount
        if report.HasField("device_seconds") and 0 <= report.device_seconds < math.inf:
            columns["device_seconds"][row] = np.nan_to_num(columns["device_seconds"][row]) + report.device_seconds
            columns["device_covered_seconds"][row] += min(max(report.step_seconds, 0.0), _LONGEST_SECONDS)
