"""The shares of a GPU's time in some steps, from the times of its kernels and copies."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Span = tuple[float, float]
Activity = tuple[str, float, float]
"""The name of a kernel or copy, its begin and its end."""


def activity_facts(activities: Sequence[Activity], window: float) -> dict[str, float]:
    """Return the shares of a window in which kernels ran, and in which only an exchange or a copy did.

    All times have the same unit. The window is the time of the steps on the host: the GPU lags behind, but in a steady
    training it takes as long.
    """
    if window <= 0:
        return {}
    copies = union((begin, end) for name, begin, end in activities if name.startswith(("Memcpy", "Memset")))
    exchanges = union((begin, end) for name, begin, end in activities if "nccl" in name.lower())
    computing = union(
        (begin, end)
        for name, begin, end in activities
        if "nccl" not in name.lower() and not name.startswith(("Memcpy", "Memset"))
    )
    kernels = union([*computing, *exchanges])
    return {
        "gpu_busy_ratio": _share(length(kernels), window),
        "communication_ratio": _share(length(kernels) - length(computing), window),
        "transfer_wait_ratio": _share(length(union([*kernels, *copies])) - length(kernels), window),
    }


def host_bound(facts: dict[str, float]) -> float | None:
    """Return the share of the step in which the GPU waited for the host, and nothing else explains its idleness."""
    if "gpu_busy_ratio" not in facts:
        return None
    others = ("gpu_busy_ratio", "data_wait_ratio", "service_wait_ratio", "checkpoint_ratio", "transfer_wait_ratio")
    return max(0.0, 1.0 - sum(facts.get(name, 0.0) for name in others))


def union(spans: Iterable[Span]) -> list[Span]:
    """Return spans that do not overlap and cover the same time."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end > begin:
            found.append((begin, end))
    return found


def length(spans: Iterable[Span]) -> float:
    """Return the time that spans cover, which must not overlap."""
    return sum(end - begin for begin, end in spans)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole))
