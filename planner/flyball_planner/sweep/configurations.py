"""The configurations of a sweep: every combination of some values."""

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flyball_reports.errors import InputError

Value = int | float | str | bool

DEPTHS = range(3, 11)
CHUNK_SIZES = range(5, 26)
QUICK_SAMPLES = 100  # per run; up to 1,000 are still quick
MOST_CONFIGURATIONS = 100_000
ORDER_SEED = 20_240_901


@dataclass(frozen=True, slots=True)
class SweepConfiguration(Mapping[str, Value]):
    """Named values. Configurations with the same values are equal, whatever their order."""

    values_by_name: tuple[tuple[str, Value], ...]

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> "SweepConfiguration":
        """Create a configuration from a mapping."""
        return cls(tuple(sorted(values.items())))

    def __getitem__(self, name: str) -> Value:
        return dict(self.values_by_name)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values_by_name)


def grid(values: Mapping[str, Iterable[Value]]) -> tuple[SweepConfiguration, ...]:
    """Return every combination; the last name varies fastest.

    >>> [str(each) for each in grid({"depth": [3, 4], "chunk_size": [5, 10]})]
    ['chunk_size=5 depth=3', 'chunk_size=10 depth=3', 'chunk_size=5 depth=4', 'chunk_size=10 depth=4']
    """
    choices = {name: each if isinstance(each, range) else tuple(each) for name, each in values.items()}
    empty = [name for name, each in choices.items() if not each]
    if empty or not choices:
        raise InputError(f"a sweep needs at least one value for each name; missing: {', '.join(empty) or 'names'}")
    for name, each in choices.items():
        _check_distinct(name, each)
    count = 1
    for each in choices.values():
        count *= len(each)
    if count > MOST_CONFIGURATIONS:
        raise InputError(f"{count:,} configurations exceed the limit of {MOST_CONFIGURATIONS:,}; pass fewer values")
    combined = itertools.product(*choices.values())
    return tuple(SweepConfiguration.of(dict(zip(choices, each, strict=True))) for each in combined)


def _check_distinct(name: str, values: Sequence[Value]) -> None:
    """Raise `InputError` if a value is given twice; 1 and 1.0 are the same."""
    seen: set[Value] = set()
    for value in () if isinstance(values, range) else values:
        if value in seen:
            raise InputError(
                f"{name} has the value {value} twice, so the same configuration would run twice; remove one"
            )
        seen.add(value)


def usual_grid(
    depths: Sequence[int] = DEPTHS, chunk_sizes: Sequence[int] = CHUNK_SIZES, samples: int = QUICK_SAMPLES
) -> tuple[SweepConfiguration, ...]:
    """Return depths and chunk sizes of a hierarchical learner; by default 168 quick runs."""
    return grid({"depth": depths, "chunk_size": chunk_sizes, "samples": [samples]})


def shuffled(configurations: Sequence[SweepConfiguration]) -> list[SweepConfiguration]:
    """Return the configurations in a random order, the same each time, so that a slow minute is not taken for the
    effect of a value.

    >>> [each["depth"] for each in shuffled(grid({"depth": range(6)}))]
    [4, 3, 2, 1, 5, 0]
    """
    return random.Random(ORDER_SEED).sample(configurations, len(configurations))  # noqa: S311  not for secrets
