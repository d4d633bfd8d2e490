"""The core keeps its promises whatever comes, in any order, doubled, late or lost."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_collector.adjustments.adjustment import IN_PROGRESS, Adjustment, AdjustmentState
from flyball_collector.adjustments.core.book import GONE_SECONDS, PolicyChoice
from flyball_collector.adjustments.core.offer_checks import NotPossible
from flyball_proto.v1 import adjust_pb2 as pb
from tests.collector.adjustments.core_case import RUN, CoreCase, effect, micro_batch, proposal

if TYPE_CHECKING:
    from collections.abc import Callable

RANKS = 3
VALUES = (4, 8, 16)
_UNDER_WAY = {AdjustmentState.OFFERED, AdjustmentState.COMMITTED}
_LATER_STATES = {
    AdjustmentState.KEPT: {AdjustmentState.UNDONE},
    AdjustmentState.VETOED: {AdjustmentState.FAILED},
    AdjustmentState.ABORTED: {AdjustmentState.FAILED},
    AdjustmentState.EXPIRED: {AdjustmentState.FAILED},
}

rank = st.integers(0, RANKS - 1)
value = st.sampled_from(VALUES)
verdict = st.sampled_from(["prepared", "prepared", "prepared", "veto", "applied", "applied", "aborted", "refused"])
which = st.integers(0, 3)  # adjustments, the newest first
begin = st.tuples(st.just("begin"), value)
finish = st.tuples(st.just("finish"), st.sampled_from(["applied", "applied", "applied", "aborted"]))
measured = st.tuples(st.just("measured"), st.booleans())
answer = st.tuples(st.just("answer"), which, rank, verdict, value)
decide = st.tuples(st.just("decide"), which, st.sampled_from(["approve", "veto", "undo", "undo"]))
step_by_step = st.one_of(
    st.tuples(st.just("ask"), value),
    st.tuples(st.just("rule"), value, st.booleans()),
    st.tuples(st.just("all_answer"), verdict),
    st.tuples(st.just("able"), rank, value, st.integers(0, 400)),
    st.tuples(st.just("wait"), st.sampled_from([1, 7, 40, 200])),
    st.tuples(st.just("host_lost"), rank),
    st.tuples(st.just("policy"), st.sampled_from(["ask", "auto", "auto", "off"])),
)
rare = st.one_of(st.tuples(st.just("left"), rank), st.tuples(st.just("restart"), st.integers(1, 2)))
often = [begin, begin, finish, finish, measured, measured, answer, decide, step_by_step, step_by_step]
event = st.sampled_from([*often, *often, rare]).flatmap(lambda each: each)
"""Most events lead somewhere: without that, hardly a change would ever be applied."""


class CheckedCase:
    """A case that checks its promises after each event."""

    def __init__(self) -> None:
        self.case = CoreCase(RANKS)
        self.states: dict[str, AdjustmentState] = {}
        self.attempt = 0
        self.act: dict[str, Callable[..., Any]] = {
            "ask": self.case.ask,
            "begin": self.begin,
            "finish": self.finish,
            "rule": self.rule,
            "answer": self.answer,
            "all_answer": self.all_answer,
            "able": self.able,
            "left": self.left,
            "host_lost": lambda each: self.case.core.host_lost(f"node-{each}", self.case.now),
            "wait": self.case.wait,
            "decide": self.decide,
            "measured": self.measured,
            "restart": self.restart,
            "policy": self.policy,
        }

    def apply(self, happened: tuple[Any, ...]) -> None:
        with suppress(NotPossible):
            self.act[happened[0]](*happened[1:])
        self.check()

    def begin(self, to: int) -> None:
        """Offer a change, or go on with the inverse under way, until all ranks are prepared."""
        for each in range(RANKS):
            if self.case.core.ables.run(RUN) is None or each not in self.case.core.ables.run(RUN).of("micro_batch"):  # type: ignore[union-attr]  # just checked
                self.able(each, 16, 0)
        with suppress(NotPossible):
            self.case.ask(to)
        self.all_answer("prepared")

    def finish(self, word: str) -> None:
        """Let all ranks apply or abort what is committed, and declare it."""
        under_way = self.case.core.books[RUN].in_flight if RUN in self.case.core.books else None
        if under_way is not None:
            for each in range(RANKS):
                self.case.answer(
                    under_way, each, word, under_way.value_to if word == "applied" else None, **self.pid(each)
                )

    def pid(self, each: int) -> dict[str, int]:
        return {"pid": 100 + each + 1000 * self.attempt}

    def rule(self, to: int, protects: bool) -> None:
        self.case.core.by_rule(proposal(to, protects=protects, rule=f"to {to}"), self.case.now)

    def nth(self, number: int) -> Adjustment | None:
        history = self.case.core.history(RUN)
        return history[number] if number < len(history) else None

    def answer(self, number: int, each: int, word: str, observed: int) -> None:
        if (adjustment := self.nth(number)) is not None:
            self.case.answer(adjustment, each, word, observed if word == "applied" else None, **self.pid(each))

    def all_answer(self, word: str) -> None:
        if (adjustment := self.nth(0)) is not None:
            for each in range(RANKS):
                observed = adjustment.value_to if word == "applied" else None
                self.case.answer(adjustment, each, word, observed, **self.pid(each))

    def able(self, each: int, now: int, step: int) -> None:
        self.case.declare(each, micro_batch(now), step=step, attempt=self.attempt, **self.pid(each))

    def left(self, each: int) -> None:
        message = pb.Left(run=RUN, rank=each, pid=100 + each + 1000 * self.attempt)
        self.case.core.left(f"node-{each}", message, self.case.now)

    def decide(self, number: int, what: str) -> None:
        if (adjustment := self.nth(number)) is not None:
            getattr(self.case.core, what)(adjustment, "alice", "", self.case.now)

    def measured(self, harm: bool) -> None:
        watched = self.case.core.books[RUN].watched if RUN in self.case.core.books else None
        if watched is not None:
            self.case.core.measured(watched, effect(), self.case.now, harm="slower" if harm else "")

    def restart(self, by: int) -> None:
        self.attempt += by
        for each in range(RANKS):
            self.able(each, 16, 0)

    def policy(self, word: str) -> None:
        self.case.core.set_policy(PolicyChoice(run=RUN, policy=word, who="bob", time_ns=self.case.now))

    def check(self) -> None:
        history = self.case.core.history(RUN)
        assert sum(each.state in _UNDER_WAY for each in history) <= 1
        for _, message in self.case.messages("commit"):
            answers = self.case.core.books[RUN].adjustments[message.commit.id].answers
            assert len(answers) == RANKS
            assert all(each.verdict != "refused" for each in answers.values())
        for each in history:
            self.check_one(each)

    def check_one(self, each: Adjustment) -> None:
        before = self.states.get(each.id)
        if before is not None and before is not each.state and before not in IN_PROGRESS:
            assert each.state in _LATER_STATES.get(before, set())
        self.states[each.id] = each.state
        if each.state is AdjustmentState.APPLIED:
            applied = [one for one in each.answers.values() if one.verdict == "applied"]
            assert applied
            assert all(one.observed == each.value_to for one in applied)
        if each.is_over:
            assert each.decisions


@settings(max_examples=150, deadline=None)
@given(st.lists(event, min_size=5, max_size=40))
def test_the_promises_hold_in_any_order_of_events(events: list[tuple[Any, ...]]) -> None:
    """Never two offers at once, never a commit without all prepared, no ended adjustment begins again, and all end."""
    checked = CheckedCase()
    for happened in events:
        checked.apply(happened)
    for each in range(RANKS):
        checked.case.core.host_lost(f"node-{each}", checked.case.now)
    checked.case.wait(GONE_SECONDS + 120, every=20)
    checked.case.wait(3700, every=300)
    checked.check()
    assert not [each for each in checked.case.core.history(RUN) if each.state in IN_PROGRESS]
