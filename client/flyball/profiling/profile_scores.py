"""The base scores of a profile: the formula of the collector, over the whole profile."""

from typing import NamedTuple

from flyball_planner.base_formula import (
    BASE_NAMES,
    CPU_BUSY,
    DISK_BYTES_PER_SECOND,
    LATENCY_SECONDS,
    MEMORY_USED,
    base_score,
)


class ResourceUse(NamedTuple):
    """The use of the machine, and of what the program may use of it. None is unknown.

    CPU, rates and latency are means over the profile; memory is the peak, because it is exceeded only once.
    """

    machine_cpu_percent: float | None = None
    own_cpu_ratio: float | None = None
    machine_memory_percent: float | None = None
    group_memory_ratio: float | None = None
    disk_write_rate: float | None = None
    own_write_rate: float | None = None
    latency_ms: float | None = None


def base_scores(use: ResourceUse) -> dict[str, float | None]:
    """Return the score of each resource: the larger of the machine's and the program's own."""
    scores = (
        (_ratio(use.machine_cpu_percent), use.own_cpu_ratio, CPU_BUSY),
        (_ratio(use.machine_memory_percent), use.group_memory_ratio, MEMORY_USED),
        (use.disk_write_rate, use.own_write_rate, DISK_BYTES_PER_SECOND),
        (None, use.latency_ms, LATENCY_SECONDS * 1000),
    )
    return {name: _score(*values) for name, values in zip(BASE_NAMES, scores, strict=True)}


def _ratio(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _score(machine: float | None, own: float | None, limit: float) -> float | None:
    known = [value for value in (machine, own) if value is not None]
    return base_score(max(known), limit, min) if known else None
