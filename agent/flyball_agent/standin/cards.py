"""Models of idle graphics cards for the stand-in. Readings that the real card does not support are missing here."""

from collections.abc import Mapping
from types import MappingProxyType

from flyball_agent.standin.scenario import Number, Wave

GIB = 1024**3
Values = Mapping[str, Wave | Number | str | None]

_HEALTHY: Values = {
    "ecc_enabled": 1, "ecc_corrected": 0, "ecc_uncorrected": 0, "ecc_corrected_lifetime": 3,
    "ecc_uncorrected_lifetime": 0, "remapped_corrected": 0, "remapped_uncorrected": 0, "remapped_pending": 0,
    "remapped_failed": 0, "pcie_replays": 0, "recovery_action": 0, "sram_corrected": 0, "sram_parity": 0,
    "sram_sec_ded": 0, "sram_threshold": 0,
}  # fmt: skip
_NO_THROTTLING: Values = {
    "throttle_reasons": 0, "throttle_sw_power_cap": 0, "throttle_sw_thermal": 0, "throttle_hw_thermal": 0,
    "throttle_hw_power_brake": 0, "throttle_sync_boost": 0, "throttle_board_limit": 0, "throttle_reliability": 0,
    "throttle_thermal": 0,
}  # fmt: skip
_IDLE: Values = {
    "utilization_gpu": 0, "utilization_memory": 0, "memory_used": 0, "temperature": 32, "energy": 0, "pstate": 0,
    "pcie_transmit": 0, "pcie_receive": 0, "persistence": 1, "engine_encoder": 0, "engine_decoder": 0,
    "engine_jpeg": 0, "engine_ofa": 0, "bar1_total": 128 * GIB, "bar1_used": 2 * 1024**2,
}  # fmt: skip

# Limits and clocks are those in NVIDIA's data sheets and nvidia-smi for these cards.
H100: Values = MappingProxyType({
    **_HEALTHY, **_NO_THROTTLING, **_IDLE,
    "name": "NVIDIA H100 80GB HBM3", "compute_major": 9, "compute_minor": 0, "architecture": 9,
    "memory_total": 81559 * 1024**2, "memory_reserved": 520 * 1024**2,
    "power": 70_000, "power_limit": 700_000, "clock_sm": 1980, "clock_sm_max": 1980, "clock_memory": 2619,
    "clock_memory_max": 2619, "temperature_slowdown": 92, "temperature_shutdown": 97,
    "temperature_operating_max": 87, "temperature_memory_max": 95, "temperature_margin": 55,
    "memory_temperature": 40, "pcie_generation": 5, "pcie_generation_max": 5, "pcie_width": 16, "pcie_width_max": 16,
    "nvlinks": 18, "nvlinks_active": 18, "nvlink_transmit_kib": 0, "nvlink_receive_kib": 0, "nvlink_crc_flit": 0,
    "nvlink_crc_data": 0, "nvlink_replay": 0, "nvlink_recovery": 0, "mig_enabled": 0, "numa_node": 0,
    "gpm_sm_active": 0, "gpm_sm_occupancy": 0, "gpm_tensor_active": 0, "gpm_dram_active": 0, "gpm_pcie_transmit": 0,
    "gpm_pcie_receive": 0, "vbios": "96.00.DA.00.0C", "serial": "1650000000001", "board_part": "692-2G520-0200-000",
    "inforom": "G520.0200.00.05",
})  # fmt: skip
A100: Values = MappingProxyType({
    **H100, "name": "NVIDIA A100-SXM4-80GB", "compute_major": 8, "architecture": 7, "memory_total": 80 * GIB,
    "power": 60_000, "power_limit": 400_000, "clock_sm": 1410, "clock_sm_max": 1410, "clock_memory": 1593,
    "clock_memory_max": 1593, "temperature_margin": None, "pcie_generation": 4, "pcie_generation_max": 4,
    "nvlinks": 12, "nvlinks_active": 12, "gpm_sm_active": None, "gpm_sm_occupancy": None, "gpm_tensor_active": None,
    "gpm_dram_active": None, "gpm_pcie_transmit": None, "gpm_pcie_receive": None, "vbios": "92.00.45.00.03",
    "board_part": "692-2G506-0200-002", "inforom": "G506.0200.00.04",
})  # fmt: skip
RTX_4090: Values = MappingProxyType({
    **_NO_THROTTLING, **_IDLE,
    "name": "NVIDIA GeForce RTX 4090", "compute_major": 8, "compute_minor": 9, "architecture": 8,
    "memory_total": 24564 * 1024**2, "memory_reserved": 400 * 1024**2, "power": 25_000, "power_limit": 450_000,
    "clock_sm": 2520, "clock_sm_max": 3105, "clock_memory": 10501, "clock_memory_max": 10501,
    "temperature_slowdown": 99, "temperature_shutdown": 104, "fan": 30, "pcie_generation": 4,
    "pcie_generation_max": 4, "pcie_width": 16, "pcie_width_max": 16, "pcie_replays": 0,
})  # fmt: skip
