"""Connects the governor to what shows its work: the timeline and the metrics."""

from collections.abc import Callable
from typing import Protocol

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.shown.tally import AdjustmentFigures, AdjustmentTally
from flyball_collector.adjustments.shown.timeline_notes import REMEMBERED, AdjustmentNotes
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.timeline.entry import Entry
from flyball_collector.timeline.timeline import Timeline


class ReportedAdjustments(Protocol):
    """The part of the governor that is reported."""

    def find(self, *, limit: int) -> list[Adjustment]:
        """Return adjustments, the newest first."""

    def get(self, adjustment: str) -> Adjustment | None:
        """Return an adjustment."""

    def on_change(self, listener: Callable[[Adjustment], None]) -> None:
        """Call a function with each adjustment whenever it changes."""


def report_adjustments(
    governor: ReportedAdjustments, timeline: Timeline, metrics: OwnMetrics, clock: Callable[[], int]
) -> Callable[[], AdjustmentFigures]:
    """Note and count all changes from now on. Return the function that returns the figures."""

    def add(entry: Entry) -> None:
        metrics.events.labels(entry.kind, entry.state).inc()
        timeline.add(entry)

    notes, tally = AdjustmentNotes(add, governor.get), AdjustmentTally()
    stored = governor.find(limit=REMEMBERED)
    notes.load(reversed(stored))
    tally.load(stored)
    governor.on_change(notes.take)
    governor.on_change(tally.take)
    return lambda: tally.figures(clock())
