"""Sizes of micro-batches: the divisors of a rank's batch, so that all slices of a whole batch are equal."""

from __future__ import annotations

from math import isqrt


def divisors(per_rank: int) -> tuple[int, ...]:
    """Return the sizes that divide a batch into equal slices, the smallest first."""
    small = [size for size in range(1, isqrt(per_rank) + 1) if per_rank % size == 0]
    return tuple(sorted({*small, *(per_rank // size for size in small)}))


def halved(size: int, choices: tuple[int, ...]) -> int | None:
    """Return the largest size that needs at most half of the memory, or None at the smallest."""
    smaller = [choice for choice in choices if 2 * choice <= size]
    return max(smaller, default=None)


def at_most(size: int, choices: tuple[int, ...]) -> int:
    """Return the largest choice that is not above a size."""
    return max([choice for choice in choices if choice <= size], default=min(choices))


def limited(choices: tuple[int, ...], keep: int, most: int) -> tuple[int, ...]:
    """Return at most this number of choices, at least 2: every second one is left out, but never the one to keep."""
    others = [choice for choice in choices if choice != keep]
    while len(others) >= most:
        others = others[::2]
    return tuple(sorted([keep, *others]))
