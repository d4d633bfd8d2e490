"""What a sweep tries: every combination of a few values."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flyball_reports.errors import InputError

Value = int | float | str | bool

DEPTHS = range(3, 11)
CHUNK_SIZES = range(5, 26)
QUICK_SAMPLES = 100  # of a run; up to 1,000 are still quick
MOST_CONFIGURATIONS = 100_000


@dataclass(frozen=True, slots=True)
class Configuration(Mapping[str, Value]):
    """Named values; equal ones are one configuration however they were ordered."""

    values_by_name: tuple[tuple[str, Value], ...]

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> "Configuration":
        """From a mapping."""
        return cls(tuple(sorted(values.items())))

    def __getitem__(self, name: str) -> Value:
        return dict(self.values_by_name)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values_by_name)


def grid(values: Mapping[str, Iterable[Value]]) -> tuple[Configuration, ...]:
    """Every combination, the last name varying fastest.

    >>> [str(each) for each in grid({"depth": [3, 4], "chunk_size": [5, 10]})]
    ['chunk_size=5 depth=3', 'chunk_size=10 depth=3', 'chunk_size=5 depth=4', 'chunk_size=10 depth=4']
    """
    choices = {name: each if isinstance(each, range) else tuple(each) for name, each in values.items()}
    empty = [name for name, each in choices.items() if not each]
    if empty or not choices:
        raise InputError(f"a sweep needs at least one value for each name; {', '.join(empty) or 'there is no name'}")
    count = 1
    for each in choices.values():
        count *= len(each)
    if count > MOST_CONFIGURATIONS:
        raise InputError(f"{count:,} configurations are more than {MOST_CONFIGURATIONS:,}; give fewer values")
    combined = itertools.product(*choices.values())
    return tuple(Configuration.of(dict(zip(choices, each, strict=True))) for each in combined)


def usual_grid(
    depths: Sequence[int] = DEPTHS, chunk_sizes: Sequence[int] = CHUNK_SIZES, samples: int = QUICK_SAMPLES
) -> tuple[Configuration, ...]:
    """Depths and chunk sizes of a hierarchical learner: 168 quick runs unless told otherwise."""
    return grid({"depth": depths, "chunk_size": chunk_sizes, "samples": [samples]})
