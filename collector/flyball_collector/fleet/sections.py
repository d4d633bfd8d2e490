"""What the names of a step's sections say: a rank's own work, waiting for other ranks, or a mixture of both."""

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
"""The backward pass and the optimiser's step hold collectives; the others are no part of every step."""


@cache
def is_waiting(name: str) -> bool:
    """A section in which a rank waits for the others."""
    word = name.lower()
    return any(part in word for part in _WAITING) or not _WAITING_WORDS.isdisjoint(word.replace("-", "_").split("_"))


@cache
def is_input(name: str) -> bool:
    """A section in which a step waits for its input; it is its own work, as no other rank holds it up."""
    return name.lower().startswith(("data", "input", "load"))


@cache
def is_own(name: str) -> bool:
    """A section that no other rank holds up."""
    word = name.lower()
    return is_input(name) or not (is_waiting(name) or any(part in word for part in _MIXED))


def split(maps: Sequence[Mapping[str, float]], steps: Floats, waits: Floats) -> tuple[Floats, Floats]:
    """Seconds of a rank's own work and of its waiting for others in each report; unknown where no section says so.

    `steps`, `waits`: seconds of its steps, and of those in which they waited for input.
    """
    own, data, waiting, kinds = np.array([_parts(sections) for sections in maps]).T
    own = own + np.maximum(data, waits)  # a section for the input counts once
    own = np.where(kinds >= _OWN, own, np.where(kinds >= _WAITS, np.maximum(0.0, steps - waiting), np.nan))
    return own, np.where(kinds % _OWN >= _WAITS, waiting, np.nan)


_WAITS, _OWN = 1.0, 2.0


def _parts(sections: Mapping[str, float]) -> tuple[float, float, float, float]:
    """Seconds of own work without the input, of the input, of waiting; and which of them were named."""
    own = data = waiting = kinds_own = kinds_waiting = 0.0
    for name in sections:  # by key: a message's map has no faster way
        seconds = sections[name]
        if not 0 <= seconds < math.inf:
            continue
        if is_waiting(name):
            waiting += seconds
            kinds_waiting = _WAITS
        elif is_own(name):
            kinds_own = _OWN
            if is_input(name):
                data += seconds
            else:
                own += seconds
    return own, data, waiting, kinds_own + kinds_waiting
