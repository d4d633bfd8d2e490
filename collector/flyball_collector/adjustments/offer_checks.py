"""The checks that every offer must pass, from rules and from people: pure functions."""

from dataclasses import dataclass

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.ranks import RankValue, RunValues
from flyball_collector.adjustments.values import same_value, value_text


class NotPossible(Exception):
    """A change that the ranks cannot make. The message has the reason."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A change that can be offered."""

    value: RankValue  # as the first rank declares it
    value_from: Value
    safety: int
    when: str


def check(values: RunValues | None, run: str, name: str, to: Value) -> Checked:
    """Return the change if all ranks of the run can make it together. Raise `NotPossible` otherwise."""
    if values is None:
        raise NotPossible(f"no rank of run {run!r} declares adjustable values")
    if not values.is_complete:
        raise NotPossible(f"{len(values.ranks)} of the {values.world_size} ranks of {run!r} declare adjustable values")
    declared = values.of(name)
    if not declared:
        known = ", ".join(values.names) or "none"
        raise NotPossible(f"run {run!r} has no adjustable value {name!r}; it has: {known}")
    if len(declared) < values.world_size:
        missing = next(rank for rank in range(values.world_size) if rank not in declared)
        raise NotPossible(f"rank {missing} does not declare {name!r}")
    for rank, value in declared.items():
        _check_rank(rank, value, to)
    safety = max(value.safety for value in declared.values())
    if values.register == "none" and values.world_size > 1 and safety > 1:
        raise NotPossible(
            "the ranks have no way to agree at a step (no process group of torch.distributed); "
            "only values of class 1 can be changed"
        )
    first = declared[0]
    return Checked(first, _common_value(declared, name, to), safety, first.when)


def _check_rank(rank: int, value: RankValue, to: Value) -> None:
    if value.blocked:
        raise NotPossible(f"rank {rank} cannot change {value.name!r} now: {value.blocked}")
    if not value.allows(to):
        choices = ", ".join(map(value_text, value.choices)) or f"values like {value_text(value.value)}"
        raise NotPossible(f"{value_text(to)} is not a choice of {value.name!r}; choose one of: {choices}")


def _common_value(declared: dict[int, RankValue], name: str, to: Value) -> Value:
    """Return the value that all ranks have, except those that have the new one already."""
    others = [value.value for value in declared.values() if not same_value(value.value, to)]
    if not others:
        raise NotPossible(f"{name!r} is {value_text(to)} already")
    if any(not same_value(value, others[0]) for value in others):
        raise NotPossible(f"the ranks have different values of {name!r}; set all of them to one that some have")
    return others[0]
