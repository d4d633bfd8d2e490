"""An offer from its beginning to the last word of every rank."""

import pytest

from flyball_collector.adjustments.adjustment import AdjustmentState
from flyball_collector.adjustments.core.book import GONE_SECONDS
from flyball_collector.adjustments.core.flights import RECOVER_SECONDS
from flyball_collector.adjustments.core.offer_checks import NotPossible
from flyball_collector.adjustments.core.timing import StepProgress
from flyball_proto.v1 import adjust_pb2 as pb
from tests.collector.adjustments.core_case import AUTO, RUN, CoreCase, effect, micro_batch


def kinds(case: CoreCase) -> list[tuple[str, str]]:
    return [(host, message.WhichOneof("kind") or "") for host, message in case.messages()]


def test_a_change_goes_from_offer_to_applied() -> None:
    """Every host gets the offer, then the commit when all ranks are prepared, and the change is applied by all."""
    case = CoreCase()
    offered = case.ask(8)
    (host, message), second = case.messages()
    offer = message.offer
    assert (host, second[0]) == ("node-0", "node-1")
    assert (offer.name, getattr(offer, "from"), offer.to, offer.at_step) == ("micro_batch", "16", "8", 114)
    assert (offer.term, offer.expires_seconds, offer.safety, offer.approved_by) == (7, 30, 2, "alice")
    case.answer(offered, 0, "prepared")
    assert not case.messages()
    case.answer(offered, 1, "prepared")
    assert kinds(case) == [("node-0", "commit"), ("node-1", "commit")]
    assert case.state(offered) is AdjustmentState.COMMITTED
    case.answer(offered, 0, "applied", 8)
    case.answer(offered, 1, "applied", 8)
    assert case.state(offered) is AdjustmentState.APPLIED
    assert case.core.ables.run(RUN).of("micro_batch")[1].value == 8  # type: ignore[union-attr]  # declared above


@pytest.mark.parametrize("verdict", ["veto", "refused", "aborted"])
def test_one_rank_that_refuses_ends_the_offer(verdict: str) -> None:
    """After a refusal nobody gets a commit: the offer is withdrawn from all, with the reason."""
    case = CoreCase(3)
    offered = case.ask()
    case.answer(offered, 0, "prepared")
    case.answer(offered, 1, verdict, reason="batch_norm")
    case.answer(offered, 2, "prepared")
    sent = kinds(case)
    assert [kind for _, kind in sent] == ["offer"] * 3 + ["withdraw"] * 3
    ended = case.of(offered)
    assert ended.state is (AdjustmentState.ABORTED if verdict == "aborted" else AdjustmentState.VETOED)
    assert "rank 1" in ended.reason
    assert "batch_norm" in ended.reason


def test_an_offer_without_all_answers_expires() -> None:
    """A rank that does not answer within 30 s ends the offer, and is named."""
    case = CoreCase()
    offered = case.ask()
    case.answer(offered, 0, "prepared")
    case.wait(29)
    assert case.state(offered) is AdjustmentState.OFFERED
    case.wait(2)
    assert case.state(offered) is AdjustmentState.EXPIRED
    assert case.of(offered).reason == "no answer in time of rank 1"
    assert "withdraw" in [kind for _, kind in kinds(case)]


def test_only_one_offer_at_a_time_is_made_to_a_run() -> None:
    """While one is in progress, another one is refused with its reason."""
    case = CoreCase()
    case.ask(8)
    with pytest.raises(NotPossible, match="another change of run 'llama' is in progress"):
        case.ask(4)


def test_the_answer_of_another_process_does_not_count() -> None:
    """An answer from another host, or from another process of the same rank, is not taken."""
    case = CoreCase()
    offered = case.ask()
    assert not case.answer(offered, 0, "prepared", host="node-1")
    assert not case.answer(offered, 0, "prepared", pid=999)
    assert not case.answer(offered, 0, "prepared", host="stranger")
    assert not case.of(offered).answers


def test_an_agent_refuses_for_all_ranks_of_its_host() -> None:
    """A refusal without a process id comes from the agent itself, and ends the offer."""
    case = CoreCase()
    offered = case.ask()
    assert case.answer(offered, 0, "refused", host="node-1", pid=0, reason="term")
    assert case.state(offered) is AdjustmentState.VETOED
    assert case.of(offered).reason == "refused by rank 1: term"


def test_ranks_that_differ_are_a_loud_failure_and_are_made_equal_again() -> None:
    """If some ranks applied it alone, the adjustment fails, it is reported, and the old value is offered to all."""
    case = CoreCase()
    offered = case.all_answer(case.ask(), "prepared")
    case.answer(offered, 0, "applied", 8)
    case.messages()
    case.answer(offered, 1, "applied", 16, reason="callback failed")
    failed = case.of(offered)
    assert failed.state is AdjustmentState.FAILED
    assert failed.reason == "1 of 2 ranks applied it, but not rank 1: callback failed"
    assert [each.id for each in case.core.outbox.loud] == [offered.id]
    repair = case.newest()
    assert (repair.inverse_of, repair.value_to, repair.state) == (offered.id, 16, AdjustmentState.OFFERED)
    case.apply(repair)
    assert case.state(offered) is AdjustmentState.FAILED
    assert case.core.books[RUN].take_backs == {}


@pytest.mark.parametrize(("world", "who"), [(1, "the rank observes"), (2, "all ranks observe")])
def test_a_callback_that_observes_another_value_is_named(world: int, who: str) -> None:
    """Ranks that all have the same other value do not differ: the reason names what they observe."""
    case = CoreCase(world)
    offered = case.all_answer(case.ask(), "prepared")
    failed = case.all_answer(offered, "applied", 4)
    assert (failed.state, failed.reason) == (AdjustmentState.FAILED, f"{who} 4 instead of 8")
    assert case.newest().value_to == 16


def test_an_answer_that_got_lost_is_seen_in_the_next_declaration() -> None:
    """A rank that declares the new value after the step has applied it; one with the old value has not."""
    case = CoreCase()
    offered = case.all_answer(case.ask(), "prepared")
    case.answer(offered, 0, "applied", 8)
    case.declare(1, micro_batch(8), step=offered.at_step)
    assert case.state(offered) is AdjustmentState.APPLIED
    other = CoreCase()
    offered = other.all_answer(other.ask(), "prepared")
    other.answer(offered, 0, "aborted", reason="late")
    other.declare(1, micro_batch(16), step=offered.at_step + 1)
    assert other.state(offered) is AdjustmentState.COMMITTED
    other.declare(1, micro_batch(16), step=offered.at_step + 2)
    assert other.state(offered) is AdjustmentState.ABORTED


def test_the_old_value_of_each_rank_is_seen_in_its_next_declaration() -> None:
    """A rank that declares its own old value after the step has not made the change, also where ranks differ."""
    case = CoreCase(3)
    for rank, size in enumerate((16, 8, 4)):
        case.declare(rank, micro_batch(size))
    offered = case.all_answer(case.ask(2), "prepared")
    for rank, size in enumerate((16, 8, 4)):
        case.declare(rank, micro_batch(size), step=offered.at_step + 2)
    assert case.state(offered) is AdjustmentState.ABORTED


def test_a_lost_offer_or_commit_is_sent_again() -> None:
    """A rank that declares itself without an answer, or prepared without an outcome, gets the message again."""
    case = CoreCase()
    offered = case.ask()
    case.messages()
    case.declare(1)
    assert kinds(case) == [("node-1", "offer")]
    case.all_answer(offered, "prepared")
    case.messages()
    case.declare(1)
    assert kinds(case) == [("node-1", "commit")]


def test_a_rank_that_leaves_ends_the_offer() -> None:
    """An offer is withdrawn if a rank leaves the run; a committed one waits for those that stay."""
    case = CoreCase()
    offered = case.ask()
    case.core.left("node-1", pb.Left(run=RUN, rank=1, pid=101), case.now)
    assert case.state(offered) is AdjustmentState.WITHDRAWN
    assert case.of(offered).reason == "rank 1 has left the run"
    other = CoreCase()
    offered = other.all_answer(other.ask(), "prepared")
    other.core.left("node-1", pb.Left(run=RUN, rank=1, pid=101), other.now)
    assert other.state(offered) is AdjustmentState.COMMITTED
    other.core.left("node-0", pb.Left(run=RUN, rank=0, pid=100), other.now)
    assert other.state(offered) is AdjustmentState.WITHDRAWN


def test_a_rank_that_leaves_while_its_host_had_no_stream_is_noticed() -> None:
    """Ranks are unknown after their host's stream has ended; that they left is known when it comes back."""
    case = CoreCase()
    offered = case.all_answer(case.ask(), "prepared")
    for rank in range(2):
        case.core.host_lost(f"node-{rank}", case.now)
    assert not case.core.left("node-0", pb.Left(run=RUN, rank=0, pid=999), case.now)
    assert case.state(offered) is AdjustmentState.COMMITTED
    assert case.core.left("node-0", pb.Left(run=RUN, rank=0, pid=100), case.now)
    assert case.state(offered) is AdjustmentState.WITHDRAWN


@pytest.mark.parametrize("stage", ["offered", "committed", "applied"])
def test_a_restart_of_the_run_ends_what_was_in_progress(stage: str) -> None:
    """A new attempt begins with its own values: nothing of the old one goes on, and it is free for another change."""
    case = CoreCase()
    adjustment = case.ask()
    if stage != "offered":
        case.all_answer(adjustment, "prepared")
    if stage == "applied":
        case.all_answer(adjustment, "applied", 8)
    for rank in range(2):
        case.declare(rank, attempt=1, pid=500 + rank)
    ended = case.of(adjustment)
    assert ended.state is AdjustmentState.WITHDRAWN
    assert "restarted" in ended.reason
    assert case.ask(4).state is AdjustmentState.OFFERED


def test_a_lost_host_may_come_back_in_time() -> None:
    """A stream that ends and comes back within the time of the offer does not end it."""
    case = CoreCase()
    offered = case.ask()
    case.answer(offered, 0, "prepared")
    case.core.host_lost("node-1", case.now)
    case.wait(5)
    case.messages()
    case.declare(1)
    assert kinds(case) == [("node-1", "offer")]
    case.answer(offered, 1, "prepared")
    assert case.state(offered) is AdjustmentState.COMMITTED


def test_a_commit_without_any_word_ends_long_after_its_step() -> None:
    """Ranks that report steps but never what they did end the adjustment by what is known."""
    case = CoreCase()
    offered = case.all_answer(case.ask(), "prepared")
    case.progress(offered.at_step)
    case.wait(RECOVER_SECONDS * 2)
    assert case.state(offered) is AdjustmentState.COMMITTED
    case.progress(offered.at_step + 10)
    case.wait(RECOVER_SECONDS + 2)
    assert case.state(offered) is AdjustmentState.WITHDRAWN
    assert case.of(offered).reason == "no word after its step of ranks 0, 1"


def test_a_commit_with_the_word_of_one_rank_holds_for_all() -> None:
    """All ranks obey one decision, so that what one reports is true of those without an answer."""
    case = CoreCase()
    offered = case.all_answer(case.ask(), "prepared")
    case.answer(offered, 0, "applied", 8)
    case.progress(offered.at_step + 10)
    case.wait(RECOVER_SECONDS + 2)
    assert case.state(offered) is AdjustmentState.APPLIED


def test_a_run_that_is_gone_ends_what_was_in_progress() -> None:
    """Without any declared value for ten minutes, nothing is waited for any more."""
    case = CoreCase()
    offered = case.all_answer(case.ask(), "prepared")
    for rank in range(2):
        case.core.host_lost(f"node-{rank}", case.now)
    case.wait(GONE_SECONDS - 5, every=5)
    assert case.state(offered) is AdjustmentState.COMMITTED
    case.wait(10)
    assert case.state(offered) is AdjustmentState.WITHDRAWN


def test_a_value_of_an_epoch_may_take_long() -> None:
    """A value that changes with an epoch is waited for as long as the run goes on."""
    case = CoreCase(2, AUTO, micro_batch(when="epoch"))
    offered = case.all_answer(case.ask(), "prepared")
    case.progress(offered.at_step + 1000)
    case.wait(250)
    case.declare(0, micro_batch(when="epoch"), step=offered.at_step + 1000)
    assert case.state(offered) is AdjustmentState.COMMITTED
    case.all_answer(offered, "applied", 8)
    assert case.state(offered) is AdjustmentState.APPLIED


def test_an_application_without_a_commit_is_loud() -> None:
    """A rank that applies what was withdrawn, which must never happen, is reported if it happens."""
    case = CoreCase()
    offered = case.ask()
    case.answer(offered, 0, "veto", reason="busy")
    case.answer(offered, 1, "applied", 8)
    assert case.state(offered) is AdjustmentState.FAILED
    assert [each.id for each in case.core.outbox.loud] == [offered.id]


def test_a_duration_from_before_a_change_does_not_decide_alone() -> None:
    """Until steps with the new value were measured, the step of an offer follows from the shortest known duration."""
    case = CoreCase()
    case.core.progress(RUN, StepProgress(1000, 3.0, case.now, settled=True))
    slow = case.ask()
    assert slow.at_step == 1005
    case.core.measured(case.apply(slow), effect(), case.now)
    assert case.ask(4).at_step == 1000 + 12 + 2  # six seconds of 0.5 s, as the ranks have declared


def test_no_offer_is_made_without_the_duration_of_a_step() -> None:
    """A run that has made no step yet cannot be asked; the request ends at once."""
    case = CoreCase(2, AUTO, step_seconds=None)
    with pytest.raises(NotPossible, match="duration of a step"):
        case.ask()
    assert case.newest().state is AdjustmentState.WITHDRAWN
