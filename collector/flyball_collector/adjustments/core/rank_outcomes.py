"""The outcome of an offer at single ranks: what a declared value shows, and which ranks differ."""

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, RankAnswer
from flyball_collector.adjustments.core import answers
from flyball_collector.adjustments.core.book import Flight
from flyball_collector.adjustments.declared.ranks import AbleRank
from flyball_collector.adjustments.values import same_value, value_text


def shown_answer(adjustment: Adjustment, flight: Flight, rank: AbleRank, now_ns: int) -> RankAnswer | None:
    """Return what a declared value shows about a change whose step has passed; None if nothing.

    It never contradicts what a rank has reported itself, because all of them obey one decision.
    """
    value = rank.values.get(adjustment.name)
    may_be_applied = flight.recovering or adjustment.state is AdjustmentState.COMMITTED
    if value is None or not may_be_applied or rank.attempt != adjustment.attempt or rank.step < adjustment.at_step:
        return None
    has_new = same_value(value.value, adjustment.to_of(rank.rank))
    has_old = same_value(value.value, adjustment.from_of(rank.rank)) and adjustment.when == "step"
    reported = {each.verdict for each in adjustment.answers.values()} if flight.agreeing else set()
    if has_new and not reported & {answers.ABORTED, answers.VETO}:
        return RankAnswer(verdict=answers.APPLIED, step=adjustment.at_step, observed=value.value, time_ns=now_ns)
    if has_new or (has_old and rank.step > adjustment.at_step + 1 and answers.APPLIED not in reported):
        reason = "its value is the same after the step"
        return RankAnswer(verdict=answers.ABORTED, step=rank.step, reason=reason, time_ns=now_ns)
    return None


def split_reason(adjustment: Adjustment) -> str:
    """Return which ranks have applied a change alone, or which value they have instead, in words."""
    observed = [each.observed for each in adjustment.answers.values() if each.observed is not None]
    if len(observed) >= adjustment.ranks and all(same_value(each, observed[0]) for each in observed):
        who = "the rank observes" if adjustment.ranks == 1 else "all ranks observe"
        return f"{who} {value_text(observed[0])} instead of {_expected_text(adjustment)}"
    applied = [
        rank
        for rank, each in adjustment.answers.items()
        if each.verdict == answers.APPLIED
        and each.observed is not None
        and same_value(each.observed, adjustment.to_of(rank))
    ]
    others = [int(rank) for rank in adjustment.answers if rank not in applied]
    why = next((each.reason for each in adjustment.answers.values() if each.reason), "")
    return f"{len(applied)} of {adjustment.ranks} ranks applied it, but not {some_ranks(others)}" + (
        f": {why}" if why else ""
    )


def _expected_text(adjustment: Adjustment) -> str:
    """Return the value that all ranks should have, in words. An inverse may have another one for each rank."""
    first, *others = (adjustment.to_of(rank) for rank in range(max(1, adjustment.ranks)))
    if all(same_value(each, first) for each in others):
        return value_text(first)
    return "the value that each rank had before"


def unchanged_reason(adjustment: Adjustment) -> str:
    """Return why all ranks have the old value although they tried the change, in words."""
    why = next((each.reason for each in adjustment.answers.values() if each.reason), "")
    return "all ranks still have the old value" + (f": {why}" if why else "")


def some_ranks(ranks: list[int]) -> str:
    """Return some ranks in words."""
    shown = ", ".join(map(str, sorted(ranks)[:4])) + (", …" if len(ranks) > 4 else "")
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}"
