"""Policies, limits and people decide what becomes an offer; and how changes are taken back."""

import json

import pytest

from flyball_agent.adjustments.checked_offer import checked_offer
from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.core.book import MAX_OF_RUN, PolicyChoice
from flyball_collector.adjustments.core.offer_checks import NotPossible
from flyball_collector.adjustments.core.take_backs import TRIES
from flyball_collector.adjustments.declared.ranks import RankValue
from flyball_collector.adjustments.limits import did_harm
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_proto.v1 import adjust_pb2 as pb
from tests.collector.adjustments.core_case import AUTO, RUN, CoreCase, effect, micro_batch, proposal

ASK = AdjustmentsSettings(enabled=True, policy="ask")
MINUTE = 60.0


def by_rule(case: CoreCase, to: int = 8, **fields: object) -> Adjustment | None:
    return case.core.by_rule(proposal(to, **fields), case.now)


def policy(case: CoreCase, word: str) -> None:
    case.core.set_policy(PolicyChoice(run=RUN, policy=word, who="bob", time_ns=case.now))


def harm(case: CoreCase, adjustment: Adjustment) -> None:
    case.core.measured(adjustment, effect(0.8, faults=("slower",)), case.now, harm="the run became slower")


def test_policy_auto_offers_what_is_safe() -> None:
    """A rule's proposal of an allowed class is offered at once, without a person."""
    case = CoreCase()
    offered = by_rule(case)
    assert offered is not None
    assert offered.state is AdjustmentState.OFFERED
    assert case.messages()[0][1].offer.approved_by == ""


@pytest.mark.parametrize("settings", [ASK, AdjustmentsSettings(enabled=True, policy="auto", auto_safety=1)])
def test_what_is_not_allowed_waits_for_a_person(settings: AdjustmentsSettings) -> None:
    """Policy ask, and classes above the automatic one, propose; the offer follows the approval and names the person."""
    case = CoreCase(2, settings)
    proposed = by_rule(case)
    assert proposed is not None
    assert proposed.state is AdjustmentState.PROPOSED
    assert not case.messages()
    assert by_rule(case) is None
    offered = case.core.approve(proposed, "alice", "go on", case.now)
    assert offered.state is AdjustmentState.OFFERED
    assert case.messages()[0][1].offer.approved_by == "alice"
    with pytest.raises(NotPossible, match="does not wait for approval; it is offered"):
        case.core.approve(offered, "bob", "", case.now)


def test_policy_off_allows_nothing() -> None:
    """With policy off, rules propose nothing, and what waits for approval is vetoed."""
    case = CoreCase(2, ASK)
    proposed = by_rule(case)
    assert proposed is not None
    policy(case, "off")
    assert case.state(proposed) is AdjustmentState.VETOED
    assert by_rule(case, 4) is None


def test_policy_off_withdraws_an_offer() -> None:
    """An offer that is not committed yet is withdrawn from all ranks when a person turns adjustments off."""
    case = CoreCase()
    offered = case.ask()
    policy(case, "off")
    assert case.state(offered) is AdjustmentState.VETOED
    assert case.of(offered).reason == "bob set the policy of the run to off"
    assert len(case.messages("withdraw")) == 2


def test_a_value_of_the_next_start_is_not_measured() -> None:
    """A change that takes effect at the next start waits for a person, and is kept at once."""
    case = CoreCase(2, AUTO, micro_batch(when="restart"))
    proposed = by_rule(case)
    assert proposed is not None
    assert proposed.state is AdjustmentState.PROPOSED
    kept = case.apply(case.core.approve(proposed, "alice", "", case.now))
    assert (kept.state, kept.reason) == (AdjustmentState.KEPT, "kept for the next start")


def test_a_proposal_that_nobody_answers_expires_and_is_not_repeated_at_once() -> None:
    """After an hour it expires, and the same rule waits another hour."""
    case = CoreCase(2, ASK)
    proposed = by_rule(case)
    assert proposed is not None
    for _ in range(31):
        for rank in range(2):
            case.declare(rank)
        case.wait(120, every=30)
    assert case.state(proposed) is AdjustmentState.EXPIRED
    assert by_rule(case) is None


def test_a_proposal_goes_with_its_reason() -> None:
    """A proposal whose rule no longer finds it is withdrawn, and a newer one replaces an older one."""
    case = CoreCase(2, ASK)
    first = by_rule(case, 8)
    second = by_rule(case, 4)
    assert first is not None
    assert second is not None
    assert case.of(first).reason == f"replaced by the newer proposal {second.id}"
    with pytest.raises(NotPossible, match=f"it is withdrawn: replaced by the newer proposal {second.id}"):
        case.core.approve(case.of(first), "alice", "", case.now)
    case.core.reason_gone(RUN, ["micro_batch"], case.now)
    assert case.state(second) is AdjustmentState.PROPOSED
    case.core.reason_gone(RUN, [], case.now)
    assert case.of(second).reason == "its reason has gone"


def test_a_proposal_ends_when_the_last_rank_leaves() -> None:
    """Nobody is asked about a run that has ended. One rank that leaves, or a host without a stream, ends nothing."""
    case = CoreCase(2, ASK)
    proposed = by_rule(case)
    assert proposed is not None
    assert proposed.hosts == ("node-0", "node-1")
    case.core.left("node-1", pb.Left(run=RUN, rank=1, pid=101), case.now)
    case.core.host_lost("node-0", case.now)
    assert case.state(proposed) is AdjustmentState.PROPOSED
    case.declare(0)
    case.core.left("node-0", pb.Left(run=RUN, rank=0, pid=100), case.now)
    assert (case.state(proposed), case.of(proposed).reason) == (
        AdjustmentState.WITHDRAWN,
        "its ranks have left the run",
    )


@pytest.mark.parametrize("leaving", [(0, 1), (1,)])
def test_a_change_is_not_measured_in_the_processes_of_a_later_start(leaving: tuple[int, ...]) -> None:
    """Ranks that left and come back as other processes begin with their own values; the same processes go on."""
    case = CoreCase()
    adjustment = case.applied()
    for rank in leaving:
        assert case.core.left(f"node-{rank}", pb.Left(run=RUN, rank=rank, pid=100 + rank), case.now)
        case.declare(rank, micro_batch(8), step=adjustment.at_step)
    assert case.state(adjustment) is AdjustmentState.APPLIED
    for rank in leaving:
        case.core.left(f"node-{rank}", pb.Left(run=RUN, rank=rank, pid=100 + rank), case.now)
    for rank in leaving:
        case.declare(rank, micro_batch(16), pid=200 + rank)
    assert case.of(adjustment).reason == "the run was restarted while its effect was measured"
    assert case.state(adjustment) is AdjustmentState.WITHDRAWN


@pytest.mark.parametrize(("behind", "state"), [(1, "withdrawn"), (0, "applied")])
def test_a_restart_that_nobody_saw_ends_a_measurement(behind: int, state: str) -> None:
    """A rank that comes back before the step of the change is another process: the collector or its host was away."""
    case = CoreCase()
    adjustment = case.applied()
    for rank in range(2):
        case.core.host_lost(f"node-{rank}", case.now)
    for rank in range(2):
        case.declare(rank, pid=200 + rank, step=adjustment.at_step - behind)
    assert case.state(adjustment).value == state


def test_an_approval_that_comes_too_late_is_refused() -> None:
    """If the value has changed since the proposal, the approval is refused with the value that it has now."""
    case = CoreCase(2, ASK)
    proposed = by_rule(case, 8)
    assert proposed is not None
    for rank in range(2):
        case.declare(rank, micro_batch(4))
    with pytest.raises(NotPossible, match="is 4 now"):
        case.core.approve(proposed, "alice", "", case.now)


def test_a_person_can_veto_until_the_commit() -> None:
    """A person's veto ends a proposal or an offer, and the rule does not propose it again; a commit must be undone."""
    case = CoreCase()
    offered = by_rule(case)
    assert offered is not None
    vetoed = case.core.veto(offered, "alice", "not now", case.now)
    assert (vetoed.state, vetoed.reason) == (AdjustmentState.VETOED, "vetoed by alice: not now")
    assert [message.WhichOneof("kind") for _, message in case.messages()] == ["offer"] * 2 + ["withdraw"] * 2
    case.wait(7200, every=60)
    for rank in range(2):
        case.declare(rank)
    assert by_rule(case) is None
    asked = case.all_answer(case.ask(4), "prepared")
    with pytest.raises(NotPossible, match="is committed at step"):
        case.core.veto(asked, "alice", "", case.now)
    case.all_answer(asked, "applied", 4)
    with pytest.raises(NotPossible, match="can be undone"):
        case.core.veto(case.of(asked), "alice", "", case.now)


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


def test_ranks_that_differ_and_abort_have_changed_nothing() -> None:
    """Each has its own value still, whatever that is; a rank that changed alone is a split."""
    for last, state in (("aborted", AdjustmentState.ABORTED), ("applied", AdjustmentState.FAILED)):
        case = CoreCase(3)
        for rank, size in enumerate((16, 8, 4)):
            case.declare(rank, micro_batch(size))
        offered = case.all_answer(case.ask(2), "prepared")
        for rank, verdict in enumerate(("aborted", "aborted", last)):
            case.answer(offered, rank, verdict, 2 if verdict == "applied" else None)
        assert case.state(offered) is state


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
    for harm in ("", "the run became slower (-9 %)"):
        case.core.measured(applied, effect(), case.now, harm=harm)
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


def test_two_roll_backs_disable_a_rule() -> None:
    """The cool-down doubles after the first roll-back, and after the second one the rule is not used on this run."""
    case = CoreCase()
    waits = []
    for _ in range(2):
        began = case.now
        while (offered := by_rule(case)) is None:
            for rank in range(2):
                case.declare(rank)
            case.wait(30, every=30)
            assert case.now - began < 2 * 3600 * 10**9
        waits.append((case.now - began) / 1e9 / MINUTE)
        harm(case, case.apply(offered))
        case.apply(case.newest())
    assert waits[0] == 0
    assert waits[1] == pytest.approx(20, abs=1)
    for _ in range(100):
        case.wait(600, every=600)
        for rank in range(2):
            case.declare(rank)
        assert by_rule(case) is None
    assert case.core.why_not(proposal(), case.now) == "it was taken back 2 times on this run"


def test_what_protects_does_not_wait_for_the_cool_down() -> None:
    """A change against memory that runs out comes soon after another one; a change for speed waits."""
    case = CoreCase()
    case.kept(8)
    assert by_rule(case, 16, rule="grow") is None
    assert by_rule(case, 4, protects=True) is not None


def test_a_protecting_change_ends_the_measurement_of_another_one() -> None:
    """The measured change is kept with the reason, and the new one is measured."""
    case = CoreCase()
    first = case.applied(8)
    second = by_rule(case, 4, protects=True)
    assert second is not None
    case.apply(second)
    assert case.of(first).state is AdjustmentState.KEPT
    assert case.of(first).reason == "another change was made before its effect was measured"
    assert case.core.books[RUN].watched == case.of(second)


def test_a_person_waits_for_the_end_of_a_measurement() -> None:
    """While an effect is measured, a person's request is refused with the remedy."""
    case = CoreCase()
    case.applied()
    with pytest.raises(NotPossible, match="is being measured; wait until it is over, or undo it first"):
        case.ask(4)


def test_throttling_is_kept_at_once() -> None:
    """Levers that only cost time are not measured and need no cool-down."""
    throttle = micro_batch(0, choices=(0, 0.1, 0.2), safety=1, lever="throttle")
    case = CoreCase(2, AUTO, throttle)
    for to in (0.1, 0.2, 0.1):
        offered = by_rule(case, to, lever="throttle", rule="heat")  # type: ignore[arg-type]  # a share of the time
        assert offered is not None
        assert case.apply(offered).state is AdjustmentState.KEPT


def test_a_rank_with_the_new_value_already_is_not_a_fault() -> None:
    """After an out-of-memory one rank has the smaller size; an aborted offer is then no split."""
    case = CoreCase()
    case.declare(1, micro_batch(8))
    offered = case.all_answer(case.ask(8), "prepared")
    case.declare(1, micro_batch(8), step=offered.at_step)
    assert case.state(offered) is AdjustmentState.COMMITTED
    assert case.all_answer(offered, "aborted").state is AdjustmentState.ABORTED


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


def split_ranks() -> tuple[CoreCase, Adjustment]:
    """Return a run whose ranks a change has split, and that change. They wait to be made equal."""
    case = CoreCase()
    failed = case.all_answer(case.ask(), "prepared")
    case.answer(failed, 0, "applied", 8)
    case.answer(failed, 1, "aborted")
    case.answer(case.newest(), 0, "veto", reason="busy")
    assert case.core.books[RUN].flight is None
    return case, case.of(failed)


def restarted_with(stored: list[Adjustment], *sizes: int, **fields: object) -> CoreCase:
    """Return a restarted collector whose ranks declare these sizes, some seconds later."""
    case = CoreCase(0)
    case.world = 2
    case.core.load(stored, [], case.now)
    case.wait(30)
    for rank, size in enumerate(sizes):
        case.declare(rank, micro_batch(size), step=1000, **fields)
        case.wait(3)
    return case


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


def test_a_repair_that_has_ended_does_not_begin_again_at_a_restart() -> None:
    """Not if it was done, if a person has stopped it or has set another value, or if it was given up."""
    for end in (_repair, _stop_repair, _set_another, _give_repair_up):
        before, _ = split_ranks()
        end(before)
        stored = before.core.history(RUN)
        case = restarted_with(stored[::-1], 8, 16)
        assert case.newest().id == stored[0].id
        assert case.core.books[RUN].take_backs == {}


def _next_try(case: CoreCase) -> Adjustment:
    for _ in range(600):
        case.wait(1)
        for rank, size in enumerate((8, 16)):
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
