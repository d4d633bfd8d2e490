"""The answers about adjustments and adjustable values. Null is unknown."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, MeasuredEffect, RankAnswer, Value
from flyball_collector.times import Moment, moment

SAFETY_MEANINGS = {
    1: "does not change results",
    2: "equal results up to rounding",
    3: "changes numerics",
    4: "interrupts the run",
}
_ACTIONS: dict[AdjustmentState, tuple[str, ...]] = {
    AdjustmentState.PROPOSED: ("approve", "veto"),
    AdjustmentState.OFFERED: ("veto",),
    AdjustmentState.APPLIED: ("undo",),
    AdjustmentState.KEPT: ("undo",),
}
MOST_ANSWERS = 16
"""Answers of ranks in lists: a change of 1,024 ranks would fill a list that is read each second."""

_DIGITS = 4


class RankAnswerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The newest answer of a rank to an offer."""

    rank: str
    verdict: str  # prepared, veto, applied, aborted, refused
    step: int
    observed: Value | None
    reason: str
    time: Moment | None


class DecisionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A decision of a person or the governor."""

    time: Moment
    what: str
    who: str  # the name of a token; `flyball` for the collector itself
    why: str


class EffectAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The measured change. A gain of 1.1 means 10 % more speed; the interval is one of 90 %."""

    gain: float
    gain_low: float
    gain_high: float
    step_seconds_before: float
    step_seconds_after: float
    tokens_per_second_before: float | None
    tokens_per_second_after: float | None
    peak_bytes_before: int | None
    peak_bytes_after: int | None
    steps_before: int
    steps_after: int
    faults: list[str]  # slower, memory, loss_not_finite, unstable: why it was taken back


class AdjustmentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One adjustment: what, why, who, and what it brought."""

    id: str
    run: str
    attempt: int
    name: str
    lever: str
    value_from: Value
    value_to: Value
    safety: int  # class 1 to 4
    safety_meaning: str
    state: str  # as in the description of `GET /adjustments`
    is_over: bool
    actions: list[str]  # that an operator can take now: approve, veto, undo
    when: str  # the ranks apply it: step, epoch or restart
    rule: str  # of the advice behind it; empty: a person asked for it
    because: str
    protects: bool  # made against memory that runs out, heat …: judged by survival, not by speed
    expected_low: float | None  # gain, as a factor
    expected_high: float | None
    predicted: dict[str, float]
    hosts: list[str]
    ranks: int
    at_step: int
    created: Moment
    changed: Moment
    verdicts: dict[str, int]  # the number of ranks with each answer
    answers: list[RankAnswerAnswer]  # by rank; in lists only some, those that differ from the usual one first
    decisions: list[DecisionAnswer]  # the oldest first
    effect: EffectAnswer | None  # null: not measured
    inverse_of: str  # this adjustment takes that one back
    inverse: str  # the adjustment that takes this one back
    reason: str  # why it ended as it did


class AdjustmentsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Adjustments, the newest first."""

    adjustments: list[AdjustmentAnswer]
    more: bool  # there are older ones
    enabled: bool  # false: the collector's settings allow no adjustments
    may_change: bool  # the caller has the role operator


class PolicyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The policy of a run."""

    run: str
    policy: str  # in force
    limit: str  # the most that the collector's settings allow


def adjustment_answer(adjustment: Adjustment, most_answers: int = MOST_ANSWERS) -> AdjustmentAnswer:
    """Return the answer for an adjustment, with at most so many answers of ranks."""
    verdicts = dict(Counter([each.verdict for each in adjustment.answers.values()]).most_common())
    return AdjustmentAnswer(
        id=adjustment.id,
        run=adjustment.run,
        attempt=adjustment.attempt,
        name=adjustment.name,
        lever=adjustment.lever,
        value_from=adjustment.value_from,
        value_to=adjustment.value_to,
        safety=adjustment.safety,
        safety_meaning=SAFETY_MEANINGS.get(adjustment.safety, "unknown class"),
        state=adjustment.state.value,
        is_over=adjustment.is_over,
        actions=actions_of(adjustment),
        when=adjustment.when,
        rule=adjustment.rule,
        because=adjustment.because,
        protects=adjustment.protects,
        expected_low=_rounded(adjustment.expected_low),
        expected_high=_rounded(adjustment.expected_high),
        predicted=dict(adjustment.predicted),
        hosts=list(adjustment.hosts),
        ranks=adjustment.ranks,
        at_step=adjustment.at_step,
        created=moment(adjustment.created_ns),
        changed=moment(adjustment.changed_ns),
        verdicts=verdicts,
        answers=_answers(adjustment, verdicts, most_answers),
        decisions=[
            DecisionAnswer(time=moment(each.time_ns), what=each.what, who=each.who, why=each.why)
            for each in adjustment.decisions
        ],
        effect=None if adjustment.effect is None else _effect(adjustment.effect),
        inverse_of=adjustment.inverse_of,
        inverse=adjustment.inverse,
        reason=adjustment.reason,
    )


def actions_of(adjustment: Adjustment) -> list[str]:
    """Return what an operator can do about an adjustment. One that takes another back is not undone itself."""
    if adjustment.inverse or (adjustment.inverse_of and adjustment.state is not AdjustmentState.PROPOSED):
        return []
    return list(_ACTIONS.get(adjustment.state, ()))


def _answers(adjustment: Adjustment, verdicts: Mapping[str, int], most: int) -> list[RankAnswerAnswer]:
    """Return the answers by rank. If there are too many, keep those that differ from the usual one."""
    answers = list(adjustment.answers.items())
    if len(answers) > most:
        usual = next(iter(verdicts))
        answers.sort(key=lambda answer: answer[1].verdict == usual)
        answers = answers[:most]
    return [
        RankAnswerAnswer(
            rank=rank,
            verdict=each.verdict,
            step=each.step,
            observed=each.observed,
            reason=each.reason,
            time=moment(each.time_ns) if each.time_ns else None,
        )
        for rank, each in sorted(answers, key=_rank_number)
    ]


def _rank_number(answer: tuple[str, RankAnswer]) -> tuple[int, str]:
    rank, _ = answer
    return (int(rank) if rank.isascii() and rank.isdecimal() else -1, rank)


def _effect(effect: MeasuredEffect) -> EffectAnswer:
    return EffectAnswer(
        gain=round(effect.gain, _DIGITS),
        gain_low=round(effect.gain_low, _DIGITS),
        gain_high=round(effect.gain_high, _DIGITS),
        step_seconds_before=effect.step_seconds_before,
        step_seconds_after=effect.step_seconds_after,
        tokens_per_second_before=effect.tokens_per_second_before,
        tokens_per_second_after=effect.tokens_per_second_after,
        peak_bytes_before=effect.peak_bytes_before,
        peak_bytes_after=effect.peak_bytes_after,
        steps_before=effect.steps_before,
        steps_after=effect.steps_after,
        faults=list(effect.faults),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
