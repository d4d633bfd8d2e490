"""Wear, spare space and media errors of NVMe disks, from the health log that each disk keeps (SMART)."""

import ctypes
import fcntl
import os
import struct
from collections.abc import Callable
from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.files import LARGEST, entries, unavailable
from flyball_agent.probes.probe import Absent, Denied, ProbeSample, Unavailable, Value
from flyball_proto.metric import counter, gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading

MAX_CONTROLLERS = 32
REMEDY = (
    "reading a disk's health log needs CAP_SYS_ADMIN: give the agent CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH and "
    "DeviceAllow=char-nvme r, or add nvme_health to probes.disabled"
)

# The command Get Log Page of the NVMe specification, through <linux/nvme_ioctl.h>.
ADMIN_COMMAND = 0xC0484E41  # _IOWR('N', 0x41, struct nvme_admin_cmd), which has 72 bytes
COMMAND = struct.Struct("<BBHIIIQQIIIIIIIIII")
GET_LOG_PAGE = 0x02
HEALTH_LOG = 0x02
ALL_NAMESPACES = 0xFFFFFFFF
LOG_BYTES = 512
TIMEOUT_MILLISECONDS = 2000

_LABEL = ("controller",)
METRICS = (
    gauge(
        "nvme_critical_warnings",
        "warnings",
        "Number of warnings that are active on the disk, such as low spare space, heat or wear.",
        _LABEL,
    ),
    gauge("nvme_spare_ratio", "ratio", "Share of the disk's spare space that is left.", _LABEL, 100),
    gauge("nvme_wear_ratio", "ratio", "Share of the disk's rated life that is used. Limited to 1.", _LABEL, 100),
    counter("nvme_media_errors_total", "errors", "Errors that the disk could not correct.", _LABEL),
    counter("nvme_unsafe_shutdowns_total", "events", "Times that the disk lost power without notice.", _LABEL),
)


def parse_log(log: bytes) -> list[Value]:
    """Return the values of `METRICS`. The positions are those of the SMART / Health Information log page."""
    if len(log) < LOG_BYTES or not any(log):
        return [None] * len(METRICS)
    media, shutdowns = (int.from_bytes(log[start : start + 16], "little") for start in (160, 144))
    return [
        log[0].bit_count(),
        log[3] / 100 if log[3] <= 100 else None,
        min(1.0, log[5] / 100),
        media if media <= LARGEST else None,
        shutdowns if shutdowns <= LARGEST else None,
    ]


def read_log(device: Path) -> bytes:
    """Ask a controller for its health log. Raise `Unavailable` with the reason if that is not possible."""
    log = ctypes.create_string_buffer(LOG_BYTES)
    doublewords = LOG_BYTES // 4 - 1  # the specification counts from 0
    command = bytearray(
        COMMAND.pack(
            *(GET_LOG_PAGE, 0, 0, ALL_NAMESPACES, 0, 0, 0, ctypes.addressof(log), 0, LOG_BYTES),
            *(HEALTH_LOG | doublewords << 16, 0, 0, 0, 0, 0, TIMEOUT_MILLISECONDS, 0),
        )
    )
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            status = fcntl.ioctl(descriptor, ADMIN_COMMAND, command)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unavailable(device, error, denied_remedy=REMEDY) from None
    if status:
        raise Unavailable(f"{device}: the disk answered with status {status:#x}")
    return log.raw


class NvmeHealthProbe:
    """Asks each controller once a minute. It is blocking: a disk that fails may answer late or never."""

    name = "nvme_health"
    metrics = METRICS
    every_seconds = 60.0
    blocking = True

    def __init__(self, sys_root: Path, devices: Path = Path("/dev"), read: Callable[[Path], bytes] = read_log) -> None:
        self._controllers = sys_root / "class/nvme"
        self._devices = devices
        self._read = read
        self._columns = GroupedColumns(METRICS)
        self._gaps = Gaps(self.name, "not in the disk's log", Reason.UNSUPPORTED)

    def read(self) -> ProbeSample:
        names = entries(self._controllers)[:MAX_CONTROLLERS]
        if not names:
            raise Absent("no NVMe disk")
        values: list[Value] = []
        missing: list[UnavailableReading] = []
        for name in names:
            try:
                values += parse_log(self._read(self._devices / name))
            except Denied:
                raise
            except Unavailable as error:
                missing.append(UnavailableReading(self.name, "", name, error.reason, error.detail, error.remedy))
                values += [None] * len(METRICS)
        columns = self._columns.columns([(name,) for name in names])
        gaps = self._gaps.unavailable(columns, values)
        failed = {reading.resource for reading in missing}
        return ProbeSample(columns, values, (*missing, *(gap for gap in gaps if gap.resource not in failed)))
