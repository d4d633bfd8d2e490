"""Evaluates the answers of the ranks to an adjustment: pure functions."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, RankAnswer, Value
from flyball_collector.adjustments.values import same_value

PREPARED, VETO, APPLIED, ABORTED, REFUSED = "prepared", "veto", "applied", "aborted", "refused"

_FINAL = frozenset({APPLIED, ABORTED, VETO})
"""A rank's last word. A veto may come after a commit too: at its step, from a callback, and then all others abort."""

_AGAINST = frozenset({VETO, REFUSED})
_BY = {VETO: "vetoed by", REFUSED: "refused by", ABORTED: "aborted by"}


class Outcome(StrEnum):
    """The meaning of all answers together."""

    WAITING = "waiting"
    PREPARED = "prepared"  # all of them: the change can be committed
    REFUSED = "refused"  # by one at least
    APPLIED = "applied"  # by all, with the offered value
    ABORTED = "aborted"  # by all: nothing was changed
    SPLIT = "split"  # by some alone, or with another value than offered


def with_answer(adjustment: Adjustment, rank: int, answer: RankAnswer) -> Adjustment | None:
    """Return the adjustment with a rank's answer; None if it changes nothing: doubled, or older than the known one."""
    known = adjustment.answers.get(str(rank))
    if known is not None:
        if known.verdict in _FINAL or known.verdict == answer.verdict:
            return None
        if answer.verdict == PREPARED or (
            answer.verdict == REFUSED and adjustment.state is not AdjustmentState.OFFERED
        ):
            return None  # an agent that refuses the commit alone: its ranks abort by themselves and report that
    return msgspec.structs.replace(adjustment, answers={**adjustment.answers, str(rank): answer})


def outcome(adjustment: Adjustment, *, committed: bool) -> Outcome:
    """Return what the answers mean. `committed`: a commit was sent, so that ranks may have applied it."""
    answers = list(adjustment.answers.values())
    finals = _finals(adjustment)
    if not committed and not any(each.verdict == APPLIED for each in finals.values()):
        if any(each.verdict in _AGAINST for each in answers):
            return Outcome.REFUSED
        if finals:
            return Outcome.ABORTED  # nobody has a commit, so that nobody can apply it
        all_prepared = len(answers) >= adjustment.ranks and all(each.verdict == PREPARED for each in answers)
        return Outcome.PREPARED if all_prepared else Outcome.WAITING
    return _of_finals(adjustment, finals) if len(finals) >= adjustment.ranks else Outcome.WAITING


def of_known(adjustment: Adjustment) -> Outcome:
    """Return what the answers mean if no more of them will come."""
    finals = _finals(adjustment)
    return _of_finals(adjustment, finals) if finals else Outcome.WAITING


def missing_ranks(adjustment: Adjustment) -> list[int]:
    """Return the ranks whose last word is not known."""
    return [
        rank
        for rank in range(adjustment.ranks)
        if (answer := adjustment.answers.get(str(rank))) is None or answer.verdict not in _FINAL
    ]


def reason_against(adjustment: Adjustment) -> str:
    """Return the reasons of the ranks that refused, in words; of those that aborted only if no rank refused."""
    reasons: dict[tuple[str, str], list[str]] = {}
    refused = any(each.verdict in _AGAINST for each in adjustment.answers.values())
    for rank, answer in sorted(adjustment.answers.items(), key=lambda each: int(each[0])):
        if answer.verdict in (_AGAINST if refused else {ABORTED}):
            reasons.setdefault((_BY[answer.verdict], answer.reason or "no reason given"), []).append(rank)
    return "; ".join(f"{by} {_ranks(ranks)}: {reason}" for (by, reason), ranks in reasons.items())


def _finals(adjustment: Adjustment) -> dict[str, RankAnswer]:
    """Return the last words that are known, by rank."""
    return {rank: each for rank, each in adjustment.answers.items() if each.verdict in _FINAL}


def _of_finals(adjustment: Adjustment, finals: Mapping[str, RankAnswer]) -> Outcome:
    values = {
        rank: each.observed if each.verdict == APPLIED else adjustment.from_of(rank) for rank, each in finals.items()
    }
    if all(_is(value, adjustment.to_of(rank)) for rank, value in values.items()):
        return Outcome.APPLIED
    if all(_is(value, adjustment.from_of(rank)) for rank, value in values.items()):
        return Outcome.ABORTED
    return Outcome.SPLIT


def _is(value: Value | None, expected: Value) -> bool:
    return value is not None and same_value(value, expected)


def _ranks(ranks: list[str]) -> str:
    shown = ", ".join(ranks[:4]) + (", …" if len(ranks) > 4 else "")
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}"
