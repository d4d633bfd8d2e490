"""The columns of an NVIDIA device, their positions in its row of values, and their numbers in NVML."""

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn

_EVERY_LINK = 0xFFFFFFFF
_NANO = 1e-9

THROTTLE_BITS = {  # nvmlClocksEventReasons
    "clock_setting": 0x002,
    "sw_power_cap": 0x004,
    "hw_slowdown": 0x008,
    "sync_boost": 0x010,
    "sw_thermal": 0x020,
    "hw_thermal": 0x040,
    "hw_power_brake": 0x080,
}
THROTTLE_FIELDS = {  # cumulative nanoseconds
    "sw_power_cap": 74,
    "thermal": 75,
    "sync_boost": 76,
    "board_limit": 77,
    "reliability": 79,
    "sw_thermal": 269,
    "hw_thermal": 270,
    "hw_power_brake": 271,
}
NVLINK_ERROR_FIELDS = {"crc_flit": 38, "crc_data": 45, "replay": 52, "recovery": 59}
GPM_METRICS = {2: m.SM_ACTIVE, 3: m.SM_OCCUPANCY, 5: m.TENSOR_ACTIVE, 10: m.DRAM_ACTIVE}

Field = tuple[int, int, DeviceColumn, float]
"""Field id, scope, the column that it fills, factor to our unit."""

# PCIe bytes come from the cumulative fields, because each call of nvmlDeviceGetPcieThroughput takes 20 ms.
FAST_FIELDS: tuple[Field, ...] = (
    (82, 0, DeviceColumn(m.MEMORY_TEMPERATURE), 1),
    (83, 0, DeviceColumn(m.ENERGY), 1e-3),
    (197, 0, DeviceColumn(m.PCIE_TRANSMIT), 1),
    (198, 0, DeviceColumn(m.PCIE_RECEIVE), 1),
    (138, _EVERY_LINK, DeviceColumn(m.NVLINK_TRANSMIT), 1024),
    (139, _EVERY_LINK, DeviceColumn(m.NVLINK_RECEIVE), 1024),
    *((field, 0, DeviceColumn(m.THROTTLE_SECONDS, reason), _NANO) for reason, field in THROTTLE_FIELDS.items()),
)
SLOW_FIELDS: tuple[Field, ...] = (
    (1, 0, DeviceColumn(m.ECC_ENABLED), 1),
    (3, 0, DeviceColumn(m.ECC_CORRECTED), 1),
    (4, 0, DeviceColumn(m.ECC_UNCORRECTED), 1),
    (5, 0, DeviceColumn(m.ECC_CORRECTED_LIFETIME), 1),
    (6, 0, DeviceColumn(m.ECC_UNCORRECTED_LIFETIME), 1),
    (29, 0, DeviceColumn(m.RETIRED_PAGES, "corrected"), 1),
    (30, 0, DeviceColumn(m.RETIRED_PAGES, "uncorrected"), 1),
    (91, 0, DeviceColumn(m.NVLINK_LINKS), 1),
    (94, 0, DeviceColumn(m.PCIE_REPLAYS), 1),
    (142, 0, DeviceColumn(m.REMAPPED_ROWS, "corrected"), 1),
    (143, 0, DeviceColumn(m.REMAPPED_ROWS, "uncorrected"), 1),
    (144, 0, DeviceColumn(m.REMAP_PENDING), 1),
    (145, 0, DeviceColumn(m.REMAP_FAILED), 1),
    (230, 0, DeviceColumn(m.RECOVERY_ACTION), 1),
    *((field, 0, DeviceColumn(m.NVLINK_ERRORS, kind), 1) for kind, field in NVLINK_ERROR_FIELDS.items()),
)

COLUMNS: tuple[DeviceColumn, ...] = (
    *(DeviceColumn(metric) for metric in (
        m.UTILIZATION, m.MEMORY_BUSY, m.MEMORY_USED, m.MEMORY_RESERVED, m.MEMORY_TOTAL, m.POWER, m.POWER_LIMIT,
        m.TEMPERATURE, m.SLOWDOWN_TEMPERATURE, m.TEMPERATURE_MARGIN, m.FAN, m.SM_CLOCK, m.SM_CLOCK_MAX,
        m.MEMORY_CLOCK, m.PERFORMANCE_STATE, m.PCIE_GENERATION, m.PCIE_GENERATION_MAX, m.PCIE_WIDTH,
        m.PCIE_WIDTH_MAX, m.NVLINK_ACTIVE, m.MIG_ENABLED, m.XIDS, m.LOST,
    )),
    *(DeviceColumn(m.THROTTLED, reason) for reason in THROTTLE_BITS),
    *(column for _, _, column, _ in FAST_FIELDS),
    *(column for _, _, column, _ in SLOW_FIELDS),
    *(DeviceColumn(metric) for metric in GPM_METRICS.values()),
)  # fmt: skip
POSITIONS = {column: position for position, column in enumerate(COLUMNS)}
