"""The checks that every offer must pass, from rules and from people: pure functions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.declared.ranks import RankValue, RunValues
from flyball_collector.adjustments.values import same_value, value_text

_SHOWN_RANKS = 8

EPOCH = "epoch"
"""When a value changes that takes effect as an epoch begins."""


class NotPossible(Exception):
    """A change that the ranks cannot make. The message has the reason."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A change that can be offered."""

    value: RankValue  # as the first rank declares it
    value_from: Value  # of most ranks that have another one than the new one
    safety: int
    when: str
    hosts: tuple[str, ...]
    values_from: dict[str, Value] = field(default_factory=dict)  # by rank, if they differ


def check(
    values: RunValues | None, run: str, name: str, to: Value, values_to: Mapping[str, Value] | None = None
) -> Checked:
    """Return the change if all ranks of the run can make it together. Raise `NotPossible` otherwise.

    `values_to` has the ranks that get another value than `to`. Each rank may have another value before the change: the
    offer has that of each, so that a rank whose value has changed since refuses.
    """
    if values is None:
        raise NotPossible(f"no rank of run {run!r} declares adjustable values")
    if not values.is_complete:
        raise NotPossible(_missing_text(values))
    declared = values.of(name)
    if not declared:
        known = ", ".join(values.names) or "none"
        raise NotPossible(f"run {run!r} has no adjustable value {name!r}; it has: {known}")
    if len(declared) < values.world_size:
        missing = next(rank for rank in range(values.world_size) if rank not in declared)
        raise NotPossible(f"rank {missing} does not declare {name!r}")
    wanted = {rank: (values_to or {}).get(str(rank), to) for rank in declared}
    for rank, value in declared.items():
        _check_rank(rank, value, wanted[rank])
    safety = max(value.safety for value in declared.values())
    if values.register == "none" and values.world_size > 1 and safety > 1:
        raise NotPossible(
            "the ranks have no way to agree at a step (no process group of torch.distributed); "
            "only values of class 1 can be changed"
        )
    first = declared[0]
    differ = any(not same_value(each.value, first.value) for each in declared.values())
    values_from = {str(rank): each.value for rank, each in declared.items()} if differ else {}
    return Checked(first, _common_value(declared, name, wanted), safety, first.when, values.hosts, values_from)


def _missing_text(values: RunValues) -> str:
    """Return which ranks declare nothing, and what may be the reason."""
    missing = values.missing
    shown = ", ".join(map(str, missing[:_SHOWN_RANKS])) + (", …" if len(missing) > _SHOWN_RANKS else "")
    who = f"rank {shown} declares" if len(missing) == 1 else f"ranks {shown} declare"
    return (
        f"{who} no adjustable values, of {values.world_size} ranks of {values.run!r}; "
        "does the agent of each host allow adjustments (adjustments.enabled, adjustments.hosts)?"
    )


def _check_rank(rank: int, value: RankValue, to: Value) -> None:
    if value.blocked:
        raise NotPossible(f"rank {rank} cannot change {value.name!r} now: {value.blocked}")
    if not value.allows(to):
        choices = ", ".join(map(value_text, value.choices)) or f"values like {value_text(value.value)}"
        raise NotPossible(f"{value_text(to)} is not a choice of {value.name!r}; choose one of: {choices}")


def _common_value(declared: dict[int, RankValue], name: str, wanted: Mapping[int, Value]) -> Value:
    """Return the value that most ranks have, except those that have the new one already."""
    others = [value.value for rank, value in declared.items() if not same_value(value.value, wanted[rank])]
    if not others:
        raise NotPossible(f"{name!r} is {value_text(next(iter(wanted.values())))} already")
    return Counter(others).most_common(1)[0][0]
