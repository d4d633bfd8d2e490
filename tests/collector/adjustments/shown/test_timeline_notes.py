"""Notes about adjustments: each new state once, with what matters to a reader."""

from collections.abc import Callable

import pytest

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Decision
from flyball_collector.adjustments.shown import timeline_notes
from flyball_collector.adjustments.shown.timeline_notes import AdjustmentNotes, decision_note, note_of
from flyball_collector.http.adjustment_testing import faster, some_adjustment
from flyball_collector.timeline.entry import NOTE_KINDS, NOTED, SEVERITIES, Entry, decode, encode


def noting() -> tuple[AdjustmentNotes, list[Entry], Callable[[Adjustment], None]]:
    """Return notes, their entries, and a function that changes the current version of an adjustment."""
    found: list[Entry] = []
    current: dict[str, Adjustment] = {}
    notes = AdjustmentNotes(found.append, current.get)

    def change(adjustment: Adjustment) -> None:
        current[adjustment.id] = adjustment
        notes.take(adjustment)

    return notes, found, change


def test_each_state_is_noted_once() -> None:
    """Answers of ranks change the document but not its state; a committed change is noted when it is applied."""
    _, found, change = noting()
    for at, state in enumerate(("offered", "offered", "committed", "applied", "applied", "kept"), 1):
        change(some_adjustment(AdjustmentState(state), changed_ns=at))
    assert [each.kind for each in found] == ["adjustment_offered", "adjustment_applied", "adjustment_kept"]
    assert [each.id for each in found] == sorted(each.id for each in found)


def test_a_proposal_that_is_offered_at_once_does_not_wait() -> None:
    """A state that has passed before anyone could see it is not noted."""
    notes, found, change = noting()
    change(some_adjustment(AdjustmentState.OFFERED, changed_ns=2))
    notes.take(some_adjustment(AdjustmentState.PROPOSED, changed_ns=1))
    assert [each.kind for each in found] == ["adjustment_offered"]


def test_a_restart_notes_nothing_again() -> None:
    """States from before are known; what follows is noted, also that a kept change was undone."""
    notes, found, change = noting()
    notes.load([some_adjustment(AdjustmentState.KEPT)])
    change(some_adjustment(AdjustmentState.KEPT, inverse="77"))
    assert found == []
    change(some_adjustment(AdjustmentState.UNDONE))
    assert [(each.kind, each.severity) for each in found] == [("adjustment_rolled_back", "info")]


def test_the_memory_of_states_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest are forgotten."""
    monkeypatch.setattr(timeline_notes, "REMEMBERED", 2)
    notes, found, change = noting()
    for id_ in "abc":
        change(some_adjustment(id=id_))
    notes.take(some_adjustment(id="c"))
    assert len(found) == 3
    notes.take(some_adjustment(id="a"))
    assert len(found) == 4


@pytest.mark.parametrize("state", AdjustmentState)
def test_every_state_gives_a_valid_entry(state: AdjustmentState) -> None:
    """It is stored and read again, has a documented kind and severity, and a finite number for each value."""
    note = note_of(some_adjustment(state, effect=faster(float("nan")), reason="x" * 5000))
    if state is AdjustmentState.COMMITTED:
        assert note is None
        return
    assert note is not None
    assert decode(encode(note)) == note
    assert (note.state, note.kind in NOTE_KINDS, note.severity in SEVERITIES) == (NOTED, True, True)
    assert (note.run, note.resource, note.evidence) == ("r", "micro_batch", {"from": 16.0, "to": 8.0})
    assert len(note.because) <= 2000


def test_a_note_has_what_a_reader_needs() -> None:
    """Ranks, step, who approved it, what was expected and measured, and why it ended."""
    approved = (Decision(time_ns=1, what="approve", who="otto"),)
    offered = note_of(
        some_adjustment(
            AdjustmentState.OFFERED, decisions=approved, because="idle", expected_low=1.1, expected_high=2.0
        )
    )
    assert offered is not None
    assert offered.because == (
        "micro_batch 16 → 8 offered to 4 ranks for step 240, approved by otto, expected ×1.10 to ×2.00: idle"
    )
    why = "takes 9f2a back: slower"
    back = note_of(some_adjustment(AdjustmentState.OFFERED, inverse_of="9f2a", because=why, ranks=1, hosts=("a",)))
    assert back is not None
    assert (back.because, back.host) == (f"micro_batch 16 → 8 offered to 1 rank for step 240: {why}", "a")
    kept = note_of(some_adjustment(effect=faster(1.034)))
    assert kept is not None
    assert kept.because == "micro_batch 16 → 8 kept, +3 % (+1 % … +5 %)"
    vetoed = note_of(some_adjustment(AdjustmentState.VETOED, reason="vetoed by otto: useless"))
    assert vetoed is not None
    assert vetoed.because == "micro_batch 16 → 8 vetoed by otto: useless"
    assert set(kept.evidence) == {"from", "to", "gain", "gain_low", "gain_high"}
    assert note_of(some_adjustment(AdjustmentState.FAILED, reason="rank 3 differs")).severity == "critical"  # type: ignore[union-attr]  # it is noted


def test_a_decision_of_a_person_is_an_entry_of_its_own() -> None:
    """Two decisions about one adjustment have two ids."""
    first, second = (decision_note("r", "otto", "vetoed x: noon", at, "9f2a") for at in (1, 2))
    assert (first.kind, first.because, first.run) == ("adjustment_decided", "otto vetoed x: noon", "r")
    assert first.id < second.id
