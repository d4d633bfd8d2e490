"""The answers of ranks together decide what happens."""

import msgspec
import pytest

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, RankAnswer
from flyball_collector.adjustments.core.answers import (
    Outcome,
    missing_ranks,
    of_known,
    outcome,
    reason_against,
    with_answer,
)

OFFERED = Adjustment(
    id="1", run="r", attempt=0, name="n", value_from=16, value_to=8, safety=1, state=AdjustmentState.OFFERED, ranks=2
)
COMMITTED = msgspec.structs.replace(OFFERED, state=AdjustmentState.COMMITTED)


def answered(adjustment: Adjustment, *words: str) -> Adjustment:
    """Return the adjustment with an answer of each rank: `applied:8`, or only a verdict."""
    answers = {}
    for rank, word in enumerate(words):
        verdict, _, observed = word.partition(":")
        if verdict:
            value = int(observed) if observed else None
            answers[str(rank)] = RankAnswer(verdict=verdict, observed=value, reason=f"why{rank}")
    return msgspec.structs.replace(adjustment, answers=answers)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), Outcome.WAITING),
        (("prepared",), Outcome.WAITING),
        (("prepared", "prepared"), Outcome.PREPARED),
        (("prepared", "veto"), Outcome.REFUSED),
        (("refused",), Outcome.REFUSED),
        (("aborted", "prepared"), Outcome.ABORTED),
        (("applied:8", "prepared"), Outcome.WAITING),
    ],
)
def test_an_offer_goes_on_only_if_all_are_prepared(words: tuple[str, ...], expected: Outcome) -> None:
    """One rank that refuses or gives up ends the offer; all that are prepared allow the commit."""
    assert outcome(answered(OFFERED, *words), committed=False) is expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("prepared", "prepared"), Outcome.WAITING),
        (("applied:8", "prepared"), Outcome.WAITING),
        (("applied:8", "applied:8"), Outcome.APPLIED),
        (("aborted", "aborted"), Outcome.ABORTED),
        (("veto", "aborted"), Outcome.ABORTED),
        (("applied:16", "applied:16"), Outcome.ABORTED),
        (("applied:8", "aborted"), Outcome.SPLIT),
        (("applied:8", "applied:16"), Outcome.SPLIT),
        (("applied:8", "applied"), Outcome.SPLIT),
        (("applied:4", "applied:4"), Outcome.SPLIT),
    ],
)
def test_a_commit_ends_with_the_last_word_of_all(words: tuple[str, ...], expected: Outcome) -> None:
    """Applied means that every rank observes the offered value; nothing else does."""
    assert outcome(answered(COMMITTED, *words), committed=True) is expected


def test_what_is_known_counts_when_no_more_will_come() -> None:
    """Without the last word of a rank, those that came decide, and the missing ones are named."""
    half = answered(COMMITTED, "applied:8", "prepared")
    assert of_known(half) is Outcome.APPLIED
    assert missing_ranks(half) == [1]
    assert of_known(answered(COMMITTED, "prepared")) is Outcome.WAITING


def test_the_last_word_of_a_rank_is_not_overwritten() -> None:
    """Doubled, late and reordered answers change nothing."""
    done = answered(COMMITTED, "applied:8", "prepared")
    assert with_answer(done, 0, RankAnswer(verdict="aborted")) is None
    assert with_answer(done, 0, RankAnswer(verdict="prepared")) is None
    assert with_answer(done, 1, RankAnswer(verdict="prepared")) is None
    assert with_answer(done, 1, RankAnswer(verdict="refused")) is None
    assert with_answer(done, 1, RankAnswer(verdict="veto")) is not None


def test_reasons_name_the_ranks() -> None:
    """The reason against an offer has the words of the ranks."""
    assert reason_against(answered(OFFERED, "prepared", "veto")) == "vetoed by rank 1: why1"


def test_a_refusal_is_the_reason_and_not_what_followed_from_it() -> None:
    """Ranks that aborted because another one refused are left out. Ranks are in order of their numbers."""
    assert reason_against(answered(OFFERED, "aborted", "veto")) == "vetoed by rank 1: why1"
    same = {rank: RankAnswer(verdict="aborted", reason="late") for rank in ("1", "0")}
    assert reason_against(msgspec.structs.replace(OFFERED, answers=same)) == "aborted by ranks 0, 1: late"
