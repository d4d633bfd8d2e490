"""The base formula: four limits, and how close the use of each resource is to its limit. It needs no package."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

BASE_NAMES = ("cpu", "memory", "disk", "network")

CPU_BUSY = 0.8
"""Busy share of all CPUs at which the score of the CPU is 1."""

MEMORY_USED = 0.75
"""Used share of RAM at which the score of memory is 1."""

DISK_BYTES_PER_SECOND = 50e6
"""Rate of writes at which the score of the disk is 1."""

LATENCY_SECONDS = 0.1
"""Round-trip time at which the score of the network is 1."""


class Divisible(Protocol):
    """A number, or an array of numbers."""

    def __truediv__(self, other: Any, /) -> Any:
        """Return the quotient."""


Amount = TypeVar("Amount", bound=Divisible)


def base_score(value: Amount, limit: object, least: Callable[[Amount, float], Amount]) -> Amount:
    """Return min(1, value ÷ limit). `least` is `min` for numbers, and `numpy.minimum` for arrays (NaN is unknown)."""
    return least(value / limit, 1.0)


def base_bottleneck(scores: Mapping[str, float | None]) -> tuple[str, float]:
    """Return the name of the largest score and its value, which is the confidence; an empty name if all are unknown."""
    known = {name: score for name, score in scores.items() if score is not None}
    largest = max(known, key=lambda name: known[name], default="")
    return largest, known.get(largest, 0.0)
