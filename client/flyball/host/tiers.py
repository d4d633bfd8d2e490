"""The class of a machine, by its cores, its memory and its accelerators."""

from collections.abc import Sequence

from flyball.host.hardware_parts import GIB, HostGpu, HostTier
from flyball_reports.figures import plural

_TIERS = (HostTier.LOW, HostTier.MEDIUM, HostTier.HIGH, HostTier.SERVER)
CORES = (4, 8, 32)
"""Physical cores from which a machine is MEDIUM, HIGH and SERVER."""

RAM_GIB = (7.0, 28.0, 120.0)
"""Memory likewise: machines sold with 8, 32 and 128 GB, of which the kernel shows up to a tenth less."""

GPU_GIB = (6.0, 12.0, 76.0)
"""Memory of all GPUs likewise: a small card, a card that trains models of 100 million parameters, and a card or
several with the memory of an A100 80GB."""


def tier_of(cores: int | None, ram_gib: float | None, gpus: Sequence[HostGpu]) -> tuple[HostTier, str]:
    """Return the class and its reason. More of anything never lowers it.

    The scarcer of cores and memory decides. GPUs raise it by one class: they need a machine that feeds them.
    """
    host = min(_level(cores, CORES), _level(ram_gib, RAM_GIB))
    own = [gpu for gpu in gpus if not gpu.unified_memory]
    gpu_gib = sum(gpu.memory_bytes or 0 for gpu in own) / GIB
    level = max(host, min(_level(gpu_gib, GPU_GIB), host + 1))
    parts = [plural(cores, "core")] if cores is not None else []
    parts += [f"{ram_gib:.0f} GiB of memory"] if ram_gib is not None else []
    parts += [f"{plural(len(own), 'GPU')} with {gpu_gib:.0f} GiB"] if own else ["no GPU with its own memory"]
    return _TIERS[level], ", ".join(parts)


def _level(value: float | None, steps: Sequence[float]) -> int:
    return sum(value >= step for step in steps) if value is not None else 0
