"""Classifies the sections of a step by the names that trainings give them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

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


_SHARED = ("service", "communication", "checkpoint", "sync")


@lru_cache(maxsize=4096)
def part_of(name: str) -> str:
    """Return the part of the step that a section belongs to; an empty string means computing."""
    word = name.lower()
    return next((part for part, words in _WORDS if any(one in word for one in words)), "")


class Shares(NamedTuple):
    """Shares of the time of some steps, and seconds a step; `None` is unknown."""

    data: float | None = None
    service: float | None = None
    communication: float | None = None
    checkpoint: float | None = None
    sync: float | None = None
    compute_seconds: float | None = None
    data_seconds: float | None = None
    service_seconds: float | None = None


def shares(
    sections: Mapping[str, float], steps: int, step_seconds: float, data_wait_seconds: float | None
) -> Shares | None:
    """Compute the shares from one report, or return None if no time passed."""
    if not step_seconds > 0:
        return None
    parts: dict[str, float] = {}
    for name in sections:  # by key, the fastest way for a protobuf map
        part = part_of(name)
        parts[part] = parts.get(part, 0.0) + sections[name]
    data = data_wait_seconds if data_wait_seconds is not None else parts.get("data")
    share = None if data is None else min(1.0, max(0.0, data / step_seconds))
    data_seconds = data / steps if data is not None and steps else None
    if not parts:
        return Shares(data=share, data_seconds=data_seconds)
    service, communication, checkpoint, sync = (
        min(1.0, max(0.0, parts[part] / step_seconds)) if part in parts else 0.0 for part in _SHARED
    )
    compute_seconds = parts[""] / steps if parts.get("", 0.0) > 0 and steps else None
    service_seconds = parts["service"] / steps if "service" in parts and steps else None
    return Shares(share, service, communication, checkpoint, sync, compute_seconds, data_seconds, service_seconds)
