"""One sample of a profile: what the process tree and the machine used at one moment."""

from dataclasses import dataclass

MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class LevelRate:
    """The speed of one level of a hierarchical learner."""

    level: str
    items_per_second: float


@dataclass(frozen=True, slots=True)
class ResourceSnapshot:
    """Values at one moment; None is unknown. Percentages cover the time since the snapshot before.

    `cpu_percent` is the process tree's: 100 is one core. `machine_cpu_percent` and the values per core are those of all
    processes: 100 is everything. Bytes and operations of disks count from the start of the profile.
    """

    time: float
    elapsed_seconds: float
    cpu_percent: float | None = None
    machine_cpu_percent: float | None = None
    cpu_percent_per_core: tuple[float, ...] | None = None
    memory_bytes: int | None = None
    machine_memory_percent: float | None = None
    disk_read_bytes: int | None = None
    disk_write_bytes: int | None = None
    disk_read_operations: int | None = None
    disk_write_operations: int | None = None
    processes: int | None = None
    threads: int | None = None
    gpu_memory_bytes: tuple[int, ...] | None = None
    tree_gpu_memory_bytes: int | None = None
    api_latency_seconds: float | None = None
    localhost_latency_seconds: float | None = None
    level_rates: tuple[LevelRate, ...] = ()

    @property
    def memory_mb(self) -> float | None:
        """Resident memory of the process tree in megabytes (10⁶ bytes)."""
        return None if self.memory_bytes is None else self.memory_bytes / MEGABYTE
