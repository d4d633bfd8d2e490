"""Adjustments in words, as people read them."""

import doctest

from flyball_collector.adjustments.adjustment import AdjustmentState, Decision
from flyball_collector.adjustments.shown import wording
from flyball_collector.adjustments.shown.wording import change_text, decided_by, effect_text, ended_text, tried_text
from flyball_collector.http.adjustment_testing import faster, some_adjustment


def test_the_examples_of_the_docstrings_hold() -> None:
    """Values and gains are written as the docstrings show."""
    assert doctest.testmod(wording).attempted >= 2
    assert doctest.testmod(wording).failed == 0


def test_a_change_and_its_effect_are_short() -> None:
    """The interval is left out if it is not wider than the precision."""
    assert change_text(some_adjustment(value_from=False, value_to=True, name="pause")) == "pause off → on"
    assert effect_text(faster(1.034)) == "+3 % (+1 % … +5 %)"
    assert effect_text(faster(15.2)) == "×15.2"
    assert effect_text(faster(float("inf"))) == "unknown"


def test_only_changes_that_were_made_were_tried() -> None:
    """Of several the newest counts; a way back belongs to the change before it, and a veto teaches nothing."""
    old = some_adjustment(effect=faster(1.2), changed_ns=1)
    new = some_adjustment(AdjustmentState.ROLLED_BACK, effect=faster(0.94), changed_ns=2)
    back = some_adjustment(effect=faster(1.05), changed_ns=3, inverse_of="9f2a")
    vetoed = some_adjustment(AdjustmentState.VETOED, changed_ns=4)
    expected = "tried on this run: micro_batch 16 → 8, -6 % (-8 % … -4 %), taken back because it did harm"
    assert tried_text([old, new, back, vetoed]) == expected
    assert tried_text([old]) == "tried on this run: micro_batch 16 → 8, +20 % (+18 % … +22 %), kept"
    assert tried_text([some_adjustment(AdjustmentState.UNDONE)]).endswith("16 → 8, taken back by a person")
    assert tried_text([vetoed]) == tried_text([]) == ""


def test_the_last_person_decided() -> None:
    """The governor's own decisions do not count; a person asks, approves or vetoes."""
    whats = (("propose", "flyball"), ("propose", "vera"), ("approve", "otto"), ("keep", "flyball"))
    decisions = tuple(Decision(time_ns=at, what=what, who=who) for at, (what, who) in enumerate(whats))
    assert decided_by(some_adjustment(decisions=decisions)) == "approved by otto"
    assert decided_by(some_adjustment(decisions=decisions[:2])) == "asked for by vera"
    assert decided_by(some_adjustment(decisions=decisions[:1])) == ""


def test_every_end_has_words() -> None:
    """Only states in progress have none."""
    assert all(bool(ended_text(state)) is some_adjustment(state).is_over for state in AdjustmentState)
