"""Changes are taken back: because they did harm, because a person wants it, or because they have split the ranks."""

import json

import pytest

from flyball_agent.adjustments.checked_offer import checked_offer
from flyball_collector.adjustments.adjustment import AdjustmentState
from flyball_collector.adjustments.core.book import MAX_OF_RUN
from flyball_collector.adjustments.core.offer_checks import NotPossible
from flyball_collector.adjustments.core.take_backs import TRIES
from flyball_collector.adjustments.declared.ranks import RankValue
from tests.collector.adjustments.core_case import AUTO, RUN, CoreCase, effect, harm, micro_batch


def test_a_person_undoes_a_change() -> None:
    """The inverse is offered at once; the change counts as undone when all ranks have applied the inverse."""
    case = CoreCase()
    kept = case.kept()
    inverse = case.core.undo(kept, "alice", "", case.now)
    assert (inverse.value_from, inverse.value_to, inverse.inverse_of) == (8, 16, kept.id)
    assert case.of(kept).inverse == inverse.id
    assert case.messages("offer")[-1][1].offer.approved_by == "alice"
    case.apply(inverse)
    assert case.state(kept) is AdjustmentState.UNDONE
    assert case.state(inverse) is AdjustmentState.KEPT
    with pytest.raises(NotPossible, match="cannot be undone; it is undone"):
        case.core.undo(case.of(kept), "alice", "", case.now)


def of_offer(case: CoreCase) -> list[tuple[int, int]]:
    """Return what each rank is offered, as the agent of its host passes it on."""
    offers = [message.offer for _, message in case.messages("offer")]
    lines = [json.loads(checked_offer(offer).line(rank)) for rank, offer in enumerate(offers)]
    return [(line["from"], line["to"]) for line in lines]


def test_ranks_that_differ_are_made_equal_and_each_gets_its_own_value_back() -> None:
    """The offer has the value of each rank, so that one whose value has changed since refuses; so has the inverse."""
    case = CoreCase(3)
    for rank, size in enumerate((16, 8, 4)):
        case.declare(rank, micro_batch(size))
    offered = case.ask(4)
    assert of_offer(case) == [(16, 4), (8, 4), (4, 4)]
    assert case.apply(offered).state is AdjustmentState.APPLIED
    kept = case.of(offered)
    inverse = case.core.undo(kept, "alice", "", case.now)
    assert of_offer(case) == [(4, 16), (4, 8), (4, 4)]
    case.all_answer(inverse, "prepared")
    for rank, size in enumerate((16, 8, 4)):
        case.answer(inverse, rank, "applied", size)
    assert case.state(kept) is AdjustmentState.UNDONE
    values = case.core.ables.run(RUN)
    assert values is not None
    assert {rank: each.value for rank, each in values.of("micro_batch").items()} == {0: 16, 1: 8, 2: 4}


def test_an_undo_that_the_ranks_refuse_can_be_repeated() -> None:
    """A refused inverse leaves the change as it is, and the person may ask again."""
    case = CoreCase()
    kept = case.kept()
    inverse = case.core.undo(kept, "alice", "", case.now)
    case.answer(inverse, 0, "veto", reason="busy")
    assert case.state(kept) is AdjustmentState.KEPT
    assert case.core.undo(case.of(kept), "alice", "", case.now).state is AdjustmentState.OFFERED


def test_a_change_can_be_undone_while_it_is_measured() -> None:
    """An undo ends the measurement."""
    case = CoreCase()
    applied = case.applied()
    case.apply(case.core.undo(applied, "alice", "", case.now))
    assert case.state(applied) is AdjustmentState.UNDONE
    assert case.core.books[RUN].watch is None


def test_a_measurement_decides_nothing_while_a_person_undoes_the_change() -> None:
    """A change is neither kept nor taken back while its undo waits for the next epoch."""
    case = CoreCase(2, AUTO, micro_batch(when="epoch"))
    applied = case.applied()
    inverse = case.core.undo(applied, "alice", "", case.now)
    case.all_answer(inverse, "prepared")
    for found in ("", "the run became slower (-9 %)"):
        case.core.measured(applied, effect(), case.now, harm=found)
        assert case.state(applied) is AdjustmentState.APPLIED
    case.all_answer(inverse, "applied", 16)
    assert case.state(applied) is AdjustmentState.UNDONE
    assert "keep" not in [each.what for each in case.of(applied).decisions]


def test_an_undo_that_the_ranks_refuse_lets_the_measurement_go_on() -> None:
    """After a refused undo the change is kept, or taken back, by what is measured."""
    case = CoreCase()
    applied = case.applied()
    case.answer(case.core.undo(applied, "alice", "", case.now), 0, "veto", reason="busy")
    case.core.measured(applied, effect(), case.now)
    assert case.state(applied) is AdjustmentState.KEPT


def test_the_oldest_change_can_be_undone_however_many_are_remembered() -> None:
    """The inverse is one more than are kept; what it takes back stays."""
    case = CoreCase(2, AUTO, micro_batch(), RankValue("throttle", 0, (0, 0.1), lever="throttle"))
    kept = case.kept()
    for number in range(MAX_OF_RUN - 1):
        case.apply(case.ask(0 if number % 2 else 0.1, "throttle"))
    case.apply(case.core.undo(case.of(kept), "alice", "", case.now))
    assert case.state(kept) is AdjustmentState.UNDONE


def test_ranks_that_an_undo_has_split_are_made_equal() -> None:
    """The old value is offered again. If that cannot be done either, the change fails, and nothing is measured."""
    for refused in (False, True):
        case = CoreCase()
        change = case.applied()
        inverse = case.all_answer(case.core.undo(change, "alice", "", case.now), "prepared")
        case.answer(inverse, 0, "applied", 16)
        case.answer(inverse, 1, "aborted")
        assert case.state(inverse) is AdjustmentState.FAILED
        for _ in range(600 if refused else 30):
            case.wait(1)
            for rank, size in enumerate((16, 8)):
                case.declare(rank, micro_batch(size))
            if case.newest().state is AdjustmentState.OFFERED and refused:
                case.answer(case.newest(), 0, "veto", reason="busy")
            elif case.newest().state is AdjustmentState.OFFERED:
                case.apply(case.newest())
        assert case.state(change) is (AdjustmentState.FAILED if refused else AdjustmentState.UNDONE)
        assert case.core.books[RUN].watch is None


def test_a_second_failure_does_not_bring_unequal_values_back() -> None:
    """Ranks that differ are made equal by the value before the first failure, not by those between the two."""
    case = CoreCase()
    first = case.all_answer(case.ask(), "prepared")
    case.answer(first, 0, "applied", 8)
    case.answer(first, 1, "aborted")
    case.answer(case.newest(), 0, "veto", reason="busy")
    second = case.all_answer(case.ask(4), "prepared")
    case.answer(second, 0, "applied", 4)
    case.answer(second, 1, "aborted")
    assert [case.state(each) for each in (first, second)] == [AdjustmentState.FAILED] * 2
    for _ in range(120):
        case.wait(1)
        if case.newest().state is AdjustmentState.OFFERED:
            case.apply(case.newest())
    values = case.core.ables.run(RUN)
    assert values is not None
    assert [each.value for each in values.of("micro_batch").values()] == [16, 16]


def test_a_change_that_was_changed_again_cannot_be_undone() -> None:
    """Only the present value can be taken back."""
    case = CoreCase()
    kept = case.kept(8)
    case.kept(4)
    with pytest.raises(NotPossible, match="has been changed since; it is 4"):
        case.core.undo(case.of(kept), "alice", "", case.now)


def test_harm_is_taken_back_at_once() -> None:
    """The inverse of a harmful change is offered in the same second; it is rolled back when all have applied it."""
    case = CoreCase()
    applied = case.applied()
    case.messages()
    harm(case, applied)
    inverse = case.newest()
    assert (inverse.state, inverse.value_to, inverse.inverse_of) == (AdjustmentState.OFFERED, 16, applied.id)
    assert case.state(applied) is AdjustmentState.APPLIED
    case.apply(inverse)
    ended = case.of(applied)
    assert (ended.state, ended.reason) == (AdjustmentState.ROLLED_BACK, "the run became slower")
    assert ended.effect is not None
    assert ended.effect.faults == ("slower",)


def test_taking_back_is_tried_again_and_then_given_up_loudly() -> None:
    """A refused inverse is offered again with growing pauses; in the end the adjustment fails, and that is reported."""
    case = CoreCase()
    applied = case.applied()
    harm(case, applied)
    offers = 0
    for _ in range(1200):
        newest = case.newest()
        if newest.inverse_of and newest.state is AdjustmentState.OFFERED:
            offers += 1
            case.answer(newest, 0, "veto", reason="busy")
        for rank in range(2):
            case.declare(rank, micro_batch(8))
        case.wait(1)
    assert offers == TRIES
    ended = case.of(applied)
    assert ended.state is AdjustmentState.FAILED
    assert "could not be taken back: vetoed by rank 0: busy" in ended.reason
    assert [each.id for each in case.core.outbox.loud] == [applied.id]


def test_a_person_may_stop_taking_back() -> None:
    """A person's veto of the inverse keeps the change."""
    case = CoreCase()
    applied = case.applied()
    harm(case, applied)
    case.core.veto(case.newest(), "alice", "I want it", case.now)
    assert case.state(applied) is AdjustmentState.KEPT
    case.wait(600, every=30)
    assert case.core.books[RUN].flight is None


def test_an_undo_can_be_vetoed_too() -> None:
    """A person who stops an undo leaves the change as it was: still measured."""
    case = CoreCase()
    applied = case.applied()
    inverse = case.core.undo(applied, "alice", "", case.now)
    case.core.veto(inverse, "bob", "", case.now)
    assert case.state(applied) is AdjustmentState.APPLIED
    assert case.core.books[RUN].watched == case.of(applied)
    assert case.core.books[RUN].take_backs == {}


def test_a_run_that_ends_while_it_is_taken_back_is_rolled_back() -> None:
    """A restart brings the old value by itself."""
    case = CoreCase()
    applied = case.applied()
    harm(case, applied)
    case.declare(0, attempt=1, pid=900)
    assert case.state(applied) is AdjustmentState.ROLLED_BACK
