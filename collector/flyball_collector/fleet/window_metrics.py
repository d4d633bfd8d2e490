"""The metrics whose last five minutes stay in memory: those that limit a training or predict its end."""

WINDOW_METRICS: tuple[str, ...] = (
    # processor
    "cpu_busy_ratio",
    "cpu_frequency_mean_hertz",
    "tasks_blocked",
    "pressure_seconds_total",
    "training_cpu_seconds_total",
    "training_worker_cpu_seconds_total",
    # memory
    "memory_available_bytes",
    "memory_used_ratio",
    "memory_major_faults_total",
    "swap_used_bytes",
    "swap_in_bytes_total",
    "swap_out_bytes_total",
    "shared_memory_used_ratio",
    "cgroup_memory_used_ratio",
    "cgroup_cpu_throttled_seconds_total",
    # disks and networks
    "disk_read_bytes_total",
    "disk_written_bytes_total",
    "disk_busy_seconds_total",
    "network_received_bytes_total",
    "network_sent_bytes_total",
    "infiniband_received_bytes_total",
    "infiniband_sent_bytes_total",
    "latency_seconds",
    # accelerators: ten rows each
    "gpu_utilization_ratio",
    "gpu_sm_active_ratio",
    "gpu_tensor_active_ratio",
    "gpu_dram_active_ratio",
    "gpu_memory_used_bytes",
    "gpu_power_watts",
    "gpu_temperature_celsius",
    "gpu_sm_clock_hertz",
    "gpu_pcie_receive_bytes_total",
    "gpu_nvlink_receive_bytes_total",
)
