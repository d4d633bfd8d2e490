"""The metrics of accelerators of all vendors. `gpu` is the UUID, `index` the number on this host."""

from dataclasses import dataclass

from flyball_proto.metric import Metric, counter, gauge, state

GPU = ("gpu", "index")
REASON = (*GPU, "reason")
CAUSE = (*GPU, "cause")
KIND = (*GPU, "kind")
SLICE = (*GPU, "instance")
LIMIT = (*GPU, "limit")
ENGINE = (*GPU, "engine")
LINK = (*GPU, "link")
SYMBOLS = (*GPU, "symbols")

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
POWER = gauge(
    "gpu_power_watts",
    "watts",
    "Power drawn by the board. NVIDIA: on A100, A30 and GPUs before Ampere the instantaneous power, on all others the "
    "mean over one second.",
    GPU,
    1000,
)
POWER_INSTANT = gauge("gpu_power_instant_watts", "watts", "Instantaneous power drawn by the board.", GPU, 1000)
MODULE_POWER = gauge(
    "gpu_module_power_watts",
    "watts",
    "Instantaneous power of the whole module, such as GPU and CPU of a Grace superchip.",
    GPU,
    1000,
)
MEMORY_POWER = gauge("gpu_memory_power_watts", "watts", "Mean power drawn by the memory over one second.", GPU, 1000)
POWER_LIMIT = gauge("gpu_power_limit_watts", "watts", "Power limit in force.", GPU, 1000)
POWER_LIMIT_MIN = gauge("gpu_power_limit_min_watts", "watts", "Lowest power limit that can be set.", GPU, 1000)
POWER_LIMIT_MAX = gauge("gpu_power_limit_max_watts", "watts", "Highest power limit that can be set.", GPU, 1000)
POWER_LIMIT_DEFAULT = gauge("gpu_power_limit_default_watts", "watts", "Power limit after a restart.", GPU, 1000)
ENERGY = counter("gpu_energy_joules_total", "joules", "Energy used since the driver was loaded.", GPU, 1000)
TEMPERATURE = gauge("gpu_temperature_celsius", "celsius", "Core temperature.", GPU, 10)
MEMORY_TEMPERATURE = gauge("gpu_memory_temperature_celsius", "celsius", "Memory temperature.", GPU, 10)
SLOWDOWN_TEMPERATURE = gauge(
    "gpu_slowdown_temperature_celsius", "celsius", "Core temperature at which the hardware slows down.", GPU, 10
)
TEMPERATURE_MARGIN = gauge(
    "gpu_temperature_margin_celsius",
    "celsius",
    "Degrees left to the highest operating temperature (T.Limit). Clocks begin to fall at 0.",
    GPU,
    10,
)
LIMIT_MARGIN = gauge(
    "gpu_limit_margin_celsius",
    "celsius",
    "Temperature margin (T.Limit) at which this limit takes effect.",
    LIMIT,
    10,
)
SHUTDOWN_TEMPERATURE = gauge(
    "gpu_shutdown_temperature_celsius", "celsius", "Core temperature at which the hardware shuts down.", GPU, 10
)
OPERATING_TEMPERATURE_MAX = gauge(
    "gpu_operating_temperature_max_celsius",
    "celsius",
    "Highest core temperature for operation at full clocks.",
    GPU,
    10,
)
MEMORY_TEMPERATURE_MAX = gauge(
    "gpu_memory_temperature_max_celsius", "celsius", "Highest memory temperature for operation at full clocks.", GPU, 10
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
PCIE_TRANSMIT = counter(
    "gpu_pcie_transmit_bytes_total",
    "bytes",
    "Bytes sent over PCIe. GPUs before Hopper count at most 4.3 GB between two readings.",
    GPU,
)
PCIE_RECEIVE = counter(
    "gpu_pcie_receive_bytes_total",
    "bytes",
    "Bytes received over PCIe. GPUs before Hopper count at most 4.3 GB between two readings.",
    GPU,
)
PCIE_REPLAYS = counter("gpu_pcie_replays_total", "replays", "PCIe packets that had to be sent again.", GPU)
PCIE_ERRORS = counter(
    "gpu_pcie_errors_total",
    "errors",
    "Errors and retries of the PCIe link, by kind. `link_recovery` counts how often the link was trained again.",
    KIND,
)
NVLINK_LINKS = gauge("gpu_nvlink_links", "links", "NVLinks of the device.", GPU)
NVLINK_ACTIVE = gauge("gpu_nvlink_active_links", "links", "NVLinks that are up.", GPU)
NVLINK_TRANSMIT = counter("gpu_nvlink_transmit_bytes_total", "bytes", "Payload sent over all NVLinks.", GPU)
NVLINK_RECEIVE = counter("gpu_nvlink_receive_bytes_total", "bytes", "Payload received over all NVLinks.", GPU)
NVLINK_ERRORS = counter(
    "gpu_nvlink_errors_total",
    "errors",
    "Errors on all NVLinks, by kind. Which kinds exist depends on the generation of NVLink. `effective` errors remain "
    "after error correction (FEC), `symbol` errors also after retries.",
    KIND,
)
NVLINK_BER = gauge(
    "gpu_nvlink_effective_ber_ratio",
    "ratio",
    "Bit error rate after error correction (FEC), of the worst NVLink.",
    GPU,
    10**15,
)
NVLINK_FEC = counter(
    "gpu_nvlink_fec_blocks_total",
    "blocks",
    "Blocks received on all NVLinks, by the number of symbol errors that error correction (FEC) repaired in each.",
    SYMBOLS,
)
NVLINK_LINK_ERRORS = counter(
    "gpu_nvlink_link_errors_total",
    "errors",
    "Errors of one NVLink, of all kinds except `effective`. Only links that had an error or went down are listed.",
    LINK,
)
NVLINK_LINK_UP = gauge(
    "gpu_nvlink_link_up",
    "boolean",
    "0 while an NVLink that was up before is down. Only links that had an error or went down are listed.",
    LINK,
)
C2C_LINKS = gauge("gpu_c2c_links", "links", "Chip-to-chip links (NVLink-C2C) to the CPU.", GPU)
C2C_ACTIVE = gauge("gpu_c2c_active_links", "links", "Chip-to-chip links (NVLink-C2C) that are up.", GPU)
C2C_ERRORS = counter("gpu_c2c_errors_total", "errors", "Errors on the chip-to-chip links, by kind.", KIND)
FABRIC_STATE = state(
    "gpu_fabric_state",
    "Registration of the GPU in the NVLink fabric.",
    ("not_supported", "not_started", "in_progress", "completed", "other"),
    GPU,
)
FABRIC_STATUS = gauge(
    "gpu_fabric_status", "code", "Result of the registration in the NVLink fabric: 0, or the NVML error code.", GPU
)
FABRIC_CLIQUE = gauge("gpu_fabric_clique", "number", "Clique of the NVLink fabric to which the GPU belongs.", GPU)
FABRIC_HEALTH = state(
    "gpu_fabric_health",
    "Health of the GPU in the NVLink fabric.",
    ("not_supported", "healthy", "unhealthy", "limited_capacity", "other"),
    GPU,
)
XGMI_ACTIVE = gauge("gpu_xgmi_active_links", "links", "XGMI links (AMD Infinity Fabric) that are up.", GPU)
XGMI_TRANSMIT = counter("gpu_xgmi_transmit_bytes_total", "bytes", "Bytes written to other GPUs over XGMI.", GPU)
XGMI_RECEIVE = counter("gpu_xgmi_receive_bytes_total", "bytes", "Bytes read from other GPUs over XGMI.", GPU)
RAS_ERRORS = counter(
    "gpu_ras_errors_total",
    "errors",
    "Hardware errors in all blocks of the GPU since the driver was loaded, by kind (AMD RAS).",
    KIND,
)
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
RETIRED_PAGES_PENDING = gauge(
    "gpu_retired_pages_pending", "boolean", "1 if a restart is needed to take a memory page out of use.", GPU
)
SRAM_ERRORS = counter(
    "gpu_ecc_sram_errors_lifetime_total",
    "errors",
    "Errors of the on-chip memory (SRAM) over the lifetime of the device, by kind.",
    KIND,
)
SRAM_THRESHOLD = gauge(
    "gpu_ecc_sram_threshold_exceeded",
    "boolean",
    "1 if the errors of the on-chip memory (SRAM) exceed the driver's threshold.",
    GPU,
)
RECOVERY_ACTION = state(
    "gpu_recovery_action",
    "Action that the driver requires to recover the device. `other` is one that this version does not know.",
    (
        "none",
        "gpu_reset",
        "node_reboot",
        "drain_p2p",
        "drain_and_reset",
        "recover_imex_domain",
        "bus_reset",
        "system_reboot",
        "other",
    ),
    GPU,
)
PERSISTENCE = gauge(
    "gpu_persistence_enabled", "boolean", "1 if the driver stays loaded while no process uses the device.", GPU
)
ENGINE_UTILIZATION = gauge(
    "gpu_engine_utilization_ratio",
    "ratio",
    "Share of the driver's sampling period in which this engine for video or images was busy.",
    ENGINE,
    100,
)
BAR1_USED = gauge("gpu_bar1_used_bytes", "bytes", "Used part of the memory window that PCIe devices can address.", GPU)
BAR1_TOTAL = gauge("gpu_bar1_total_bytes", "bytes", "Memory window that PCIe devices can address (BAR1).", GPU)
XIDS = counter("gpu_xid_total", "errors", "XID errors that the driver reported while the agent ran.", GPU)
LOST = gauge("gpu_lost", "boolean", "1 while a device that was found before does not respond.", GPU)
MIG_ENABLED = gauge("gpu_mig_enabled", "boolean", "1 if the device is in MIG mode, which partitions it.", GPU)
MIG_MEMORY_USED = gauge("gpu_mig_memory_used_bytes", "bytes", "Memory used by processes of this instance.", SLICE)
MIG_MEMORY_TOTAL = gauge("gpu_mig_memory_total_bytes", "bytes", "Memory of this instance.", SLICE)
MIG_SM_ACTIVE = gauge(
    "gpu_mig_sm_active_ratio", "ratio", "Share of this instance's compute units (SMs) that were busy.", SLICE, 10_000
)
MIG_SM_OCCUPANCY = gauge(
    "gpu_mig_sm_occupancy_ratio", "ratio", "Warps in flight on this instance as a share of the maximum.", SLICE, 10_000
)
MIG_TENSOR_ACTIVE = gauge(
    "gpu_mig_tensor_active_ratio",
    "ratio",
    "Share of the time in which this instance's tensor cores worked.",
    SLICE,
    10_000,
)
MIG_DRAM_ACTIVE = gauge(
    "gpu_mig_dram_active_ratio",
    "ratio",
    "Memory bandwidth that this instance used as a share of its maximum.",
    SLICE,
    10_000,
)
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
