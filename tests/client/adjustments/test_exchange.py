"""Tests of the rank's side of an offer: each reason for a veto, the decision at the step, and answers that repeat."""

from typing import TYPE_CHECKING, Any

import pytest

from flyball import Veto
from flyball.adjustments.exchange import OfferExchange, RankMoment
from flyball.adjustments.register import LOCAL, NONE
from flyball.adjustments.value import LATER, AdjustableValue

if TYPE_CHECKING:
    from flyball.adjustments.register import Register


class SharedRegister:
    """A register in memory, as the ranks of a job share one."""

    def __init__(self) -> None:
        self.kind = "c10d"
        self.decisions: dict[str, str] = {}
        self.fails = False

    def decide(self, key: str, mine: str) -> str:
        if self.fails:
            raise ConnectionError("store has gone")
        return self.decisions.setdefault(key, mine)

    def peek(self, key: str) -> str:
        if self.fails:
            raise ConnectionError("store has gone")
        return self.decisions.get(key, "")


class RankAt:
    """A rank with one value, at a step and a time that the test sets."""

    def __init__(self, register: "Register | None" = None, policy: str = "auto", **options: Any) -> None:
        declared: dict[str, Any] = {"choices": (4, 8, 16), "safety": 2}
        self.value = AdjustableValue("size", **({"initial": 16} | declared | options))
        self.register: Register = SharedRegister() if register is None else register
        self.exchange = OfferExchange({"size": self.value}, lambda: self.register, policy)
        self.step, self.attempt, self.now = 100, 0, 0.0

    @property
    def moment(self) -> RankMoment:
        return RankMoment(self.step, self.attempt, self.now)

    def offer(self, **fields: Any) -> dict[str, Any] | None:
        offer = {"kind": "offer", "id": "1", "name": "size", "from": 16, "to": 8, "at": 110, "attempt": 0}
        return self.exchange.take(offer | {"expires_seconds": 30, "safety": 2} | fields, self.moment)

    def commit(self, offer: str = "1") -> dict[str, Any] | None:
        return self.exchange.take({"kind": "commit", "id": offer}, self.moment)

    def withdraw(self, offer: str = "1") -> dict[str, Any] | None:
        return self.exchange.take({"kind": "withdraw", "id": offer, "reason": "cooler"}, self.moment)

    def at(self, step: int) -> dict[str, Any] | None:
        """Come to a boundary."""
        self.step = step
        return self.exchange.decide(self.moment)


def outcome(answer: dict[str, Any] | None) -> tuple[Any, Any]:
    """Return the kind of an answer and its reason."""
    assert answer is not None
    return answer["kind"], answer.get("reason", "")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"at": 101}, "late"),
        ({"from": 4}, "stale"),
        ({"attempt": 1}, "attempt"),
        ({"name": "other"}, "unknown_value"),
        ({"to": 5}, "not_a_choice"),
        ({"safety": 1}, "safety"),
    ],
)
def test_an_offer_that_does_not_fit_is_vetoed(fields: dict[str, Any], reason: str) -> None:
    """Each thing that does not fit has its own reason, and nothing is pending afterwards."""
    rank = RankAt()
    assert outcome(rank.offer(**fields)) == ("veto", reason)
    assert rank.exchange.pending is None


@pytest.mark.parametrize(
    ("rank", "reason"),
    [
        (RankAt(policy="off"), "owner"),
        (RankAt(NONE), "no_register"),
        (RankAt(NONE, safety=1, together=True), "no_register"),
        (RankAt(check=lambda _: "batch_norm"), "batch_norm"),
        (RankAt(when="never"), "bad_declaration"),
    ],
)
def test_a_rank_that_cannot_change_vetoes(rank: RankAt, reason: str) -> None:
    """The policy, a missing register, and what the value itself reports are reasons."""
    assert outcome(rank.offer()) == ("veto", reason)


def test_one_offer_is_pending_at_a_time() -> None:
    """A second offer is vetoed until the first one is over."""
    rank = RankAt()
    assert outcome(rank.offer()) == ("prepared", "")
    assert outcome(rank.offer(id="2")) == ("veto", "busy")
    assert outcome(rank.at(110)) == ("aborted", "late")
    assert outcome(rank.offer(id="3", at=130)) == ("prepared", "")


def test_an_offer_of_what_is_so_already_is_accepted() -> None:
    """A rank that has the value already is prepared: it changed by itself, and the others follow."""
    rank = RankAt()
    rank.value.now = 8
    assert outcome(rank.offer(to=8)) == ("prepared", "")
    rank.commit()
    assert rank.at(110) == {"kind": "applied", "id": "1", "step": 110, "observed": 8}


def test_the_change_comes_at_its_step() -> None:
    """A committed change is made at the boundary of its step, not before, and once."""
    rank = RankAt()
    rank.offer()
    assert rank.commit() is None
    assert [rank.at(step) for step in range(101, 110)] == [None] * 9
    assert rank.value.now == 16
    assert rank.at(110) == {"kind": "applied", "id": "1", "step": 110, "observed": 8}
    assert rank.value.now == 8
    assert rank.at(111) is None


def test_a_late_commit_changes_nothing() -> None:
    """A rank without the commit at the step aborts, and a commit that comes later repeats that answer."""
    rank = RankAt()
    rank.offer()
    aborted = rank.at(110)
    assert outcome(aborted) == ("aborted", "late")
    assert rank.commit() == aborted
    assert rank.value.now == 16


def test_the_first_rank_decides_for_all() -> None:
    """A rank obeys the register, whichever message it has or lacks itself."""
    register = SharedRegister()
    first, late = RankAt(register), RankAt(register)
    for rank in (first, late):
        rank.offer()
    first.commit()
    assert outcome(first.at(110)) == ("applied", "")
    assert outcome(late.at(110)) == ("applied", "")
    assert late.value.now == 8


def test_a_rank_that_expires_first_decides_for_all() -> None:
    """A rank that gives up before its step writes so: others that get the commit later abort too."""
    register = SharedRegister()
    impatient, patient = RankAt(register), RankAt(register)
    for rank in (impatient, patient):
        rank.offer()
    impatient.now = 30.0
    assert outcome(impatient.at(105)) == ("aborted", "expired")
    patient.commit()
    assert outcome(patient.at(110)) == ("aborted", "other rank")
    assert {impatient.value.now, patient.value.now} == {16}


@pytest.mark.parametrize("give_up", ["expire", "withdraw"])
def test_a_rank_that_gives_up_obeys_one_that_is_further(give_up: str) -> None:
    """A rank that is behind cannot give up once another one has changed: it changes at its step too."""
    register = SharedRegister()
    fast, slow = RankAt(register), RankAt(register)
    for rank in (fast, slow):
        rank.offer()
    fast.commit()
    assert outcome(fast.at(110)) == ("applied", "")
    if give_up == "expire":
        slow.now = 30.0
    else:
        slow.withdraw()
    assert slow.at(105) is None
    assert slow.value.now == 16
    assert outcome(slow.at(110)) == ("applied", "")
    assert slow.value.now == 8


def test_a_committed_offer_does_not_expire_before_its_step() -> None:
    """With slow steps, the step comes after the time of the offer; a commit has come in time."""
    rank = RankAt()
    rank.offer()
    rank.commit()
    rank.now = 500.0
    assert rank.at(109) is None
    assert outcome(rank.at(110)) == ("applied", "")


def test_a_withdrawn_offer_is_given_up_at_once() -> None:
    """A withdrawal needs no step, and wins over a commit that comes after it."""
    rank = RankAt()
    rank.offer()
    rank.withdraw()
    rank.commit()
    assert outcome(rank.at(101)) == ("aborted", "cooler")


def test_a_new_attempt_gives_up() -> None:
    """An offer for an earlier attempt never takes effect."""
    rank = RankAt()
    rank.offer()
    rank.commit()
    rank.attempt = 1
    assert outcome(rank.at(50)) == ("aborted", "attempt")
    assert rank.value.now == 16


def test_answers_repeat() -> None:
    """An offer that comes again gets the same answer at every stage, and changes nothing."""
    rank = RankAt()
    assert rank.offer() == rank.offer()
    rank.commit()
    rank.at(110)
    rank.value.now = 4  # changed meanwhile
    assert outcome(rank.offer()) == ("applied", "")
    assert outcome(rank.commit()) == ("applied", "")
    assert rank.value.now == 4


def test_a_value_on_which_ranks_may_differ_needs_no_register() -> None:
    """Without a register, a change of class 1 follows the commit, also if that comes after its step."""
    rank = RankAt(NONE, safety=1)
    assert outcome(rank.offer()) == ("prepared", "")
    assert rank.at(115) is None
    rank.commit()
    assert outcome(rank.at(116)) == ("applied", "")
    other = RankAt(NONE, safety=1)
    other.offer()
    other.now = 31.0
    assert outcome(other.at(116)) == ("aborted", "late")


def test_a_callback_is_tried_before_the_ranks_decide() -> None:
    """A veto of the callback on the first rank stops all ranks, and none of them has changed."""
    register = SharedRegister()

    def refuse(_: object) -> None:
        raise Veto("compiled model")

    ranks = [RankAt(register, apply=refuse, tried_first=True) for _ in range(2)]
    for rank in ranks:
        rank.offer()
        rank.commit()
    assert outcome(ranks[0].at(110)) == ("veto", "compiled model")
    assert outcome(ranks[1].at(110))[0] == "aborted"
    assert {rank.value.now for rank in ranks} == {16}


def test_a_callback_that_fails_is_a_veto_with_its_error() -> None:
    """An exception of a callback goes no further than the answer."""

    def fail(_: object) -> None:
        raise RuntimeError("no module")

    rank = RankAt(apply=fail, tried_first=True)
    rank.offer()
    rank.commit()
    kind, reason = outcome(rank.at(110))
    assert kind == "veto"
    assert reason.startswith("callback failed: RuntimeError")


def test_a_callback_that_was_tried_is_taken_back() -> None:
    """A rank that has tried the change and then learns that the others aborted restores the old value."""
    register, called = SharedRegister(), []

    def apply(to: int) -> int:
        called.append(to)
        if len(called) == 1:
            register.decide("flyball/0/1", "abort")  # another rank, at this moment
        return to

    rank = RankAt(register, apply=apply, tried_first=True)
    rank.offer()
    rank.commit()
    assert outcome(rank.at(110)) == ("aborted", "other rank")
    assert (called, rank.value.now) == ([8, 16], 16)


def test_a_callback_that_observes_another_value_is_a_veto() -> None:
    """A rank that tried a change and has another value than the offered one restores the old value, and refuses."""
    called: list[int] = []

    def clamp(to: int) -> int:
        called.append(to)
        return max(to, 12)

    rank = RankAt(apply=clamp, tried_first=True)
    rank.offer()
    rank.commit()
    assert outcome(rank.at(110)) == ("veto", "the function returned 12 instead of 8")
    assert (called, rank.value.now) == ([8, 16], 16)


def test_a_number_in_place_of_a_truth_value_is_a_veto() -> None:
    """For the collector, true is not 1, so a callback that returns 1 must not seem to have made the change."""
    rank = RankAt(initial=False, choices=(False, True), apply=int, tried_first=True)
    rank.offer(**{"from": False, "to": True})
    rank.commit()
    assert outcome(rank.at(110)) == ("veto", "the function returned 1 instead of True")


def test_a_change_that_fails_on_one_rank_alone_is_reported() -> None:
    """After the decision, a rank that cannot change reports the value that it observes, and why."""

    def fail(_: object) -> None:
        raise RuntimeError("no module")

    rank = RankAt(apply=fail)
    rank.offer()
    rank.commit()
    answer = rank.at(110)
    assert answer is not None
    assert (answer["kind"], answer["observed"]) == ("applied", 16)
    assert "no module" in answer["reason"]


def test_a_reason_that_appears_meanwhile_stops_all_ranks() -> None:
    """A value that is blocked between the offer and its step is a veto at the step."""
    register = SharedRegister()
    ranks = [RankAt(register) for _ in range(2)]
    for rank in ranks:
        rank.offer()
        rank.commit()
        rank.value.blocked = "compiled"
    assert outcome(ranks[0].at(110)) == ("veto", "compiled")
    assert {rank.at(110)["kind"] for rank in ranks[1:]} == {"veto"}  # type: ignore[index]  # there is an answer
    assert {rank.value.now for rank in ranks} == {16}


def test_a_register_that_has_gone_changes_nothing() -> None:
    """Without the store of the job, a rank aborts, and what was tried is taken back."""
    register = SharedRegister()
    rank = RankAt(register, apply=lambda to: to, tried_first=True)
    rank.offer()
    rank.commit()
    register.fails = True
    kind, reason = outcome(rank.at(110))
    assert (kind, rank.value.now) == ("aborted", 16)
    assert reason.startswith("register failed")


def test_a_change_at_an_epoch_is_reported_when_it_takes_effect() -> None:
    """The decision comes at the step, the answer with the epoch; until then the value is busy."""
    rank = RankAt(when="epoch", apply=lambda _: LATER)
    rank.offer()
    rank.commit()
    assert rank.at(110) is None
    assert outcome(rank.offer(id="2", at=130)) == ("veto", "busy")
    rank.value.now = 8
    answer = rank.exchange.take_effect(rank.value, "", rank.moment)
    assert answer == {"kind": "applied", "id": "1", "step": 110, "observed": 8}
    assert rank.exchange.take_effect(rank.value, "", rank.moment) is None


def test_a_change_at_once_needs_neither_step_nor_register() -> None:
    """A change that must not wait, such as the end of a pause, comes with the commit."""
    rank = RankAt(LOCAL, at_once=lambda to: to == 8)
    assert outcome(rank.offer(at=0)) == ("prepared", "")
    assert rank.at(100) is None
    rank.commit()
    assert outcome(rank.at(100)) == ("applied", "")


def test_the_end_of_a_run_gives_up() -> None:
    """A run that finishes with a pending offer reports that it aborted."""
    rank = RankAt()
    rank.offer()
    rank.commit()
    assert [outcome(answer) for answer in rank.exchange.end(rank.moment)] == [("aborted", "run ended")]
    assert rank.at(110) is None
