"""What the names of a step's sections say: a rank's own work, waiting for other ranks, or a mixture of both."""

from functools import cache

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
