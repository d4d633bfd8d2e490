"""Figures of adjustments for Prometheus."""

import pytest

from flyball_collector.adjustments.adjustment import AdjustmentState
from flyball_collector.adjustments.shown import tally as tally_module
from flyball_collector.adjustments.shown.tally import AdjustmentTally, EndedAdjustments, MeasuredGain
from flyball_collector.http.adjustment_testing import faster, some_adjustment

NOW_NS = 10**18 + 10**9


def test_each_end_is_counted_once() -> None:
    """Also if it is reported several times, and if a kept change is undone later: the sum is that of adjustments."""
    tally = AdjustmentTally()
    for state in ("proposed", "offered", "applied", "kept", "kept", "undone"):
        tally.take(some_adjustment(AdjustmentState(state)))
    tally.take(some_adjustment(AdjustmentState.VETOED, id="2", lever=""))
    assert tally.figures(NOW_NS).ended == (
        EndedAdjustments("r", "micro_batch", "kept", 1),
        EndedAdjustments("r", "other", "vetoed", 1),
    )


def test_the_way_back_is_not_counted() -> None:
    """It belongs to the change that it takes back, and its effect is not a gain of the lever."""
    tally = AdjustmentTally()
    tally.take(some_adjustment(AdjustmentState.ROLLED_BACK, effect=faster(0.94)))
    tally.take(some_adjustment(id="2", inverse_of="9f2a", effect=faster(1.06)))
    figures = tally.figures(NOW_NS)
    assert [each.outcome for each in figures.ended] == ["rolled_back"]
    assert [(each.lever, round(each.gain, 3)) for each in figures.gains] == [("micro_batch", -0.06)]


def test_those_in_progress_are_counted_by_state() -> None:
    """States without any are 0, so that the series exist."""
    tally = AdjustmentTally()
    for id_, state in (("1", "proposed"), ("2", "proposed"), ("3", "applied"), ("4", "kept")):
        tally.take(some_adjustment(AdjustmentState(state), id=id_))
    assert tally.figures(NOW_NS).in_progress == (("proposed", 2), ("offered", 0), ("committed", 0), ("applied", 1))
    tally.take(some_adjustment(AdjustmentState.EXPIRED, id="1"))
    assert dict(tally.figures(NOW_NS).in_progress)["proposed"] == 1


def test_what_was_stored_is_not_counted_again() -> None:
    """A counter begins with 0 after a restart, so that Prometheus sees the next outcome; what is known stays known."""
    tally = AdjustmentTally()
    tally.load([some_adjustment(effect=faster(1.5)), some_adjustment(AdjustmentState.APPLIED, id="2", lever="pool")])
    figures = tally.figures(NOW_NS)
    assert figures.ended == (EndedAdjustments("r", "micro_batch", "kept", 0),)
    assert figures.gains == (MeasuredGain("r", "micro_batch", 0.5),)
    tally.take(some_adjustment(AdjustmentState.KEPT, id="2", lever="pool"))
    assert EndedAdjustments("r", "pool", "kept", 1) in tally.figures(NOW_NS).ended


def test_gains_are_shown_for_a_day() -> None:
    """Then the run counts as ended."""
    tally = AdjustmentTally()
    tally.take(some_adjustment(effect=faster(1.5)))
    assert tally.figures(NOW_NS + 86_399 * 10**9).gains
    assert not tally.figures(NOW_NS + 86_400 * 10**9).gains


def test_the_number_of_runs_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that changed the longest ago is dropped with everything about it."""
    monkeypatch.setattr(tally_module, "MOST_RUNS", 2)
    tally = AdjustmentTally()
    for at, run in enumerate(("old", "middle", "old", "new"), 1):
        tally.take(some_adjustment(id=run, run=run, changed_ns=at, effect=faster(1.5)))
    figures = tally.figures(10)
    assert {each.run for each in figures.ended} == {each.run for each in figures.gains} == {"old", "new"}
