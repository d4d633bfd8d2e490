"""The answer about the adjustable values of a run. Null is unknown."""

from collections.abc import Collection, Mapping

import msgspec

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.core.book import PolicyChoice
from flyball_collector.adjustments.core.rank_outcomes import some_ranks
from flyball_collector.adjustments.declared.ranks import RankValue, RunValues
from flyball_collector.http.adjustment_answers import SAFETY_MEANINGS, AdjustmentAnswer, adjustment_answer
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.run_lookup import find_run
from flyball_collector.times import Moment, moment

_NEWEST = 20  # adjustments
_SHOWN_RANKS = 16


class BlockedRank(msgspec.Struct, frozen=True):
    """A reason why some ranks cannot change a value now."""

    reason: str
    ranks: list[int]  # at most 16 of them
    number: int


class DifferentValue(msgspec.Struct, frozen=True):
    """A value that only some ranks have."""

    value: Value
    ranks: list[int]  # at most 16 of them
    number: int


class AdjustableValueAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A value that the ranks of a run can change."""

    name: str
    lever: str
    value: Value | None  # null: the ranks differ
    different: list[DifferentValue]  # if the ranks differ
    choices: list[Value]  # empty: any value of the same type
    safety: int
    safety_meaning: str
    when: str  # step, epoch or restart
    facts: dict[str, str]
    ranks: int  # that have declared it
    blocked: list[BlockedRank]  # empty: no rank refuses
    refused: str  # why the collector refuses each change, whatever the ranks answer; empty: it does not


class SetPolicyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The policy that a person has set for a run, which may be above the limit."""

    policy: str
    who: str
    why: str
    time: Moment


class RunValuesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The adjustable values of a run, and its newest adjustments."""

    run: str
    enabled: bool  # false: the collector's settings allow no adjustments
    policy: str  # in force: off, ask or auto
    requested_policy: str | None  # of the training; null: no rank has declared values
    policy_set: SetPolicyAnswer | None  # by a person; null: the training's own policy holds
    limit: str  # the most that the collector's settings allow
    may_change: bool  # the caller has the role operator
    attempt: int | None
    world_size: int | None
    complete: bool  # every rank has declared its values
    missing_ranks: list[int]  # that have declared none, at most 16 of them
    register: str | None  # how the ranks agree at a step: c10d, local, none
    step: int | None
    values: list[AdjustableValueAnswer]
    adjustments: list[AdjustmentAnswer]


def run_values(parts: CollectorParts, run: str, *, may_change: bool) -> RunValuesAnswer:
    """Return the values that the ranks of a run can change, its policy and its newest adjustments.

    Raise an error for a run that is not known at all.
    """
    source = parts.adjustments
    values = source.values(run) if source is not None else None
    newest = source.find(run=run, limit=_NEWEST) if source is not None else []
    if values is None and not newest:
        find_run(parts, run)
    settings = parts.settings.adjustments
    limit = settings.policy if adjustments_enabled(parts) else "off"
    return RunValuesAnswer(
        run=run,
        enabled=adjustments_enabled(parts),
        policy=source.policy(run) if source is not None and adjustments_enabled(parts) else "off",
        requested_policy=None if values is None else values.policy,
        policy_set=_set_policy(source.policy_choice(run)) if source is not None else None,
        limit=limit,
        may_change=may_change,
        attempt=None if values is None else values.attempt,
        world_size=None if values is None else values.world_size,
        complete=values is not None and values.is_complete,
        missing_ranks=[] if values is None else values.missing[:_SHOWN_RANKS],
        register=None if values is None else values.register,
        step=None if values is None else values.step,
        values=_values(values, settings.disabled_levers),
        adjustments=[adjustment_answer(each) for each in newest],
    )


def adjustments_enabled(parts: CollectorParts) -> bool:
    """Return True if the settings allow adjustments."""
    return parts.adjustments is not None and parts.settings.adjustments.enabled


def _set_policy(choice: PolicyChoice | None) -> SetPolicyAnswer | None:
    if choice is None:
        return None
    return SetPolicyAnswer(policy=choice.policy, who=choice.who, why=choice.why, time=moment(choice.time_ns))


def _values(values: RunValues | None, disabled_levers: Collection[str]) -> list[AdjustableValueAnswer]:
    """Return the adjustable values of a run, by name."""
    return [] if values is None else [_value(name, values, disabled_levers) for name in sorted(values.names)]


def _value(name: str, values: RunValues, disabled_levers: Collection[str]) -> AdjustableValueAnswer:
    of_ranks = values.of(name)
    first = next(iter(of_ranks.values()))
    different = _different(of_ranks)
    return AdjustableValueAnswer(
        name=name,
        lever=first.lever,
        value=None if different else first.value,
        different=different,
        choices=list(first.choices),
        safety=first.safety,
        safety_meaning=SAFETY_MEANINGS.get(first.safety, "unknown class"),
        when=first.when,
        facts=dict(first.facts),
        ranks=len(of_ranks),
        blocked=_blocked(of_ranks),
        refused=_refused(first.lever, of_ranks, values.world_size, disabled_levers),
    )


def _refused(lever: str, of_ranks: Mapping[int, RankValue], world_size: int, disabled_levers: Collection[str]) -> str:
    """Return why nobody can change a value, in words; empty if that is possible."""
    if lever in disabled_levers:
        return f"the operator has disabled the lever {lever}"
    missing = [rank for rank in range(world_size) if rank not in of_ranks]
    return f"not declared by {some_ranks(missing)}" if missing else ""


def _blocked(of_ranks: dict[int, RankValue]) -> list[BlockedRank]:
    reasons: dict[str, list[int]] = {}
    for rank, each in of_ranks.items():
        if each.blocked:
            reasons.setdefault(each.blocked, []).append(rank)
    return [BlockedRank(reason, ranks[:_SHOWN_RANKS], len(ranks)) for reason, ranks in reasons.items()]


def _different(of_ranks: dict[int, RankValue]) -> list[DifferentValue]:
    """Return the values of the ranks, the most frequent first; nothing if all have the same."""
    groups: dict[tuple[bool, Value], list[int]] = {}  # in Python, true is 1
    for rank, each in of_ranks.items():
        groups.setdefault((isinstance(each.value, bool), each.value), []).append(rank)
    if len(groups) == 1:
        return []
    found = [DifferentValue(value, ranks[:_SHOWN_RANKS], len(ranks)) for (_, value), ranks in groups.items()]
    return sorted(found, key=lambda each: -each.number)
