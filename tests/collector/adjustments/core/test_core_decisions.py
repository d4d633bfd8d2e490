"""Policies, limits and people decide what becomes an offer."""

import pytest

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.core.book import PolicyChoice
from flyball_collector.adjustments.core.offer_checks import NotPossible
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_proto.v1 import adjust_pb2 as pb
from tests.collector.adjustments.core_case import AUTO, RUN, CoreCase, harm, micro_batch, proposal

ASK = AdjustmentsSettings(enabled=True, policy="ask")
MINUTE = 60.0


def by_rule(case: CoreCase, to: int = 8, **fields: object) -> Adjustment | None:
    return case.core.by_rule(proposal(to, **fields), case.now)


def policy(case: CoreCase, word: str) -> None:
    case.core.set_policy(PolicyChoice(run=RUN, policy=word, who="bob", time_ns=case.now))


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
