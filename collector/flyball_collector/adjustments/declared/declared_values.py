"""The values that the ranks of a run declare, and one such value over all ranks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from flyball_collector.adjustments.adjustment import Value


class DeclaredValue(Protocol):
    """A value that one rank can change. Texts of the process are untrusted."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> Value: ...
    @property
    def choices(self) -> tuple[Value, ...]: ...
    @property
    def safety(self) -> int: ...
    @property
    def when(self) -> str: ...
    @property
    def lever(self) -> str: ...
    @property
    def facts(self) -> Mapping[str, str]: ...
    @property
    def blocked(self) -> str: ...


class DeclaringRank(Protocol):
    """A rank that declared values."""

    @property
    def rank(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def values(self) -> Mapping[str, DeclaredValue]: ...


class DeclaringRun(Protocol):
    """The ranks of one attempt of a run, in order."""

    @property
    def run(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def world_size(self) -> int: ...
    @property
    def register(self) -> str: ...
    @property
    def step_seconds(self) -> float | None: ...
    @property
    def ranks(self) -> Sequence[DeclaringRank]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedValue:
    """One value over all ranks of a run. `choices` are those of every rank."""

    name: str
    lever: str
    by_rank: Mapping[int, Value]
    choices: tuple[Value, ...]
    safety: int  # the highest class of any rank
    when: str
    facts: Mapping[str, str]  # those on which all ranks agree
    facts_of_ranks: tuple[Mapping[str, str], ...] = ()
    blocked: str = ""  # why a rank cannot change it now
    by_host: Mapping[str, int]  # ranks of each host

    @property
    def now(self) -> Value:
        """The value of most ranks; of equally many, the smallest."""
        counts = Counter(self.by_rank.values())
        return min(counts, key=lambda value: (-counts[value], str(type(value)), value))

    @property
    def differs(self) -> bool:
        """Return True if ranks have different values: one of them changed it after it ran out of memory."""
        return len(set(self.by_rank.values())) > 1

    @property
    def number(self) -> float:
        """The value as a number; 0 if it is none."""
        return number_of(self.now)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The choices that are numbers, smallest first."""
        return tuple(sorted(number_of(choice) for choice in self.choices if is_number(choice)))

    def choice(self, number: float) -> Value | None:
        """Return the choice with this number."""
        return next((choice for choice in self.choices if is_number(choice) and number_of(choice) == number), None)

    def below(self, limit: float) -> float | None:
        """Return the largest choice below a number."""
        return max((each for each in self.numbers if each < limit), default=None)

    def above(self, limit: float) -> float | None:
        """Return the smallest choice above a number."""
        return min((each for each in self.numbers if each > limit), default=None)

    def at_most(self, limit: float) -> float | None:
        """Return the largest choice that is not above a number."""
        return max((each for each in self.numbers if each <= limit), default=None)

    def at_least(self, limit: float) -> float | None:
        """Return the smallest choice that is not below a number; the largest one if all are below."""
        return min((each for each in self.numbers if each >= limit), default=max(self.numbers, default=None))

    def fact(self, name: str) -> float | None:
        """Return a fact on which all ranks agree, if it is a number that is not negative; unknown otherwise."""
        return _fact(self.facts, name)

    def measured(self, name: str) -> list[float]:
        """Return a fact that each rank has measured, of the ranks that know it, the smallest first."""
        return sorted(found for facts in self.facts_of_ranks if (found := _fact(facts, name)) is not None)


def _fact(facts: Mapping[str, str], name: str) -> float | None:
    try:
        found = float(facts.get(name, ""))
    except ValueError:
        return None
    return found if 0.0 <= found < float("inf") else None


def is_number(value: Value) -> bool:
    """Return True for a number. A truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def number_of(value: Value) -> float:
    """Return a number as a float; 0 for anything else."""
    return float(value) if is_number(value) else 0.0


def shared_values(run: DeclaringRun) -> Iterator[SharedValue]:
    """Yield the values that every rank of the run declares, in the order of the first rank."""
    by_host = Counter(rank.host for rank in run.ranks)
    for name in run.ranks[0].values if run.ranks else ():
        found = _shared(run, name, by_host)
        if found is not None:
            yield found


def shared_value(run: DeclaringRun, name: str) -> SharedValue | None:
    """Return one value over all ranks; None if a rank does not declare it, or as another lever."""
    return _shared(run, name, Counter(rank.host for rank in run.ranks)) if run.ranks else None


def _shared(run: DeclaringRun, name: str, by_host: Mapping[str, int]) -> SharedValue | None:
    declared = [rank.values[name] for rank in run.ranks if name in rank.values]
    if len(declared) < len(run.ranks):
        return None
    first = declared[0]
    kinds = [first, *(value for value in declared if not _alike(value, first))]  # usually one
    if any(value.lever != first.lever for value in kinds):
        return None
    return SharedValue(
        name=name,
        lever=first.lever,
        by_rank={rank.rank: value.value for rank, value in zip(run.ranks, declared, strict=True)},
        choices=tuple(choice for choice in first.choices if all(choice in value.choices for value in kinds)),
        safety=max(value.safety for value in kinds),
        when=first.when,
        facts={key: text for key, text in first.facts.items() if all(v.facts.get(key) == text for v in kinds)},
        facts_of_ranks=tuple(value.facts for value in kinds),
        blocked=next((value.blocked for value in kinds if value.blocked), ""),
        by_host=by_host,
    )


def _alike(one: DeclaredValue, other: DeclaredValue) -> bool:
    """Return True if two ranks declare the same."""
    return one is other or (
        (one.value, one.choices, one.safety, one.lever, one.blocked)
        == (other.value, other.choices, other.safety, other.lever, other.blocked)
        and one.facts == other.facts
    )
