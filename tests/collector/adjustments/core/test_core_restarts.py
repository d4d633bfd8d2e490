"""Restarts of the collector: whatever was in progress goes on, and an ended change does not begin again."""

import pytest

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.limits import did_harm
from tests.collector.adjustments.core_case import AUTO, RUN, CoreCase, effect, harm, micro_batch


def restarted(register: str = "c10d", step_seconds: float = 0.5) -> tuple[CoreCase, Adjustment]:
    """Return a collector that was restarted while an offer was under way, and the offer. Both ranks are back."""
    before = CoreCase(2, AUTO, micro_batch(safety=1), register=register)
    stored = before.of(before.ask())
    after = CoreCase(0)
    after.world = 2
    after.core.term = 8
    after.core.load([stored], [], after.now)
    after.declare(0, micro_batch(safety=1), register=register, step_seconds=step_seconds)
    after.declare(1, micro_batch(safety=1), register=register)
    return after, stored


def restarted_with(stored: list[Adjustment], *sizes: int, **fields: object) -> CoreCase:
    """Return a restarted collector whose ranks declare these sizes, some seconds later."""
    case = CoreCase(0)
    case.world = 2
    case.now = max(each.changed_ns for each in stored)
    case.core.load(stored, [], case.now)
    case.wait(30)
    for rank, size in enumerate(sizes):
        case.declare(rank, micro_batch(size), step=1000, **fields)
        case.wait(3)
    return case


@pytest.mark.parametrize("stage", [AdjustmentState.OFFERED, AdjustmentState.COMMITTED])
@pytest.mark.parametrize("applied", [True, False])
def test_the_collector_goes_on_after_a_restart(stage: AdjustmentState, *, applied: bool) -> None:
    """A restarted collector withdraws or commits again, and learns from answers and declarations what happened."""
    before = CoreCase()
    offered = before.ask()
    if stage is AdjustmentState.COMMITTED:
        before.all_answer(offered, "prepared")
    stored = before.of(offered)
    assert stored.state is stage
    after = CoreCase(0)
    after.world = 2
    after.core.term = 8
    after.core.load([stored], [], after.now)
    for rank in range(2):
        after.declare(rank)
    sent = {message.WhichOneof("kind") for _, message in after.messages()}
    assert sent == ({"withdraw"} if stage is AdjustmentState.OFFERED else {"commit"})
    value = micro_batch(8 if applied else 16)
    after.declare(0, value, step=stored.at_step + 2)
    after.declare(1, value, step=stored.at_step + 2)
    if applied:
        assert after.state(offered) is AdjustmentState.APPLIED
    elif stage is AdjustmentState.COMMITTED:
        assert after.state(offered) is AdjustmentState.ABORTED
    else:
        assert after.state(offered) in {AdjustmentState.ABORTED, AdjustmentState.EXPIRED}


def test_the_word_of_one_rank_ends_an_offer_from_before_a_restart() -> None:
    """All ranks obey one decision: what one has aborted is over, and what one has applied was committed."""
    aborted, offer = restarted()
    aborted.answer(offer, 1, "aborted")
    assert aborted.state(offer) is AdjustmentState.ABORTED
    applied, offer = restarted()
    applied.answer(offer, 1, "applied", 8)
    assert applied.state(offer) is AdjustmentState.COMMITTED
    applied.answer(offer, 0, "applied", 8)
    assert applied.state(offer) is AdjustmentState.APPLIED


def test_without_a_register_the_word_of_one_rank_is_not_that_of_all() -> None:
    """Ranks that do not decide together are all waited for."""
    case, offer = restarted("none")
    case.answer(offer, 1, "aborted")
    assert case.state(offer) is AdjustmentState.OFFERED
    case.answer(offer, 0, "applied", 8)
    assert case.state(offer) is AdjustmentState.FAILED


def test_ranks_are_asked_again_after_a_restart_but_not_for_long() -> None:
    """A rank that answers no withdrawal never had the offer. One with long steps has the time of some steps."""
    case, offer = restarted()
    case.messages()
    case.wait(10)
    assert len(case.messages("withdraw")) == 2 * 5
    case.wait(6)
    assert case.state(offer) is AdjustmentState.EXPIRED
    slow, offer = restarted(step_seconds=10.0)
    slow.wait(39)
    assert slow.state(offer) is AdjustmentState.OFFERED
    slow.wait(2)
    assert slow.state(offer) is AdjustmentState.EXPIRED


def test_a_measurement_goes_on_after_a_restart() -> None:
    """An applied change is still watched, and one that was being taken back is taken back."""
    before = CoreCase()
    applied = before.applied()
    after = CoreCase(0)
    after.core.load([before.of(applied)], [], after.now)
    assert after.core.books[RUN].watched == before.of(applied)
    harm(before, applied)
    again = CoreCase(0)
    again.world = 2
    again.core.load([before.of(applied), before.newest()], [], again.now)
    for rank in range(2):
        again.declare(rank, micro_batch(8))
    again.wait(110, every=5)
    newest = again.newest()
    assert (newest.inverse_of, newest.value_to) == (applied.id, 16)
    assert newest.state is AdjustmentState.OFFERED


@pytest.mark.parametrize("is_committed", [False, True])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_of_two_stored_offers_the_older_one_ends_at_a_restart(is_committed: bool, is_reversed: bool) -> None:
    """The end of the older one was not stored. It does not stay in progress, and the later one goes on."""
    before = CoreCase()
    first = before.ask()
    older = before.all_answer(first, "prepared") if is_committed else before.of(first)
    before.all_answer(first, "aborted")
    before.wait(1)
    later = before.ask(4)
    case = CoreCase(0)
    case.world = 2
    case.core.load([later, older] if is_reversed else [older, later], [], case.now)
    assert case.state(older) is AdjustmentState.WITHDRAWN
    assert case.of(older).reason == "the collector restarted, and a later change was in progress"
    assert case.core.books[RUN].in_flight == later
    for rank in range(2):
        case.declare(rank, step=later.at_step)
    case.all_answer(later, "applied", 4)
    assert case.state(later) is AdjustmentState.APPLIED


@pytest.mark.parametrize("measured", [False, True])
def test_an_undo_goes_on_after_a_restart_as_that_of_its_person(measured: bool) -> None:
    """A restarted collector records neither that nothing was undone, nor that the change did harm."""
    before = CoreCase()
    change = before.applied() if measured else before.kept()
    inverse = before.all_answer(before.core.undo(change, "alice", "too slow", before.now), "prepared")
    case = CoreCase(0)
    case.world = 2
    case.core.load([before.of(change), inverse], [], case.now)
    for rank in range(2):
        case.declare(rank, micro_batch(8), step=change.at_step)
    case.all_answer(inverse, "applied", 16)
    assert case.state(change) is AdjustmentState.UNDONE
    decided = [each for each in case.of(change).decisions if each.what == "undo"]
    assert [(each.who, each.why) for each in decided] == [("alice", "too slow")]
    assert not did_harm(case.of(change))


@pytest.mark.parametrize("before_the_restart", [False, True])
def test_an_undo_that_was_refused_around_a_restart_lets_the_measurement_go_on(before_the_restart: bool) -> None:
    """A refused undo is not offered again by the collector: the person asks again, or the measurement decides."""
    before = CoreCase()
    change = before.applied()
    inverse = before.core.undo(change, "alice", "", before.now)
    if before_the_restart:
        before.answer(inverse, 0, "veto", reason="busy")
    case = CoreCase(0)
    case.world = 2
    case.core.load([before.of(change), before.of(inverse)], [], case.now)
    for rank in range(2):
        case.declare(rank, micro_batch(8), step=change.at_step)
    if not before_the_restart:
        case.answer(inverse, 0, "veto", reason="busy")
    case.wait(120)
    assert case.newest().id == inverse.id
    assert case.core.books[RUN].watched == case.of(change)


def split_ranks() -> tuple[CoreCase, Adjustment]:
    """Return a run whose ranks a change has split, and that change. They wait to be made equal."""
    case = CoreCase()
    failed = case.all_answer(case.ask(), "prepared")
    case.answer(failed, 0, "applied", 8)
    case.answer(failed, 1, "aborted")
    case.answer(case.newest(), 0, "veto", reason="busy")
    assert case.core.books[RUN].flight is None
    return case, case.of(failed)


def test_ranks_are_made_equal_after_a_restart_too() -> None:
    """A restart between two tries does not leave ranks with different values."""
    before, failed = split_ranks()
    case = restarted_with(before.core.history(RUN)[::-1], 8, 16)
    inverse = case.newest()
    assert (inverse.inverse_of, inverse.value_to, inverse.state) == (failed.id, 16, AdjustmentState.OFFERED)
    assert [each.what for each in inverse.decisions[:1]] == ["repair"]
    case.apply(inverse)
    assert case.core.books[RUN].take_backs == {}
    assert case.state(failed) is AdjustmentState.FAILED


@pytest.mark.parametrize(("sizes", "attempt"), [((8, 8), 0), ((16, 16), 0), ((8, 4), 0), ((8, 16), 1)])
def test_after_a_restart_only_ranks_that_are_still_split_are_made_equal(sizes: tuple[int, int], attempt: int) -> None:
    """Ranks that are equal, a rank that has changed by itself since, and another attempt are left alone."""
    before, failed = split_ranks()
    stored = before.core.history(RUN)
    case = restarted_with(stored[::-1], *sizes, attempt=attempt)
    assert case.newest().id == stored[0].id
    assert case.core.books[RUN].take_backs == {}
    assert case.of(failed) == failed


def test_a_failure_of_an_earlier_attempt_does_not_hide_a_later_one_at_a_restart() -> None:
    """The ranks of this attempt are made equal, and whatever split those of the one before is left alone."""
    before, earlier = split_ranks()
    for rank in range(2):
        before.declare(rank, attempt=1, pid=100 + rank, step=5)
    before.wait(1)
    failed = before.all_answer(before.ask(4), "prepared")
    before.answer(failed, 0, "applied", 4)
    before.answer(failed, 1, "aborted")
    assert failed.attempt == earlier.attempt + 1
    before.answer(before.newest(), 0, "veto", reason="busy")
    case = restarted_with(before.core.history(RUN)[::-1], 4, 16, attempt=1)
    inverse = case.newest()
    assert (inverse.inverse_of, inverse.value_to, inverse.state) == (failed.id, 16, AdjustmentState.OFFERED)
    assert list(case.core.books[RUN].take_backs) == [failed.id]


def test_a_failure_is_repaired_although_an_earlier_one_is_still_examined() -> None:
    """Not all ranks are back yet, so it is not known whether a failure from before the restart still splits them."""
    before, earlier = split_ranks()
    case = CoreCase(0)
    case.world = 2
    case.now = before.now
    case.core.load(before.core.history(RUN)[::-1], [], case.now)
    for rank in range(2):
        case.declare(rank, micro_batch(16), attempt=1, step=5)
    failed = case.all_answer(case.ask(4), "prepared")
    case.answer(failed, 0, "applied", 4)
    case.answer(failed, 1, "aborted")
    case.wait(1)
    assert list(case.core.books[RUN].take_backs) == [failed.id]
    assert (case.newest().inverse_of, earlier.attempt) == (failed.id, 0)


def test_answers_of_an_earlier_attempt_are_not_values_of_the_next_one() -> None:
    """Its ranks begin with their own values. An undo would give each its own one back, and so split them."""
    case = CoreCase()
    committed = case.all_answer(case.ask(8), "prepared")
    case.answer(committed, 1, "applied", 8)
    for rank in (1, 0):
        case.declare(rank, attempt=1, pid=200 + rank, step=5)
    assert case.state(committed) is AdjustmentState.WITHDRAWN
    offered = case.ask(4)
    assert (offered.value_from, offered.values_from) == (16, {})


def test_of_two_failures_the_first_one_is_repaired_after_a_restart() -> None:
    """The values between the two were unequal, so those before the first one are brought back."""
    before, first = split_ranks()
    before.wait(1)
    second = before.all_answer(before.ask(4), "prepared")
    before.answer(second, 0, "applied", 4)
    before.answer(second, 1, "aborted")
    before.answer(before.newest(), 0, "veto", reason="busy")
    case = restarted_with(before.core.history(RUN)[::-1], 8, 16)
    assert list(case.core.books[RUN].take_backs) == [first.id]
    assert case.newest().value_to == 16


def test_a_repair_that_has_ended_does_not_begin_again_at_a_restart() -> None:
    """Not if it was done, if a person has stopped it or has set another value, or if it was given up."""
    for end in (_repair, _stop_repair, _set_another, _give_repair_up):
        before, _ = split_ranks()
        end(before)
        stored = before.core.history(RUN)
        case = restarted_with(stored[::-1], 8, 16)
        assert case.newest().id == stored[0].id
        assert case.core.books[RUN].take_backs == {}


def split_by_an_undo(*, measured: bool) -> tuple[CoreCase, Adjustment]:
    """Return a run whose ranks were split by the undo of a change, and that change."""
    case = CoreCase()
    change = case.applied() if measured else case.kept()
    case.wait(1)
    inverse = case.all_answer(case.core.undo(change, "alice", "too slow", case.now), "prepared")
    case.answer(inverse, 0, "applied", 16)
    case.answer(inverse, 1, "aborted")
    assert case.state(inverse) is AdjustmentState.FAILED
    return case, change


@pytest.mark.parametrize("measured", [False, True])
def test_an_undo_that_split_the_ranks_goes_on_after_a_restart(measured: bool) -> None:
    """The change is still taken back as its person wanted, whether it was kept or being measured."""
    before, change = split_by_an_undo(measured=measured)
    case = restarted_with(before.core.history(RUN)[::-1], 16, 8)
    inverse = _next_try(case, 16, 8)
    assert (inverse.inverse_of, inverse.value_to, inverse.state) == (change.id, 16, AdjustmentState.OFFERED)
    assert [(each.what, each.who, each.why) for each in inverse.decisions[:1]] == [("undo", "alice", "too slow")]
    case.apply(inverse)
    assert case.state(change) is AdjustmentState.UNDONE
    assert not did_harm(case.of(change))
    assert case.core.books[RUN].take_backs == {}


@pytest.mark.parametrize(("sizes", "state"), [((16, 16), "undone"), ((8, 8), "kept"), ((16, 4), "kept")])
def test_after_a_restart_an_undo_goes_on_only_where_the_ranks_are_still_split(
    sizes: tuple[int, int], state: str
) -> None:
    """Ranks that have the old value again are recorded as undone; those that are equal otherwise are left alone."""
    before, change = split_by_an_undo(measured=False)
    newest = before.core.history(RUN)[0]
    case = restarted_with(before.core.history(RUN)[::-1], *sizes)
    case.wait(60)
    assert case.newest().id == newest.id
    assert case.state(change) == state
    assert case.core.books[RUN].take_backs == {}


def test_an_undo_that_a_person_has_stopped_does_not_begin_again_at_a_restart() -> None:
    """The ranks stay as they are, and so does the change, until a person asks again."""
    before, change = split_by_an_undo(measured=False)
    before.core.veto(_next_try(before, 16, 8), "bob", "", before.now)
    case = restarted_with(before.core.history(RUN)[::-1], 16, 8)
    assert case.core.books[RUN].take_backs == {}
    assert case.state(change) is AdjustmentState.KEPT
    case.wait(1)
    case.declare(0, micro_batch(8), step=1100)
    again = case.all_answer(case.core.undo(case.of(change), "alice", "", case.now), "prepared")
    case.answer(again, 0, "applied", 16)
    case.answer(again, 1, "aborted")
    assert list(restarted_with(case.core.history(RUN)[::-1], 16, 8).core.books[RUN].take_backs) == [change.id]


def _next_try(case: CoreCase, *sizes: int) -> Adjustment:
    for _ in range(600):
        case.wait(1)
        for rank, size in enumerate(sizes or (8, 16)):
            case.declare(rank, micro_batch(size))
        if case.newest().state is AdjustmentState.OFFERED:
            break
    return case.newest()


def _repair(case: CoreCase) -> None:
    case.apply(_next_try(case))


def _stop_repair(case: CoreCase) -> None:
    case.core.veto(_next_try(case), "alice", "", case.now)


def _set_another(case: CoreCase) -> None:
    case.core.measured(case.apply(case.ask(4)), effect(), case.now)


def _give_repair_up(case: CoreCase) -> None:
    while case.core.books[RUN].take_backs:
        case.answer(_next_try(case), 0, "veto", reason="busy")
