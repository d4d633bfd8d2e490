"""The governor's work reaches the timeline and the metrics, also across a restart."""

from collections.abc import Callable

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.shown.reporting import report_adjustments
from flyball_collector.http.adjustment_testing import faster, some_adjustment
from flyball_collector.http.testing import make_parts


class LoadedGovernor:
    """Has loaded adjustments, and reports changes."""

    def __init__(self, *adjustments: Adjustment) -> None:
        self._known = {each.id: each for each in adjustments}
        self._listeners: list[Callable[[Adjustment], None]] = []

    def find(self, *, limit: int) -> list[Adjustment]:
        return list(self._known.values())[:limit]

    def get(self, adjustment: str) -> Adjustment | None:
        return self._known.get(adjustment)

    def on_change(self, listener: Callable[[Adjustment], None]) -> None:
        self._listeners.append(listener)

    def change(self, adjustment: Adjustment) -> None:
        self._known[adjustment.id] = adjustment
        for listener in self._listeners:
            listener(adjustment)


async def test_only_changes_after_a_start_are_noted_and_counted() -> None:
    """Stored adjustments are in the figures, but are neither noted nor counted again."""
    parts = make_parts()
    measured = some_adjustment(AdjustmentState.APPLIED, changed_ns=parts.clock())
    governor = LoadedGovernor(measured, some_adjustment(id="2", effect=faster(1.5), changed_ns=parts.clock()))
    figures = report_adjustments(governor, parts.timeline, parts.own_metrics, parts.clock)
    assert (parts.timeline.recent(), dict(figures().in_progress)["applied"]) == ([], 1)
    assert [each.number for each in figures().ended] == [0]
    assert [round(each.gain, 3) for each in figures().gains] == [0.5]
    governor.change(measured)
    governor.change(some_adjustment(effect=faster(1.2), changed_ns=parts.clock()))
    assert [each.kind for each in parts.timeline.recent()] == ["adjustment_kept"]
    assert [(each.outcome, each.number) for each in figures().ended] == [("kept", 1)]
    counted = {"kind": "adjustment_kept", "state": "noted"}
    assert parts.own_metrics.registry.get_sample_value("flyball_collector_events_total", counted) == 1
