"""AMD GPUs, read from the sysfs files of amdgpu (kernel documentation: gpu/amdgpu, thermal and driver-misc)."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.amd_readers import RasReader, TableReader
from flyball_agent.accelerators.card_reader import (
    PCIE_READINGS,
    FileReader,
    SysfsReading,
    active_clock,
    highest_clock,
    scaled,
)
from flyball_agent.accelerators.drm_processes import DrmProcesses
from flyball_agent.accelerators.kfd_processes import KfdProcesses
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.sysfs_gpu import GpuVendor, SysfsProbe
from flyball_proto.metric import Metric

_MICRO, _MILLI = 1e-6, 1e-3
_HWMON = "device/hwmon/hwmon*"
_DRIVERS = ("amdgpu",)


def _clock(data: bytes) -> float | int | None:
    """Parse a clock: hwmon has it in hertz; the table of clocks marks the active one with a star."""
    return active_clock(data) if b":" in data else scaled(1)(data)


READINGS = (
    SysfsReading(DeviceColumn(m.UTILIZATION), ("device/gpu_busy_percent",), scaled(0.01)),
    SysfsReading(DeviceColumn(m.MEMORY_BUSY), ("device/mem_busy_percent",), scaled(0.01)),
    SysfsReading(DeviceColumn(m.MEMORY_TOTAL), ("device/mem_info_vram_total",), scaled(1), fixed=True),
    SysfsReading(DeviceColumn(m.MEMORY_USED), ("device/mem_info_vram_used",), scaled(1)),
    SysfsReading(DeviceColumn(m.POWER), (f"{_HWMON}/power1_average", f"{_HWMON}/power1_input"), scaled(_MICRO)),
    SysfsReading(DeviceColumn(m.POWER_LIMIT), (f"{_HWMON}/power1_cap",), scaled(_MICRO)),
    SysfsReading(DeviceColumn(m.POWER_LIMIT_MIN), (f"{_HWMON}/power1_cap_min",), scaled(_MICRO), fixed=True),
    SysfsReading(DeviceColumn(m.POWER_LIMIT_MAX), (f"{_HWMON}/power1_cap_max",), scaled(_MICRO), fixed=True),
    SysfsReading(DeviceColumn(m.POWER_LIMIT_DEFAULT), (f"{_HWMON}/power1_cap_default",), scaled(_MICRO), fixed=True),
    SysfsReading(DeviceColumn(m.TEMPERATURE), (f"{_HWMON}/temp1_input", f"{_HWMON}/temp2_input"), scaled(_MILLI)),
    SysfsReading(
        DeviceColumn(m.SLOWDOWN_TEMPERATURE),
        (f"{_HWMON}/temp1_crit", f"{_HWMON}/temp2_crit"),
        scaled(_MILLI),
        fixed=True,
    ),
    SysfsReading(
        DeviceColumn(m.SHUTDOWN_TEMPERATURE),
        (f"{_HWMON}/temp1_emergency", f"{_HWMON}/temp2_emergency"),
        scaled(_MILLI),
        fixed=True,
    ),
    SysfsReading(DeviceColumn(m.MEMORY_TEMPERATURE), (f"{_HWMON}/temp3_input",), scaled(_MILLI)),
    SysfsReading(DeviceColumn(m.MEMORY_TEMPERATURE_MAX), (f"{_HWMON}/temp3_crit",), scaled(_MILLI), fixed=True),
    SysfsReading(DeviceColumn(m.FAN), (f"{_HWMON}/pwm1",), scaled(1 / 255)),
    SysfsReading(DeviceColumn(m.SM_CLOCK), (f"{_HWMON}/freq1_input", "device/pp_dpm_sclk"), _clock),
    SysfsReading(DeviceColumn(m.SM_CLOCK_MAX), ("device/pp_dpm_sclk",), highest_clock, fixed=True),
    SysfsReading(DeviceColumn(m.MEMORY_CLOCK), (f"{_HWMON}/freq2_input", "device/pp_dpm_mclk"), _clock),
    *PCIE_READINGS,
)
AMD = GpuVendor(name="amd", drivers=_DRIVERS, readers=(partial(FileReader, READINGS), TableReader, RasReader))


class AmdProbe(SysfsProbe):
    """The accelerator of AMD GPUs."""

    metrics: Sequence[Metric] = tuple(
        dict.fromkeys(
            column.metric
            for column in (*(reading.column for reading in READINGS), *TableReader.columns, *RasReader.columns)
        )
    )

    def __init__(
        self,
        sys_root: Path = Path("/sys"),
        monotonic: Callable[[], float] = time.monotonic,
        *,
        proc_root: Path = Path("/proc"),
        processes: bool = True,
    ) -> None:
        sources = (KfdProcesses(sys_root), DrmProcesses(proc_root, _DRIVERS)) if processes else ()
        super().__init__(AMD, sys_root, monotonic, sources)
