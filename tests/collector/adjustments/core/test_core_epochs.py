"""Tests of changes that wait for an epoch, which may last for days: the run can be changed meanwhile."""

import pytest

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.core.book import GONE_SECONDS, MAX_OF_RUN
from flyball_collector.adjustments.core.core import AdjustmentCore
from flyball_collector.adjustments.core.offer_checks import NotPossible
from flyball_collector.adjustments.declared.ranks import RankValue
from flyball_proto.v1 import adjust_pb2 as pb
from tests.collector.adjustments.core_case import AUTO, RUN, CoreCase, able, effect, micro_batch, proposal

THROTTLE = RankValue("throttle", 0, (0, 0.1), lever="throttle")


def workers(value: int = 2) -> RankValue:
    """Return a value that changes with an epoch."""
    return RankValue("workers", value, (1, 2, 4), when="epoch", lever="loader_workers")


def run_of_two() -> CoreCase:
    """Return a run with a value that changes with an epoch, and two that change with a step."""
    return CoreCase(2, AUTO, workers(), micro_batch(), THROTTLE)


def committed(case: CoreCase, to: int = 4) -> Adjustment:
    """Return a change whose step has passed, and whose epoch has not begun."""
    offered = case.all_answer(case.ask(to, "workers"), "prepared")
    case.progress(offered.at_step + 2)
    case.wait(1)
    return case.of(offered)


def waits_to_be_taken_back(case: CoreCase) -> Adjustment:
    """Return a change that did harm, and whose inverse waits for the next epoch."""
    applied = case.all_answer(committed(case), "applied", 4)
    case.core.measured(applied, effect(0.5), case.now, harm="the run became slower")
    inverse = case.all_answer(case.newest(), "prepared")
    case.progress(inverse.at_step + 2)
    case.wait(1)
    return case.of(applied)


def test_other_values_change_while_one_waits_for_its_epoch() -> None:
    """A rule protects the run, and a person throttles it, before the epoch begins; then the first change is applied."""
    case = run_of_two()
    waiting = committed(case)
    protecting = case.core.by_rule(proposal(8, protects=True), case.now)
    assert protecting is not None
    assert case.apply(protecting).state is AdjustmentState.APPLIED
    assert case.apply(case.ask(0.1, "throttle")).state is AdjustmentState.KEPT
    assert case.state(waiting) is AdjustmentState.COMMITTED
    assert case.all_answer(waiting, "applied", 4).state is AdjustmentState.APPLIED
    watch = case.core.books[RUN].watch
    assert watch is not None
    assert watch.id == waiting.id


def test_until_its_step_has_passed_a_change_is_alone() -> None:
    """Ranks that have not come to the step yet would refuse everything else as busy."""
    case = run_of_two()
    offered = case.all_answer(case.ask(4, "workers"), "prepared")
    case.progress(offered.at_step + 1)
    case.wait(10)
    with pytest.raises(NotPossible, match="another change of run 'llama' is in progress"):
        case.ask(0.1, "throttle")


def test_a_value_that_waits_cannot_be_changed_again() -> None:
    """The reason names the change and the epoch, also for a veto, an undo, and a rule."""
    case = run_of_two()
    waiting = committed(case)
    expected = f"{waiting.id} of 'workers' takes effect when the next epoch begins"
    with pytest.raises(NotPossible, match=expected):
        case.ask(1, "workers")
    with pytest.raises(NotPossible, match=expected):
        case.core.veto(waiting, "alice", "", case.now)
    assert expected in case.core.why_not(proposal(1, name="workers", lever="loader_workers"), case.now)
    assert case.core.history(RUN) == [case.of(waiting)]


def test_a_rank_that_could_not_change_ends_the_wait() -> None:
    """A refusal as the epoch begins leaves the old value, and the value is free again."""
    case = run_of_two()
    waiting = committed(case)
    for rank in range(2):
        case.answer(waiting, rank, "applied", 2, reason="workers_failed")
    assert case.state(waiting) is AdjustmentState.ABORTED
    assert case.ask(1, "workers").state is AdjustmentState.OFFERED


def test_a_declaration_shows_that_the_epoch_has_begun() -> None:
    """A lost answer is replaced by the value that a rank declares, also while another change is offered."""
    case = run_of_two()
    waiting = committed(case)
    other = case.ask(8)
    for rank in range(2):
        case.declare(rank, workers(4), micro_batch(), THROTTLE, step=waiting.at_step + 50)
    assert case.state(waiting) is AdjustmentState.APPLIED
    assert case.state(other) is AdjustmentState.OFFERED


@pytest.mark.parametrize("is_other_offered", [False, True])
def test_what_waits_ends_with_its_run(is_other_offered: bool) -> None:
    """Nothing waits any more after the last rank has left, or after the run has begun again."""
    for end in (_all_leave, _restart):
        case = run_of_two()
        waiting = committed(case)
        if is_other_offered:
            case.ask(8)
        end(case)
        assert case.state(waiting) is AdjustmentState.WITHDRAWN
        assert case.core.books[RUN].flights == []


def _all_leave(case: CoreCase) -> None:
    for rank in range(2):
        case.core.left(f"node-{rank}", pb.Left(run=RUN, rank=rank, pid=100 + rank), case.now)


def _restart(case: CoreCase) -> None:
    case.declare(0, workers(), micro_batch(), THROTTLE, pid=900)


def test_what_waits_survives_a_restart_of_the_collector_beside_an_offer() -> None:
    """Both go on: the offer is recovered, and the change that waits is applied when its epoch begins."""
    before = run_of_two()
    waiting, offered = committed(before), before.ask(8)
    case = run_of_two()
    case.core = AdjustmentCore(AUTO, lambda: "0" * 16)
    case.core.load([before.of(waiting), before.of(offered)], [], case.now)
    for rank in range(2):
        case.core.able(able(rank, 2, workers(), micro_batch(), THROTTLE, step=waiting.at_step), case.now)
    assert case.core.books[RUN].in_flight == before.of(offered)
    assert case.all_answer(waiting, "applied", 4).state is AdjustmentState.APPLIED


def test_a_run_is_free_while_a_change_waits_to_be_taken_back() -> None:
    """The inverse waits for its epoch too. Another harmful change is taken back meanwhile, and each ends as its own."""
    case = run_of_two()
    first = waits_to_be_taken_back(case)
    second = case.applied()
    case.core.measured(second, effect(0.5), case.now, harm="the run became slower")
    case.apply(case.newest())
    assert case.state(second) is AdjustmentState.ROLLED_BACK
    assert case.state(first) is AdjustmentState.APPLIED
    case.wait(240, every=5)
    case.all_answer(case.of(case.core.books[RUN].adjustments[first.inverse]), "applied", 2)
    assert case.state(first) is AdjustmentState.ROLLED_BACK
    assert case.core.books[RUN].take_backs == {}


def test_an_undo_that_waits_does_not_hold_up_other_changes() -> None:
    """The effect of a change that is taken back anyway decides nothing, so nobody waits for its measurement."""
    case = run_of_two()
    applied = case.all_answer(committed(case), "applied", 4)
    inverse = case.all_answer(case.core.undo(applied, "alice", "", case.now), "prepared")
    case.progress(inverse.at_step + 2)
    case.wait(1)
    assert case.applied().state is AdjustmentState.APPLIED
    case.all_answer(inverse, "applied", 2)
    assert case.state(applied) is AdjustmentState.UNDONE


def test_what_is_taken_back_is_not_forgotten() -> None:
    """An undo may wait for an epoch for days; however many changes follow, it ends as an undo."""
    case = run_of_two()
    kept = case.all_answer(committed(case), "applied", 4)
    case.core.measured(kept, effect(), case.now)
    inverse = case.all_answer(case.core.undo(case.of(kept), "alice", "", case.now), "prepared")
    case.progress(inverse.at_step + 2)
    case.wait(1)
    for number in range(MAX_OF_RUN + 1):
        case.apply(case.ask(0 if number % 2 else 0.1, "throttle"))
    case.wait(1)
    assert len(case.core.history(RUN)) == MAX_OF_RUN
    case.all_answer(inverse, "applied", 2)
    assert case.state(kept) is AdjustmentState.UNDONE


def test_an_applied_inverse_ends_the_measurement_of_another_change() -> None:
    """The steps after it show the effect of both, and not that of the other change alone."""
    case = run_of_two()
    first = waits_to_be_taken_back(case)
    second = case.applied()
    case.all_answer(case.core.books[RUN].adjustments[first.inverse], "applied", 2)
    assert case.state(first) is AdjustmentState.ROLLED_BACK
    assert case.state(second) is AdjustmentState.KEPT
    assert case.of(second).reason == "another change was made before its effect was measured"


def test_a_rank_that_waits_for_an_epoch_gets_no_more_commits() -> None:
    """Ranks declare themselves every 30 s, for days perhaps. Once they have decided, a commit is sent again rarely."""
    case = run_of_two()
    waiting = committed(case)
    case.messages()
    case.declare(0, workers(), micro_batch(), THROTTLE, step=waiting.at_step)
    assert len(case.messages("commit")) == 1
    for _ in range(20):
        case.wait(30, every=30)
        case.declare(0, workers(), micro_batch(), THROTTLE, step=waiting.at_step + 1200)
    assert case.messages("commit") == []


def test_a_rank_whose_last_word_was_lost_repeats_it_within_an_hour() -> None:
    """It gets the commit again once an hour, and answers that with what it has done: here it has given up."""
    case = run_of_two()
    waiting = committed(case)
    case.answer(waiting, 1, "aborted", reason="loader_gone")
    case.messages()
    commits = 0
    for _ in range(2 * 120):
        case.wait(30, every=30)
        for rank in range(2):
            case.declare(rank, workers(), micro_batch(), THROTTLE, step=waiting.at_step + 1200)
        commits += len(case.messages("commit"))
    assert commits == 2
    assert case.state(waiting) is AdjustmentState.COMMITTED
    case.answer(waiting, 0, "prepared")  # a rank that waits still has no other answer
    assert case.state(waiting) is AdjustmentState.COMMITTED
    case.answer(waiting, 0, "aborted", reason="loader_gone")
    assert case.state(waiting) is AdjustmentState.ABORTED
    assert case.ask(1, "workers").state is AdjustmentState.OFFERED


@pytest.mark.parametrize("lost", ["agent", "collector"])
def test_a_rank_whose_host_is_back_repeats_its_last_word_at_once(lost: str) -> None:
    """An answer may have been lost with an agent or a collector that restarted: the value is not blocked for it."""
    case = run_of_two()
    waiting = committed(case)
    case.answer(waiting, 1, "aborted", reason="loader_gone")
    if lost == "agent":
        case.core.host_lost("node-0", case.now)
    else:
        case.core = AdjustmentCore(AUTO, lambda: "0" * 16)
        case.core.load([waiting], [], case.now)
    case.declare(1, workers(), micro_batch(), THROTTLE, step=waiting.at_step + 1000)
    case.wait(120)  # from now on, it is certain that all have decided: only an hour later would they be asked again
    case.messages()
    case.declare(0, workers(), micro_batch(), THROTTLE, step=waiting.at_step + 1200)
    assert [host for host, _ in case.messages("commit")] == ["node-0"]
    case.wait(100)
    case.declare(0, workers(), micro_batch(), THROTTLE, step=waiting.at_step + 1400)
    assert case.messages("commit") == []


def test_throttling_does_not_end_a_measurement() -> None:
    """It rests between steps and changes none of them, so the effect of the change before it is still measured."""
    case = run_of_two()
    applied = case.applied()
    assert case.apply(case.ask(0.1, "throttle")).state is AdjustmentState.KEPT
    assert case.state(applied) is AdjustmentState.APPLIED
    case.core.measured(applied, effect(0.5), case.now, harm="the run became slower")
    assert case.newest().inverse_of == applied.id


def test_between_two_tries_to_take_a_change_back_others_are_made() -> None:
    """Tries may take a quarter of an hour. A rule protects the run meanwhile, but leaves the value alone."""
    case = run_of_two()
    applied = case.applied()
    case.core.measured(applied, effect(0.5), case.now, harm="the run became slower")
    case.answer(case.newest(), 0, "veto", reason="busy")
    assert case.core.why_not(proposal(4, protects=True), case.now) == "its last change is to be taken back"
    assert case.apply(case.ask(0.1, "throttle")).state is AdjustmentState.KEPT


def test_a_person_may_replace_what_could_not_be_taken_back() -> None:
    """As the runbook recommends: the value that a person sets stays, and nothing is offered against it."""
    case = run_of_two()
    applied = case.applied()
    case.core.measured(applied, effect(0.5), case.now, harm="the run became slower")
    case.answer(case.newest(), 0, "veto", reason="busy")
    chosen = case.apply(case.ask(4))
    case.wait(600)
    assert case.state(chosen) is AdjustmentState.APPLIED
    assert case.of(applied).reason == f"the run became slower; replaced by {chosen.id}"
    assert case.state(applied) is AdjustmentState.ROLLED_BACK
    assert case.newest() == case.of(chosen)


def test_a_run_that_ends_first_was_not_taken_back() -> None:
    """A harmful change that stayed to the end of its run is not recorded as one that was taken back."""
    case = run_of_two()
    applied = case.applied()
    case.core.measured(applied, effect(0.5), case.now, harm="the run became slower")
    _all_leave(case)
    case.wait(GONE_SECONDS + 10, every=5)
    assert case.state(applied) is AdjustmentState.WITHDRAWN
    assert case.of(applied).reason == "the run became slower; the run ended before it was taken back"
