"""The columns of an NVIDIA device, their positions in its row of values, and their numbers in NVML."""

from typing import NamedTuple

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn

EVERY_LINK = 0xFFFFFFFF
_MODULE, _MEMORY = 1, 2  # scopes of power fields: NVML_POWER_SCOPE_*
_NANO = 1e-9
_MILLI = 1e-3

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
PCIE_ERROR_FIELDS = {
    "link_recovery": 169,
    "correctable": 173,
    "nak_received": 174,
    "receiver": 175,
    "bad_tlp": 176,
    "nak_sent": 177,
    "bad_dllp": 178,
    "non_fatal": 179,
    "fatal": 180,
    "unsupported_request": 181,
    "lcrc": 182,
}
C2C_ERROR_FIELDS = {"crc": 231, "replay": 232, "replay_back_to_back": 233}
LIMIT_MARGIN_FIELDS = {"shutdown": 193, "slowdown": 194, "memory_operating": 195, "operating": 196}
NVLINK_TOTAL_FIELDS = {38: "crc_flit", 45: "crc_data", 52: "replay", 59: "recovery", 160: "ecc_data"}
NVLINK_COUNTERS = {0: "replay", 1: "recovery", 2: "crc_flit", 3: "crc_data", 4: "ecc_data"}  # NvLinkErrorCounter
NVLINK_FIELDS = {  # of one link; 161 to 163 exist before NVLink 5, the others since NVLink 5
    161: "replay",
    162: "recovery",
    163: "crc",
    206: "malformed_packet",
    207: "buffer_overrun",
    208: "receive",
    209: "receive_remote",
    210: "receive_general",
    211: "link_integrity",
    212: "transmit_discard",
    214: "recovery_failed",
    215: "recovery",
    219: "effective",
    221: "symbol",
}
NVLINK_KINDS = tuple(dict.fromkeys((*NVLINK_COUNTERS.values(), *NVLINK_FIELDS.values())))
NVLINK_BER_FIELD = 220
FEC_FIELDS = {  # blocks by the number of symbol errors repaired in each: field 235 + n has those with n, in groups here
    235 + bin_: "0" if bin_ == 0 else "1-3" if bin_ <= 3 else "4-7" if bin_ <= 7 else "8-15" for bin_ in range(16)
}
GPM_METRICS = {2: m.SM_ACTIVE, 3: m.SM_OCCUPANCY, 5: m.TENSOR_ACTIVE, 10: m.DRAM_ACTIVE}
GPM_PCIE = {20: m.PCIE_TRANSMIT, 21: m.PCIE_RECEIVE}  # MiB/s
MIG_GPM_METRICS = {2: m.MIG_SM_ACTIVE, 3: m.MIG_SM_OCCUPANCY, 5: m.MIG_TENSOR_ACTIVE, 10: m.MIG_DRAM_ACTIVE}


class Field(NamedTuple):
    """A field of NVML, the column that it fills, and how its value becomes ours."""

    number: int
    column: DeviceColumn
    factor: float = 1
    scope: int = 0
    largest: int | None = None
    """A larger value becomes this one: the state `other`."""


# What changes each second and costs little. On an H100 the energy counter alone takes 3 to 6 ms, a throttle counter up
# to 0.5 ms: they are cumulative, so reading them less often loses nothing.
FAST_FIELDS = (
    Field(82, DeviceColumn(m.MEMORY_TEMPERATURE)),
    Field(186, DeviceColumn(m.POWER_INSTANT), _MILLI),
    Field(186, DeviceColumn(m.MODULE_POWER), _MILLI, scope=_MODULE),
    Field(138, DeviceColumn(m.NVLINK_TRANSMIT), 1024, scope=EVERY_LINK),
    Field(139, DeviceColumn(m.NVLINK_RECEIVE), 1024, scope=EVERY_LINK),
)
SLOW_FIELDS = (
    Field(83, DeviceColumn(m.ENERGY), _MILLI),
    Field(185, DeviceColumn(m.MEMORY_POWER), _MILLI, scope=_MEMORY),
    *(Field(number, DeviceColumn(m.THROTTLE_SECONDS, reason), _NANO) for reason, number in THROTTLE_FIELDS.items()),
    Field(1, DeviceColumn(m.ECC_ENABLED)),
    Field(3, DeviceColumn(m.ECC_CORRECTED)),
    Field(4, DeviceColumn(m.ECC_UNCORRECTED)),
    Field(5, DeviceColumn(m.ECC_CORRECTED_LIFETIME)),
    Field(6, DeviceColumn(m.ECC_UNCORRECTED_LIFETIME)),
    Field(29, DeviceColumn(m.RETIRED_PAGES, "corrected")),
    Field(30, DeviceColumn(m.RETIRED_PAGES, "uncorrected")),
    Field(31, DeviceColumn(m.RETIRED_PAGES_PENDING)),
    Field(91, DeviceColumn(m.NVLINK_LINKS)),
    Field(94, DeviceColumn(m.PCIE_REPLAYS)),
    *(Field(number, DeviceColumn(m.PCIE_ERRORS, kind)) for kind, number in PCIE_ERROR_FIELDS.items()),
    Field(142, DeviceColumn(m.REMAPPED_ROWS, "corrected")),
    Field(143, DeviceColumn(m.REMAPPED_ROWS, "uncorrected")),
    Field(144, DeviceColumn(m.REMAP_PENDING)),
    Field(145, DeviceColumn(m.REMAP_FAILED)),
    Field(230, DeviceColumn(m.RECOVERY_ACTION), largest=len(m.RECOVERY_ACTION.states) - 1),
    Field(170, DeviceColumn(m.C2C_LINKS)),
    *(Field(number, DeviceColumn(m.C2C_ERRORS, kind)) for kind, number in C2C_ERROR_FIELDS.items()),
)
CONSTANT_FIELDS = (
    Field(187, DeviceColumn(m.POWER_LIMIT_MIN), _MILLI),
    Field(188, DeviceColumn(m.POWER_LIMIT_MAX), _MILLI),
    Field(189, DeviceColumn(m.POWER_LIMIT_DEFAULT), _MILLI),
    *(Field(number, DeviceColumn(m.LIMIT_MARGIN, limit)) for limit, number in LIMIT_MARGIN_FIELDS.items()),
)

ENGINES = ("encoder", "decoder", "jpeg", "ofa")
SRAM_KINDS = ("uncorrected_parity", "uncorrected_sec_ded", "corrected")

COLUMNS: tuple[DeviceColumn, ...] = (
    *(DeviceColumn(metric) for metric in (
        m.UTILIZATION, m.MEMORY_BUSY, m.MEMORY_USED, m.MEMORY_RESERVED, m.MEMORY_TOTAL, m.POWER, m.POWER_LIMIT,
        m.TEMPERATURE, m.SLOWDOWN_TEMPERATURE, m.TEMPERATURE_MARGIN, m.FAN, m.SM_CLOCK, m.SM_CLOCK_MAX,
        m.MEMORY_CLOCK, m.PERFORMANCE_STATE, m.PCIE_GENERATION, m.PCIE_GENERATION_MAX, m.PCIE_WIDTH,
        m.PCIE_WIDTH_MAX, m.NVLINK_ACTIVE, m.MIG_ENABLED, m.XIDS, m.LOST,
    )),
    *(DeviceColumn(m.THROTTLED, reason) for reason in THROTTLE_BITS),
    *(field.column for field in (*FAST_FIELDS, *SLOW_FIELDS)),
    *(DeviceColumn(metric) for metric in (*GPM_METRICS.values(), *GPM_PCIE.values())),
    *(DeviceColumn(m.NVLINK_ERRORS, kind) for kind in NVLINK_KINDS),
    *(DeviceColumn(m.NVLINK_FEC, symbols) for symbols in dict.fromkeys(FEC_FIELDS.values())),
    *(DeviceColumn(m.SRAM_ERRORS, kind) for kind in SRAM_KINDS),
    *(DeviceColumn(m.ENGINE_UTILIZATION, engine) for engine in ENGINES),
    *(field.column for field in CONSTANT_FIELDS),
    *(DeviceColumn(metric) for metric in (
        m.NVLINK_BER, m.SRAM_THRESHOLD, m.SHUTDOWN_TEMPERATURE, m.OPERATING_TEMPERATURE_MAX, m.MEMORY_TEMPERATURE_MAX,
        m.PERSISTENCE, m.BAR1_USED, m.BAR1_TOTAL, m.C2C_ACTIVE, m.FABRIC_STATE, m.FABRIC_STATUS, m.FABRIC_CLIQUE,
        m.FABRIC_HEALTH,
    )),
)  # fmt: skip
POSITIONS = {column: position for position, column in enumerate(COLUMNS)}
