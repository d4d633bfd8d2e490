"""The metrics of accelerators of all vendors. `gpu` is the UUID, `index` the number on this host."""

from dataclasses import dataclass

from flyball_proto.metric import Metric, counter, gauge, state

GPU = ("gpu", "index")
REASON = (*GPU, "reason")
CAUSE = (*GPU, "cause")
KIND = (*GPU, "kind")
SLICE = (*GPU, "instance")

UTILIZATION = gauge(
    "gpu_utilization_ratio", "ratio", "Share of the driver's sampling period in which a kernel ran.", GPU, 100
)
MEMORY_BUSY = gauge(
    "gpu_memory_controller_utilization_ratio",
    "ratio",
    "Share of the driver's sampling period in which memory was read or written.",
    GPU,
    100,
)
MEMORY_USED = gauge("gpu_memory_used_bytes", "bytes", "Memory used by processes.", GPU)
MEMORY_RESERVED = gauge("gpu_memory_reserved_bytes", "bytes", "Memory reserved by the driver.", GPU)
MEMORY_TOTAL = gauge("gpu_memory_total_bytes", "bytes", "Total memory of the device.", GPU)
POWER = gauge("gpu_power_watts", "watts", "Power drawn by the board.", GPU, 1000)
POWER_LIMIT = gauge("gpu_power_limit_watts", "watts", "Power limit in force.", GPU, 1000)
ENERGY = counter("gpu_energy_joules_total", "joules", "Energy used since the driver was loaded.", GPU, 1000)
TEMPERATURE = gauge("gpu_temperature_celsius", "celsius", "Core temperature.", GPU, 10)
MEMORY_TEMPERATURE = gauge("gpu_memory_temperature_celsius", "celsius", "Memory temperature.", GPU, 10)
SLOWDOWN_TEMPERATURE = gauge(
    "gpu_slowdown_temperature_celsius", "celsius", "Core temperature at which the hardware slows down.", GPU, 10
)
TEMPERATURE_MARGIN = gauge(
    "gpu_temperature_margin_celsius",
    "celsius",
    "Degrees left until the hardware slows down because of heat.",
    GPU,
    10,
)
FAN = gauge("gpu_fan_speed_ratio", "ratio", "Fan speed as a share of its maximum.", GPU, 100)
SM_CLOCK = gauge("gpu_sm_clock_hertz", "hertz", "Clock of the compute units (SMs).", GPU)
SM_CLOCK_MAX = gauge("gpu_sm_clock_max_hertz", "hertz", "Highest clock of the compute units (SMs).", GPU)
MEMORY_CLOCK = gauge("gpu_memory_clock_hertz", "hertz", "Clock of the memory.", GPU)
PERFORMANCE_STATE = gauge("gpu_performance_state", "state", "Performance state (P-state): 0 is the fastest.", GPU)
THROTTLED = gauge("gpu_throttle_active", "boolean", "1 while clocks are throttled for this reason.", REASON)
THROTTLE_SECONDS = counter(
    "gpu_throttle_seconds_total", "seconds", "Time in which clocks were throttled for this reason.", REASON, 1_000_000
)
PCIE_GENERATION = gauge(
    "gpu_pcie_generation", "generation", "Current PCIe generation. It falls when the GPU is idle.", GPU
)
PCIE_GENERATION_MAX = gauge(
    "gpu_pcie_generation_max", "generation", "Highest PCIe generation that GPU and slot both support.", GPU
)
PCIE_WIDTH = gauge("gpu_pcie_width_lanes", "lanes", "PCIe lanes in use.", GPU)
PCIE_WIDTH_MAX = gauge("gpu_pcie_width_max_lanes", "lanes", "Most PCIe lanes that GPU and slot both support.", GPU)
PCIE_TRANSMIT = counter("gpu_pcie_transmit_bytes_total", "bytes", "Bytes sent over PCIe.", GPU)
PCIE_RECEIVE = counter("gpu_pcie_receive_bytes_total", "bytes", "Bytes received over PCIe.", GPU)
PCIE_REPLAYS = counter("gpu_pcie_replays_total", "replays", "PCIe packets that had to be sent again.", GPU)
NVLINK_LINKS = gauge("gpu_nvlink_links", "links", "NVLinks of the device.", GPU)
NVLINK_ACTIVE = gauge("gpu_nvlink_active_links", "links", "NVLinks that are up.", GPU)
NVLINK_TRANSMIT = counter("gpu_nvlink_transmit_bytes_total", "bytes", "Payload sent over all NVLinks.", GPU)
NVLINK_RECEIVE = counter("gpu_nvlink_receive_bytes_total", "bytes", "Payload received over all NVLinks.", GPU)
NVLINK_ERRORS = counter("gpu_nvlink_errors_total", "errors", "Errors on all NVLinks.", KIND)
ECC_ENABLED = gauge("gpu_ecc_enabled", "boolean", "1 if the memory's error correction (ECC) is on.", GPU)
ECC_CORRECTED = counter(
    "gpu_ecc_corrected_errors_total", "errors", "Memory errors corrected since the driver was loaded.", GPU
)
ECC_UNCORRECTED = counter(
    "gpu_ecc_uncorrected_errors_total", "errors", "Memory errors not corrected since the driver was loaded.", GPU
)
ECC_CORRECTED_LIFETIME = counter(
    "gpu_ecc_corrected_errors_lifetime_total", "errors", "Memory errors corrected over the lifetime of the device.", GPU
)
ECC_UNCORRECTED_LIFETIME = counter(
    "gpu_ecc_uncorrected_errors_lifetime_total",
    "errors",
    "Memory errors not corrected over the lifetime of the device.",
    GPU,
)
REMAPPED_ROWS = gauge("gpu_remapped_rows", "rows", "Memory rows remapped to spare rows, by kind of error.", CAUSE)
REMAP_PENDING = gauge("gpu_row_remap_pending", "boolean", "1 if a reset is needed to remap a row.", GPU)
REMAP_FAILED = gauge("gpu_row_remap_failed", "boolean", "1 if a row could not be remapped.", GPU)
RETIRED_PAGES = gauge("gpu_retired_pages", "pages", "Memory pages taken out of use, by kind of error.", CAUSE)
RECOVERY_ACTION = state(
    "gpu_recovery_action",
    "Action that the driver requires to recover the device.",
    ("none", "gpu_reset", "node_reboot", "drain_p2p", "drain_and_reset"),
    GPU,
)
XIDS = counter("gpu_xid_total", "errors", "XID errors that the driver reported while the agent ran.", GPU)
LOST = gauge("gpu_lost", "boolean", "1 while a device that was found before does not respond.", GPU)
MIG_ENABLED = gauge("gpu_mig_enabled", "boolean", "1 if the device is partitioned into MIG instances.", GPU)
MIG_MEMORY_USED = gauge("gpu_mig_memory_used_bytes", "bytes", "Memory used by processes of this instance.", SLICE)
MIG_MEMORY_TOTAL = gauge("gpu_mig_memory_total_bytes", "bytes", "Memory of this instance.", SLICE)
SM_ACTIVE = gauge("gpu_sm_active_ratio", "ratio", "Share of compute units (SMs) that were busy.", GPU, 10_000)
SM_OCCUPANCY = gauge("gpu_sm_occupancy_ratio", "ratio", "Warps in flight as a share of the maximum.", GPU, 10_000)
TENSOR_ACTIVE = gauge(
    "gpu_tensor_active_ratio", "ratio", "Share of the time in which tensor cores worked.", GPU, 10_000
)
DRAM_ACTIVE = gauge("gpu_dram_active_ratio", "ratio", "Memory bandwidth used as a share of the maximum.", GPU, 10_000)


@dataclass(frozen=True, slots=True)
class DeviceColumn:
    """A column of one device: a metric, with the value of its third label if it has one."""

    metric: Metric
    label: str = ""

    def labels(self, uuid: str, index: int) -> tuple[str, ...]:
        """Return the label values of the column."""
        return (uuid, str(index), self.label) if self.label else (uuid, str(index))
