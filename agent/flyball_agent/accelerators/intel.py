"""Intel GPUs, read from the sysfs files of xe and i915. Utilisation is unavailable: it needs perf events."""

import time
from collections.abc import Callable
from pathlib import Path

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.sysfs_gpu import PCIE_READINGS, GpuVendor, SysfsProbe, SysfsReading, scaled

_MEGA, _MICRO, _MILLI = 1_000_000, 1e-6, 1e-3
_HWMON = "device/hwmon/hwmon*"


def _size(data: bytes) -> int | None:
    """Parse a decimal number, or a hexadecimal one with 0x."""
    try:
        return int(data.strip(), 0)
    except ValueError:
        return None


INTEL = GpuVendor(
    name="intel",
    vendor="intel",
    drivers=("xe", "i915"),
    readings=(
        SysfsReading(
            DeviceColumn(m.SM_CLOCK),
            ("device/tile0/gt0/freq0/act_freq", "gt/gt0/rps_act_freq_mhz", "gt_act_freq_mhz"),
            scaled(_MEGA),
        ),
        SysfsReading(
            DeviceColumn(m.SM_CLOCK_MAX),
            ("device/tile0/gt0/freq0/rp0_freq", "gt/gt0/rps_RP0_freq_mhz", "gt_RP0_freq_mhz"),
            scaled(_MEGA),
            fixed=True,
        ),
        SysfsReading(DeviceColumn(m.ENERGY), (f"{_HWMON}/energy1_input", f"{_HWMON}/energy2_input"), scaled(_MICRO)),
        SysfsReading(DeviceColumn(m.POWER_LIMIT), (f"{_HWMON}/power1_max", f"{_HWMON}/power2_max"), scaled(_MICRO)),
        SysfsReading(DeviceColumn(m.TEMPERATURE), (f"{_HWMON}/temp2_input", f"{_HWMON}/temp1_input"), scaled(_MILLI)),
        SysfsReading(
            DeviceColumn(m.MEMORY_TOTAL), ("device/tile0/physical_vram_size_bytes", "lmem_total_bytes"), _size
        ),
        *PCIE_READINGS,
    ),
    unsupported={
        m.UTILIZATION.name: "the Intel drivers provide it only through perf events",
        m.MEMORY_USED.name: "the Intel drivers provide it only for each client",
        m.POWER.name: "the Intel drivers provide energy; power is its rate",
    },
)


class IntelProbe(SysfsProbe):
    """The accelerator of Intel GPUs."""

    def __init__(self, sys_root: Path = Path("/sys"), monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(INTEL, sys_root, monotonic)
