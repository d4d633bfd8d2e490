"""The result of a profile."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ProfilingSummary:
    """The resources that a program used while it was profiled. None is unknown; `unavailable` has the reasons.

    Megabytes are 10⁶ bytes. CPU is that of the whole process tree, 100 is one core; `machine_…` and the values per core
    are those of all processes. Memory is resident memory: pages that processes share count for each of them.
    """

    duration_seconds: float
    sampling_interval: float
    snapshots: int
    samples: int | None = None
    peak_memory_mb: float | None = None
    memory_avg_mb: float | None = None
    memory_per_sample_mb: float | None = None
    """Growth of the memory from the start to the peak, divided by the samples."""
    cpu_seconds: float | None = None
    cpu_avg_percent: float | None = None
    machine_cpu_avg_percent: float | None = None
    cpu_avg_percent_per_core: tuple[float, ...] | None = None
    allowed_cpus: float | None = None
    machine_memory_peak_percent: float | None = None
    disk_read_bytes: int | None = None
    disk_write_bytes: int | None = None
    disk_read_operations: int | None = None
    disk_write_operations: int | None = None
    api_latency_ms: float | None = None
    api_latency_p95_ms: float | None = None
    localhost_latency_ms: float | None = None
    localhost_latency_p95_ms: float | None = None
    peak_gpu_memory_mb: float | None = None
    """Of the process tree on all GPUs; if that is unknown, of all processes."""
    peak_processes: int = 0
    peak_threads: int = 0
    learning_rate_per_level: dict[str, float] = field(default_factory=dict)
    """Items a second."""
    base_scores: dict[str, float | None] = field(default_factory=dict)
    primary_bottleneck: str = ""
    bottleneck_confidence: float = 0.0
    profiler_cpu_percent: float | None = None
    """CPU of the profiler itself; 100 is one core."""
    unavailable: dict[str, str] = field(default_factory=dict)
