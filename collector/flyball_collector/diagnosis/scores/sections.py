"""What the sections of a step are for, by the names that trainings give them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

PARTS = ("data", "service", "communication", "checkpoint", "sync", "aside")
"""What is none of these is computing."""

_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("checkpoint", ("checkpoint", "save")),
    ("aside", ("eval", "valid", "log")),
    (
        "communication",
        ("collective", "communicat", "allreduce", "all_reduce", "allgather", "all_gather", "reduce_scatter",
         "nccl", "barrier", "broadcast", "gradient_sync"),
    ),
    ("service", ("service", "rpc", "call", "request", "query", "http", "database", "mongo", "redis", "api")),
    ("sync", ("synchron", "sync", "item")),
    ("data", ("data", "input", "load", "fetch", "next")),
)  # fmt: skip


@lru_cache(maxsize=4096)
def part_of(name: str) -> str:
    """One of `PARTS`; empty where it is computing."""
    word = name.lower()
    return next((part for part, words in _WORDS if any(one in word for one in words)), "")


class Shares(NamedTuple):
    """Shares of the time of some steps, and how long some things took in each; `None` is unknown."""

    data: float | None = None
    service: float | None = None
    communication: float | None = None
    checkpoint: float | None = None
    sync: float | None = None
    compute_seconds: float | None = None
    data_seconds: float | None = None


def shares(
    sections: Mapping[str, float], steps: int, step_seconds: float, data_wait_seconds: float | None
) -> Shares | None:
    """From one report; nothing where no time passed."""
    if not step_seconds > 0:
        return None
    parts = dict.fromkeys(PARTS, 0.0)
    computing = 0.0
    for name, seconds in sections.items():
        part = part_of(name)
        if part:
            parts[part] += seconds
        else:
            computing += seconds
    data = data_wait_seconds
    if data is None and any(part_of(name) == "data" for name in sections):
        data = parts["data"]
    found = Shares(data=_share(data, step_seconds), data_seconds=data / steps if data is not None and steps else None)
    if not sections:
        return found
    return found._replace(
        service=_share(parts["service"], step_seconds),
        communication=_share(parts["communication"], step_seconds),
        checkpoint=_share(parts["checkpoint"], step_seconds),
        sync=_share(parts["sync"], step_seconds),
        compute_seconds=computing / steps if computing > 0 and steps else None,
    )


def _share(seconds: float | None, of: float) -> float | None:
    return None if seconds is None else min(1.0, max(0.0, seconds / of))
