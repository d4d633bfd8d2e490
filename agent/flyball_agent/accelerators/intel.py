"""Intel GPUs, read from the sysfs files of xe and i915. Utilisation and used memory are sums over the processes."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.card_reader import (
    PCIE_READINGS,
    FileReader,
    Result,
    SysfsReading,
    find_files,
    read_value,
    scaled,
)
from flyball_agent.accelerators.drm_processes import DrmProcesses
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.sysfs_gpu import GpuVendor, SysfsProbe
from flyball_agent.accelerators.throttle_reasons import INTEL_FILES
from flyball_agent.probes.files import KernelFile, number
from flyball_agent.probes.probe import Unavailable, Unsupported
from flyball_proto.metric import Metric

_MEGA, _MICRO, _MILLI = 1_000_000, 1e-6, 1e-3
_HWMON = "device/hwmon/hwmon*"
_DRIVERS = ("xe", "i915")
_THROTTLE_FOLDERS = (  # folder, what precedes the reason in the names of the files
    ("device/tile*/gt*/freq0/throttle", "reason_", "status"),
    ("gt/gt*", "throttle_reason_", "throttle_reason_status"),
)


def _size(data: bytes) -> int | None:
    """Parse a decimal number, or a hexadecimal one with 0x."""
    try:
        return int(data.strip(), 0)
    except ValueError:
        return None


def _limit(data: bytes) -> float | None:
    """Parse a power limit in microwatts; 0 means that the limit is off."""
    limit = number(data)
    if limit == 0:
        raise Unsupported("the power limit is off")
    return None if limit is None else limit * _MICRO


READINGS = (
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
    SysfsReading(DeviceColumn(m.POWER_LIMIT), (f"{_HWMON}/power1_max", f"{_HWMON}/power2_max"), _limit),
    SysfsReading(
        DeviceColumn(m.POWER_LIMIT_DEFAULT),
        (f"{_HWMON}/power1_rated_max", f"{_HWMON}/power2_rated_max"),
        scaled(_MICRO),
        fixed=True,
    ),
    SysfsReading(DeviceColumn(m.TEMPERATURE), (f"{_HWMON}/temp2_input", f"{_HWMON}/temp1_input"), scaled(_MILLI)),
    SysfsReading(DeviceColumn(m.MEMORY_TEMPERATURE), (f"{_HWMON}/temp3_input",), scaled(_MILLI)),
    SysfsReading(DeviceColumn(m.MEMORY_TOTAL), ("device/tile0/physical_vram_size_bytes", "lmem_total_bytes"), _size),
    *PCIE_READINGS,
)


class ThrottleReader:
    """Reads the reasons for throttled clocks. The single reasons are read only while the common status is set."""

    columns: Sequence[DeviceColumn] = tuple(DeviceColumn(m.THROTTLED, reason) for reason in INTEL_FILES)

    def __init__(self, card: Path, driver: str) -> None:
        self._absent = Unsupported(f"{driver} has no throttle reasons")
        found = [
            (folder, prefix, status)
            for pattern, prefix, status in _THROTTLE_FOLDERS
            for folder in find_files(card, pattern)
        ]
        self._units = [
            (KernelFile(folder / status, size=64), _reason_files(folder, prefix))
            for folder, prefix, status in found
            if (folder / status).exists()
        ]

    def read(self, _now: float, /) -> Sequence[Result]:
        """Return 1 for each reason that throttles one of the GPU's units."""
        if not self._units:
            return [self._absent] * len(self.columns)
        active: set[str] = set()
        for status, files in self._units:
            throttled = read_value(status, number)
            if isinstance(throttled, Unavailable):
                return [throttled] * len(self.columns)
            if throttled:
                active |= {reason for reason, group in files.items() if any(_is_set(file) for file in group)}
        return [int(reason in active) for reason in INTEL_FILES]


def _reason_files(folder: Path, prefix: str) -> dict[str, list[KernelFile]]:
    return {
        reason: [KernelFile(folder / f"{prefix}{name}", size=64) for name in names]
        for reason, names in INTEL_FILES.items()
    }


def _is_set(file: KernelFile) -> bool:
    return number(file.read_optional()) == 1


INTEL = GpuVendor(
    name="intel",
    drivers=_DRIVERS,
    readers=(partial(FileReader, READINGS), ThrottleReader),
    by_processes=(m.UTILIZATION, m.MEMORY_USED),
    unsupported={m.POWER.name: "the Intel drivers provide energy; power is its rate"},
)


class IntelProbe(SysfsProbe):
    """The accelerator of Intel GPUs."""

    metrics: Sequence[Metric] = (
        *(reading.column.metric for reading in READINGS),
        m.THROTTLED,
        *INTEL.by_processes,
    )

    def __init__(
        self,
        sys_root: Path = Path("/sys"),
        monotonic: Callable[[], float] = time.monotonic,
        *,
        proc_root: Path = Path("/proc"),
        processes: bool = True,
    ) -> None:
        super().__init__(INTEL, sys_root, monotonic, [DrmProcesses(proc_root, _DRIVERS)] if processes else ())
