"""The governor with a store, a fleet and agents' messages."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.declared.ranks import RunValues
from flyball_collector.adjustments.governor.archive import ADJUSTMENT, BEFORE, POLICY
from flyball_collector.adjustments.governor.governor import DELETE_EVERY_SECONDS
from flyball_collector.adjustments.governor.refusal import AdjustmentRefused
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import FakeClock, FlakyStore
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2
from tests.collector.adjustments.core_case import RUN, able_message, proposal
from tests.collector.adjustments.governor_case import SETTINGS, GovernorCase, ProposalsOf

NAN = float("nan")


async def applied_case(before: int = 60, **fields: object) -> tuple[GovernorCase, Adjustment]:
    """Return a run that was changed by a person after a minute."""
    case = GovernorCase(**fields)  # type: ignore[arg-type]  # the case's own names
    await case.start()
    case.seconds(before)
    return case, case.apply(case.governor.propose(RUN, "micro_batch", 8, who="alice"))


async def test_a_harmless_change_is_measured_and_kept() -> None:
    """From the request to the measured effect, each state is seen, stored and found again."""
    case, adjustment = await applied_case()
    assert adjustment.state is AdjustmentState.APPLIED
    case.seconds(140)
    kept = case.of(adjustment)
    assert kept.state is AdjustmentState.KEPT
    assert kept.effect is not None
    assert kept.effect.gain == pytest.approx(1.0, abs=0.03)
    assert [each.value for each in case.states()] == ["proposed", "offered", "committed", "applied", "kept"]
    assert case.governor.tried(RUN) == [kept]
    assert case.governor.find(run=RUN, state="kept", host="node-1") == [kept]
    assert case.governor.find(host="node-9") == []
    await case.written()
    stored = case.store.get_document(ADJUSTMENT, kept.id)
    assert stored is not None
    assert msgspec.json.decode(stored.body, type=Adjustment) == kept
    assert not case.store.list_documents(BEFORE)


async def test_a_change_that_slows_the_run_is_rolled_back() -> None:
    """Steps that take a quarter longer bring the old value back, with the measured loss as the reason."""
    case = GovernorCase(rules=ProposalsOf(propose_32_once, active=False))
    await case.start()
    case.seconds(60)
    adjustment = case.apply(case.offered_by_rule())
    for _ in range(240):
        case.second(0.625)
        if case.governor.find(state="offered"):
            break
    inverse = case.governor.find(state="offered")[0]
    assert (inverse.inverse_of, inverse.value_to) == (adjustment.id, 16)
    case.apply(inverse)
    ended = case.of(adjustment)
    assert ended.state is AdjustmentState.ROLLED_BACK
    assert "slower" in ended.reason
    assert ended.effect is not None
    assert ended.effect.gain == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("declared", [0.08, 2.65])
async def test_the_step_of_an_offer_follows_from_the_new_duration_of_a_step(declared: float) -> None:
    """Half a minute after steps became thirty times as long, an offer is some steps ahead, not minutes."""
    case = GovernorCase()
    await case.start()
    case.seconds(60, 0.08)
    case.apply(case.governor.propose(RUN, "micro_batch", 8, who="alice", why=""))
    for _ in range(12):
        case.clock.advance(1.65)
        case.second(2.65)
    case.declare(step_seconds=declared)
    case.governor.undo(case.governor.find(run=RUN)[0].id, who="alice", why="")
    offered = case.governor.find(state="offered")[0]
    assert 5 <= offered.at_step - case.step <= 7


def propose_32_once(values: RunValues) -> list[Proposal]:
    declared = values.value("micro_batch")
    return [proposal(32, rule="grow")] if declared is not None and declared.value == 16 else []


async def test_a_loss_that_is_no_longer_finite_is_taken_back_at_once() -> None:
    """A single report without a finite loss suffices if losses were finite before."""
    case, adjustment = await applied_case()
    case.seconds(2, loss=NAN)
    inverse = case.governor.find(state="offered")[0]
    assert inverse.inverse_of == adjustment.id
    case.apply(inverse)
    assert case.of(adjustment).reason == "the loss is no longer finite"


async def test_running_out_of_memory_after_a_change_takes_it_back() -> None:
    """A change after which a rank runs out of memory has done harm, however fast it is. Its report may come twice."""
    case, adjustment = await applied_case()
    case.seconds(3)
    message = pb.OutOfMemory(run=RUN, rank=1, pid=101, step=case.step, where="backward", recovered=True)
    case.governor.take("node-1", pb.AgentAdjust(out_of_memory=message))
    again = telemetry_pb2.AdjustmentOutcome(
        run=RUN, rank=1, pid=101, outcome="out_of_memory", step=case.step, reason="in backward"
    )
    case.governor.take_outcome("node-1", again)
    assert len(case.governor.faults(RUN)) == 1
    case.governor.take("stranger", pb.AgentAdjust(out_of_memory=pb.OutOfMemory(run=RUN, rank=0, where="forward")))
    assert len(case.governor.faults(RUN)) == 1, "of another host"
    case.second()
    assert case.governor.find(state="offered")[0].inverse_of == adjustment.id


@pytest.mark.parametrize(("recovered", "size"), [(True, 8), (False, 16)])
async def test_only_a_repeated_step_has_changed_the_value_of_a_rank(recovered: bool, size: int) -> None:
    """A rank that failed may have kept a smaller value for the next start; its own is the old one."""
    case = GovernorCase()
    await case.start()
    case.seconds(3)
    fault = pb.OutOfMemory(run=RUN, rank=1, pid=101, step=case.step, name="micro_batch", to="8", recovered=recovered)
    case.governor.take("node-1", pb.AgentAdjust(out_of_memory=fault))
    values = case.governor.values(RUN)
    assert values is not None
    assert [each.value for each in values.of("micro_batch").values()] == [16, size]


async def test_those_who_compare_a_run_with_its_past_hear_of_changes_that_took_effect() -> None:
    """They hear of a change, of its inverse, and of a rank's own change; not of offers, nor of rests between steps."""
    case, followed = GovernorCase(), list[str]()
    case.governor.on_effect(followed.append)
    await case.start()
    case.seconds(5)
    offered = case.governor.propose(RUN, "micro_batch", 8, who="alice")
    assert followed == []
    case.apply(offered)
    assert set(followed) == {RUN}
    followed.clear()
    case.apply(case.governor.undo(offered.id, who="alice"))
    assert set(followed) == {RUN}
    followed.clear()
    fault = pb.OutOfMemory(run=RUN, rank=1, pid=101, step=case.step, name="micro_batch", to="8", recovered=True)
    case.governor.take("node-1", pb.AgentAdjust(out_of_memory=fault))
    assert followed == [RUN]


async def test_a_pause_leaves_the_past_of_a_run_as_it_is() -> None:
    """It is a rest between two steps, so the steps after it are compared with those before."""
    case, followed = GovernorCase(), list[str]()
    case.governor.on_effect(followed.append)
    await case.start()
    pause = pb.AdjustableValue(name="pause", value="false", choices=["false", "true"], safety=1, lever="pause")
    case.seconds(5)
    case.declare(values=[pause])
    paused = case.governor.propose(RUN, "pause", to=True, who="alice")
    for rank in range(2):
        case.answer(paused, rank, pb.Answer.PREPARED)
    for rank in range(2):
        case.answer(paused, rank, pb.Answer.APPLIED, "true")
    assert case.of(paused).state is AdjustmentState.KEPT
    assert followed == []


async def test_a_change_that_protects_survives_a_slower_run() -> None:
    """A change against memory that runs out is kept although it is slower."""
    case = GovernorCase(rules=ProposalsOf(lambda _: [proposal(8, protects=True)], active=False))
    await case.start()
    case.seconds(60)
    adjustment = case.apply(case.offered_by_rule())
    case.seconds(150, 0.625)
    assert case.of(adjustment).state is AdjustmentState.KEPT


async def test_an_answer_counts_that_comes_only_with_the_records() -> None:
    """An outcome in a host's record replaces an answer that was lost on the stream."""
    case = GovernorCase()
    await case.start()
    case.seconds(10)
    offered = case.governor.propose(RUN, "micro_batch", 8, who="alice")
    for outcome, observed in (("prepared", ""), ("applied", "8")):
        for rank in range(2):
            message = telemetry_pb2.AdjustmentOutcome(
                id=offered.id,
                run=RUN,
                rank=rank,
                pid=100 + rank,
                outcome=outcome,
                observed=observed,
                step=offered.at_step,
            )
            case.governor.take_outcome(f"node-{rank}", message)
    assert case.of(offered).state is AdjustmentState.APPLIED


async def test_a_restart_goes_on_with_what_was_stored() -> None:
    """The term grows, a person's policy holds, and a change is still measured against the reports before it."""
    case, adjustment = await applied_case()
    case.governor.set_policy(RUN, "ask", "alice", "careful")
    await case.written()
    again = GovernorCase(case.store, clock=case.clock)
    again.step, again.value = case.step, "8"
    await again.start()
    assert again.governor.term > case.governor.term
    assert again.governor.policy(RUN) == "ask"
    again.seconds(140, 0.625)
    ended = again.of(adjustment)
    assert ended.effect is not None
    assert ended.effect.gain == pytest.approx(0.8, abs=0.05)


async def test_the_term_grows_even_if_the_store_was_lost() -> None:
    """A later start has a higher term with the same store, and with an empty one a second later."""
    store, clock = MemoryStore(), FakeClock()
    terms = []
    for found in (store, store, MemoryStore()):
        case = GovernorCase(found, clock=clock)
        await case.start()
        terms.append(case.governor.term)
        clock.advance(2)
    assert terms == sorted(set(terms))


async def test_nothing_is_offered_before_everything_is_loaded() -> None:
    """While the store is down, requests of people are refused, and rules propose nothing."""
    store = FlakyStore()
    store.down = True
    case = GovernorCase(store, rules=ProposalsOf(lambda _: [proposal()]))
    case.declare()
    case.seconds(12)
    assert not case.sent.all
    with pytest.raises(AdjustmentRefused, match="still loading"):
        case.governor.propose(RUN, "micro_batch", 8, who="alice")
    store.down = False
    await case.start()
    case.seconds(6)
    assert set(case.sent.kinds()) == {"offer"}


@asynccontextmanager
async def failing_store(case: GovernorCase, store: FlakyStore) -> AsyncIterator[None]:
    """Let the journal fail, as on a full disk, until the end of the block."""
    async with asyncio.timeout(60):
        writing = asyncio.create_task(case.journal.run())
        store.down = True
        case.journal.add([("note", "1", b"{}")])
        await until_failing(case, True)
        yield
        store.down = False
        await until_failing(case, False)
        writing.cancel()


async def until_failing(case: GovernorCase, failing: bool) -> None:
    """Wait until the journal fails, or does not fail any more."""
    while case.journal.failing is not failing:  # noqa: ASYNC110  the journal's own task ends it
        await asyncio.sleep(0.01)


async def test_a_change_that_cannot_be_recorded_is_not_made() -> None:
    """A restarted collector would not know of it. But a change that was made can be taken back."""
    store = FlakyStore()
    case = GovernorCase(store)
    await case.start()
    case.seconds(60)
    applied = case.apply(case.governor.propose(RUN, "micro_batch", 8, who="alice"))
    async with failing_store(case, store):
        with pytest.raises(AdjustmentRefused, match="the store accepts no writes now"):
            case.governor.propose(RUN, "micro_batch", 2, who="alice")
        assert case.governor.undo(applied.id, "alice").state is AdjustmentState.OFFERED


@pytest.mark.parametrize("protects", [False, True])
async def test_rules_change_only_what_protects_a_run_while_it_cannot_be_recorded(protects: bool) -> None:
    """A run that runs out of memory is worth more than the record of its change; speed can wait for the store."""
    store = FlakyStore()
    case = GovernorCase(store, rules=ProposalsOf(lambda _: [proposal(4, protects=protects)]))
    await case.start()
    async with failing_store(case, store):
        case.seconds(6)
        assert bool(case.governor.find(state="offered")) is protects
    case.seconds(6)
    assert [each.value_to for each in case.governor.find(state="offered")] == [4]


async def test_answers_are_stored_once_a_second() -> None:
    """With thousands of ranks, not all answers are encoded for each new one. What is decided is stored at once."""
    case = GovernorCase()
    await case.start()
    case.seconds(60)
    offered = case.governor.propose(RUN, "micro_batch", 8, who="alice")
    waiting = len(case.journal)
    case.answer(offered, 0, pb.Answer.PREPARED)
    assert len(case.journal) == waiting
    case.governor.every_second(case.clock.time_ns())
    assert len(case.journal) == waiting + 1
    case.governor.every_second(case.clock.time_ns())
    assert len(case.journal) == waiting + 1
    case.answer(offered, 1, pb.Answer.PREPARED)
    assert len(case.journal) == waiting + 2
    case.answer(offered, 0, pb.Answer.APPLIED, "8")
    case.governor.every_second(case.clock.time_ns())
    await case.written()
    stored = case.store.get_document(ADJUSTMENT, offered.id)
    assert stored is not None
    assert msgspec.json.decode(stored.body, type=Adjustment) == case.of(offered)
    assert [each.verdict for each in case.of(offered).answers.values()] == ["applied", "prepared"]


async def test_old_adjustments_are_forgotten() -> None:
    """Finished adjustments are deleted after the retention of the timeline."""
    case, adjustment = await applied_case()
    case.seconds(140)
    await case.written()
    case.clock.advance(2 * 86_400)
    again = GovernorCase(case.store, clock=case.clock)
    await again.start()
    assert again.governor.get(adjustment.id) is None
    assert not again.store.list_documents(ADJUSTMENT)


async def test_an_old_change_that_is_being_undone_is_not_forgotten() -> None:
    """Its undo may wait for an epoch while it grows older than the retention."""
    case, adjustment = await applied_case()
    case.seconds(140)
    case.clock.advance(2 * 86_400)
    case.declare()
    inverse = case.governor.undo(adjustment.id, "alice")
    for _ in range(DELETE_EVERY_SECONDS):
        case.governor.every_second(case.clock.time_ns())
    case.apply(inverse)
    assert case.of(adjustment).state is AdjustmentState.UNDONE


async def test_a_rule_that_fails_stops_nothing() -> None:
    """An exception of a rule is logged, and offers under way go on."""

    def fail(_: RunValues) -> None:
        raise ZeroDivisionError

    case = GovernorCase(rules=ProposalsOf(fail))
    await case.start()
    case.seconds(10)
    offered = case.governor.propose(RUN, "micro_batch", 8, who="alice")
    case.seconds(10)
    assert case.apply(offered).state is AdjustmentState.APPLIED


async def test_requests_that_cannot_be_met_have_a_reason() -> None:
    """Unknown adjustments, values and policies, and a policy that is off, are refused with a kind for programs."""
    case = GovernorCase()
    await case.start()
    governor = case.governor
    for request, kind, text in (
        (lambda: governor.approve("nope", "alice"), "unknown", "no adjustment 'nope'"),
        (lambda: governor.set_policy(RUN, "maybe", "alice"), "invalid", "not a policy"),
        (lambda: governor.set_policy("other", "ask", "alice"), "unknown", "no rank of run 'other'"),
        (lambda: governor.propose(RUN, "micro_batch", 3, who="alice"), "conflict", "3 is not a choice"),
        (lambda: governor.propose("other", "x", 3, who="alice"), "conflict", "no rank of run 'other'"),
    ):
        with pytest.raises(AdjustmentRefused, match=text) as refused:
            request()
        assert refused.value.kind == kind
    governor.set_policy(RUN, "off", "alice")
    with pytest.raises(AdjustmentRefused, match="allows no adjustments"):
        governor.propose(RUN, "micro_batch", 8, who="alice")


async def test_the_operators_limit_holds_for_people_too() -> None:
    """Nobody can raise a policy above the operator's."""
    case = GovernorCase(settings=AdjustmentsSettings(enabled=True, policy="ask"))
    await case.start()
    assert case.governor.set_policy(RUN, "auto", "alice") == "ask"


async def test_unusable_messages_are_answered_with_the_fault() -> None:
    """Wrong declarations and answers that nobody asked for change nothing, and the fault is returned."""
    case = GovernorCase()
    await case.start()
    wrong = able_message(0, values=[pb.AdjustableValue(name="x", value="nan", safety=1)])
    assert "not a JSON value" in case.governor.take("node-0", pb.AgentAdjust(able=wrong))
    unknown = pb.Answer(id="ff", run=RUN, verdict=pb.Answer.PREPARED)
    assert "not asked" in case.governor.take("node-0", pb.AgentAdjust(answer=unknown))
    assert "verdict" in case.governor.take("node-0", pb.AgentAdjust(answer=pb.Answer(id="ff", run=RUN)))
    values = case.governor.values(RUN)
    assert values is not None
    assert values.names == ("micro_batch",)


async def test_reasons_of_people_are_cleaned() -> None:
    """Control characters and endless texts of people do not reach documents."""
    case = GovernorCase(settings=SETTINGS)
    await case.start()
    case.seconds(3)
    adjustment = case.governor.propose(RUN, "micro_batch", 8, who="alice", why="a\x1b[31m\n" + "b" * 1000)
    assert "\x1b" not in adjustment.because
    assert len(adjustment.because) <= 500


async def test_a_governor_that_runs_for_weeks_forgets_too() -> None:
    """Old adjustments and policies of runs that have ended are deleted while the collector runs."""
    case, adjustment = await applied_case()
    case.seconds(140)
    case.governor.set_policy(RUN, "ask", "alice")
    case.clock.advance(2 * 86_400)
    for rank in range(2):
        case.governor.host_lost(f"node-{rank}")
    for _ in range(DELETE_EVERY_SECONDS):
        case.governor.every_second(case.clock.time_ns())
    assert case.governor.get(adjustment.id) is None
    await case.written()
    assert not case.store.list_documents(ADJUSTMENT)
    assert not case.store.list_documents(POLICY)
