"""Classifies a step's sections by name: the rank's own work, waiting for other ranks, or a mixture."""

import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_WAITING = (
    "collective",
    "communicat",
    "all_reduce",
    "allreduce",
    "all_gather",
    "allgather",
    "reduce_scatter",
    "barrier",
)
_WAITING_WORDS = frozenset({"sync", "wait", "comm", "nccl", "broadcast"})
_MIXED = ("backward", "optim", "step", "update", "checkpoint", "eval", "valid", "log", "save")
"""The backward pass and the optimizer step contain collectives; the others are not part of every step."""


@cache
def is_waiting(name: str) -> bool:
    """Return True for a section in which a rank waits for other ranks."""
    word = name.lower()
    return any(part in word for part in _WAITING) or not _WAITING_WORDS.isdisjoint(word.replace("-", "_").split("_"))


@cache
def is_input(name: str) -> bool:
    """Return True for a section in which a step waits for input. It is own work, because no other rank delays it."""
    return name.lower().startswith(("data", "input", "load"))


@cache
def is_own(name: str) -> bool:
    """Return True for a section that no other rank can delay."""
    word = name.lower()
    return is_input(name) or not (is_waiting(name) or any(part in word for part in _MIXED))


def split(maps: Sequence[Mapping[str, float]], steps: Floats, waits: Floats) -> tuple[Floats, Floats]:
    """Return the seconds of own work and of waiting for others in each report; unknown where no section shows it.

    `steps` and `waits` are the seconds of its steps, and of their waits for input.
    """
    own, data, waiting, kinds = np.array([_parts(sections) for sections in maps]).T
    own = own + np.maximum(data, waits)  # count a section for the input only once
    own = np.where(kinds >= _HAS_OWN, own, np.where(kinds >= _HAS_WAITING, np.maximum(0.0, steps - waiting), np.nan))
    return own, np.where(kinds % _HAS_OWN >= _HAS_WAITING, waiting, np.nan)


_HAS_WAITING, _HAS_OWN = 1.0, 2.0


def _parts(sections: Mapping[str, float]) -> tuple[float, float, float, float]:
    """Return the seconds of own work without input, of input, and of waiting, and which kinds of sections exist."""
    own = data = waiting = kinds_own = kinds_waiting = 0.0
    for name in sections:  # by key: the fastest way for a protobuf map
        seconds = sections[name]
        if not 0 <= seconds < math.inf:
            continue
        if is_waiting(name):
            waiting += seconds
            kinds_waiting = _HAS_WAITING
        elif is_own(name):
            kinds_own = _HAS_OWN
            if is_input(name):
                data += seconds
            else:
                own += seconds
    return own, data, waiting, kinds_own + kinds_waiting
