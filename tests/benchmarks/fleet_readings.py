"""The metrics that the benchmarks' hosts send, each with a usual level (counters: per second)."""

from collections.abc import Iterator, Sequence

from flyball_proto.layout import Column
from flyball_proto.metric import Kind, Metric

GPUS, CORES = 8, 64
EXACT = (
    "total_bytes",
    "limit",
    "slowdown",
    "_max",
    "state",
    "generation",
    "lanes",
    "links",
    "threads",
    "speed",
    "rate_",
)
"""Parts of the names of readings that do not waver."""

Labels = Sequence[tuple[tuple[str, str], ...]]

_PRESSURES: Labels = [(("resource", r), ("extent", e)) for r in ("cpu", "io", "memory") for e in ("some", "full")]
_DISKS: Labels = [(("device", name),) for name in ("nvme0n1", "nvme1n1")]
_LINKS: Labels = [(("interface", "eth0"),)]
_PORTS: Labels = [(("device", f"mlx5_{n}"), ("port", "1")) for n in range(2)]
_MOUNTS: Labels = [(("mount", "/"),), (("mount", "/data"),)]
_NODES: Labels = [(("node", str(n)),) for n in range(2)]
_WAITS: Labels = [(("what", what),) for what in ("disk", "remote", "memory", "socket", "poll", "process", "other")]

HOST_LEVELS: tuple[tuple[str, float], ...] = (
    ("cpu_busy_ratio", 0.4), ("cpu_threads_online", CORES), ("tasks_runnable", 20), ("tasks_blocked", 0),
    ("memory_total_bytes", 1e12), ("memory_available_bytes", 6e11), ("memory_used_bytes", 4e11),
    ("memory_used_ratio", 0.4), ("swap_total_bytes", 0), ("swap_used_bytes", 0), ("swap_in_bytes_total", 0),
    ("swap_out_bytes_total", 0), ("memory_major_faults_total", 5), ("oom_kills_total", 0),
    ("reclaim_direct_pages_total", 0), ("shared_memory_used_ratio", 0.1), ("shared_memory_total_bytes", 5e11),
    ("shared_memory_used_bytes", 5e10), ("tcp_sent_segments_total", 5000), ("tcp_retransmitted_segments_total", 1),
    ("training_processes", 4), ("training_workers", 4), ("training_run_seconds_total", 3.0),
    ("training_delay_seconds_total", 0.1), ("training_cpu_seconds_total", 4.0),
    ("training_worker_cpu_seconds_total", 1.0), ("training_worker_delay_seconds_total", 0.1),
    ("training_major_faults_total", 1), ("training_read_bytes_total", 1e8), ("training_connections", 8),
    ("training_sent_segments_total", 20), ("training_received_bytes_total", 1e6),
    ("training_retransmitted_segments_total", 0), ("training_disordered_segments_total", 0),
    ("training_round_trip_seconds", 0.001), ("training_least_round_trip_seconds", 0.001),
)  # fmt: skip
RESOURCE_LEVELS: tuple[tuple[str, float, Labels], ...] = (
    ("pressure_seconds_total", 0.02, _PRESSURES),
    ("disk_read_bytes_total", 3e8, _DISKS), ("disk_written_bytes_total", 5e6, _DISKS),
    ("disk_busy_seconds_total", 0.1, _DISKS), ("disk_queue_seconds_total", 0.4, _DISKS),
    ("disk_reads_total", 900, _DISKS), ("disk_writes_total", 40, _DISKS),
    ("disk_read_seconds_total", 0.3, _DISKS), ("disk_write_seconds_total", 0.02, _DISKS),
    ("filesystem_total_bytes", 4e12, _MOUNTS), ("filesystem_available_bytes", 2e12, _MOUNTS),
    ("filesystem_used_bytes", 2e12, _MOUNTS), ("filesystem_used_ratio", 0.5, _MOUNTS),
    ("network_received_bytes_total", 1e8, _LINKS), ("network_sent_bytes_total", 1e8, _LINKS),
    ("network_received_packets_total", 1e5, _LINKS), ("network_sent_packets_total", 1e5, _LINKS),
    ("network_received_errors_total", 0, _LINKS), ("network_received_drops_total", 0, _LINKS),
    ("network_speed_bytes_per_second", 3.1e9, _LINKS),
    ("infiniband_received_bytes_total", 1e10, _PORTS), ("infiniband_sent_bytes_total", 1e10, _PORTS),
    ("infiniband_rate_bytes_per_second", 5e10, _PORTS), ("infiniband_link_downs_total", 0, _PORTS),
    ("latency_seconds", 0.0005, [(("target", "storage:443"),), (("target", "localhost"),)]),
    ("training_wait_seconds_total", 0.1, _WAITS), ("training_worker_wait_seconds_total", 0.1, _WAITS),
    ("numa_local_pages_total", 9e4, _NODES), ("numa_remote_pages_total", 1e3, _NODES),
    ("cpu_core_busy_seconds_total", 0.4, [(("core", str(n)),) for n in range(CORES)]),
)  # fmt: skip
GPU_LEVELS: tuple[tuple[str, float], ...] = (
    ("gpu_utilization_ratio", 0.95), ("gpu_memory_controller_utilization_ratio", 0.5),
    ("gpu_memory_used_bytes", 6e10), ("gpu_memory_reserved_bytes", 5e8), ("gpu_memory_total_bytes", 8.5e10),
    ("gpu_power_watts", 600), ("gpu_power_limit_watts", 700), ("gpu_temperature_celsius", 65),
    ("gpu_memory_temperature_celsius", 75), ("gpu_slowdown_temperature_celsius", 90), ("gpu_sm_clock_hertz", 1.9e9),
    ("gpu_sm_clock_max_hertz", 1.98e9), ("gpu_performance_state", 0), ("gpu_pcie_generation", 5),
    ("gpu_pcie_generation_max", 5), ("gpu_pcie_width_lanes", 16), ("gpu_pcie_width_max_lanes", 16),
    ("gpu_pcie_transmit_bytes_total", 1e9), ("gpu_pcie_receive_bytes_total", 2e9), ("gpu_nvlink_active_links", 18),
    ("gpu_nvlink_receive_bytes_total", 5e10), ("gpu_energy_joules_total", 600), ("gpu_xid_total", 0), ("gpu_lost", 0),
    ("gpu_ecc_corrected_errors_total", 0), ("gpu_ecc_uncorrected_errors_total", 0), ("gpu_row_remap_pending", 0),
    ("gpu_row_remap_failed", 0), ("gpu_sm_active_ratio", 0.7), ("gpu_tensor_active_ratio", 0.4),
    ("gpu_dram_active_ratio", 0.35),
)  # fmt: skip
GPU_REASONS = ("gpu_throttle_active", "gpu_throttle_seconds_total")
REASONS = ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake")


LOADED_HOST = frozenset((
    "cpu_busy_ratio", "cpu_threads_online", "tasks_runnable", "tasks_blocked", "memory_total_bytes",
    "memory_available_bytes", "memory_used_bytes", "memory_used_ratio", "swap_total_bytes", "swap_used_bytes",
    "swap_in_bytes_total", "swap_out_bytes_total", "memory_major_faults_total", "oom_kills_total",
    "reclaim_direct_pages_total", "shared_memory_used_ratio", "shared_memory_total_bytes", "shared_memory_used_bytes",
    "tcp_sent_segments_total", "tcp_retransmitted_segments_total", "pressure_seconds_total", "disk_read_bytes_total",
    "disk_written_bytes_total", "disk_busy_seconds_total", "filesystem_total_bytes", "filesystem_available_bytes",
    "filesystem_used_ratio", "network_received_bytes_total", "network_sent_bytes_total",
    "network_speed_bytes_per_second", "infiniband_received_bytes_total",
))  # fmt: skip
LOADED_GPU = frozenset((
    "gpu_utilization_ratio", "gpu_memory_used_bytes", "gpu_memory_total_bytes", "gpu_power_watts",
    "gpu_power_limit_watts", "gpu_temperature_celsius", "gpu_memory_temperature_celsius",
    "gpu_slowdown_temperature_celsius", "gpu_sm_clock_hertz", "gpu_sm_clock_max_hertz",
    "gpu_pcie_receive_bytes_total", "gpu_nvlink_receive_bytes_total", "gpu_energy_joules_total", "gpu_xid_total",
    "gpu_ecc_uncorrected_errors_total", "gpu_sm_active_ratio",
))  # fmt: skip
"""What the loaded fleet sends: 43 readings of a host, 16 of each GPU; `host_columns` has three times as many."""

_SCALES = {"bytes": 1, "celsius": 1, "hertz": 1, "seconds": 1000, "watts": 1000, "joules": 1000, "ratio": 10_000}
"""By unit, as agents declare them; counts are whole."""


def host_columns(host: int) -> Iterator[tuple[Column, float]]:
    """All that one host sends, with its usual level (a counter's: a second)."""
    for name, level in HOST_LEVELS:
        yield Column(_metric(name, ())), level
    for name, level, of in RESOURCE_LEVELS:
        for pairs in of:
            yield Column(_metric(name, tuple(k for k, _ in pairs)), tuple(v for _, v in pairs)), level
    for index in range(GPUS):
        gpu = (f"GPU-{host:08x}-{index:04x}", str(index))
        for name, level in GPU_LEVELS:
            yield Column(_metric(name, ("gpu", "index")), gpu), level
        for name in GPU_REASONS:
            for reason in REASONS:
                yield Column(_metric(name, ("gpu", "index", "reason")), (*gpu, reason)), 0.0


def loaded_columns(host: int) -> Iterator[tuple[Column, float]]:
    """Those of them that the loaded fleet sends."""
    sent = LOADED_HOST | LOADED_GPU
    return ((column, level) for column, level in host_columns(host) if column.metric.name in sent)


def wavers(column: Column) -> bool:
    """Return True if a reading changes each second."""
    return not any(part in column.metric.name for part in EXACT)


def deviation(column: Column) -> float:
    """By how much of its level a reading moves; what memories and file systems hold, and clocks, hardly do."""
    return {"bytes": 0.0003, "hertz": 0.0}.get(column.metric.unit, 0.03)


def _metric(name: str, labels: tuple[str, ...]) -> Metric:
    counts = name.endswith("_total")
    last = name.removesuffix("_total").rpartition("_")[2]
    kind = Kind.COUNTER if counts else Kind.GAUGE
    return Metric(name, kind, last if last in _SCALES else "", "Of the benchmark.", labels, _SCALES.get(last, 1))
