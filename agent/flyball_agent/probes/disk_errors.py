"""Errors of SCSI and SATA disks, state of NVMe controllers, and errors that ext4 found, from sysfs."""

from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns, Resources
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import LARGEST, KernelFile, count_of, entries
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import counter, state
from flyball_proto.unavailable_reading import Reason

MAX_DISKS = 64
STATES = ("new", "live", "resetting", "connecting", "deleting", "dead")

NVME = state("nvme_state", "State of the NVMe controller. Only `live` serves requests.", STATES, ("controller",))
SCSI = counter("disk_errors_total", "operations", "Disk operations that ended with an error (SCSI, SATA).", ("device",))
EXT4 = counter("filesystem_errors_total", "errors", "Errors that ext4 has found since the last fsck.", ("device",))


def parse_state(data: bytes) -> int | None:
    """Return the code of a state; the kernel writes `deleting (no IO)` for a variant of deleting."""
    words = data.split(None, 1)
    word = words[0].decode(errors="replace") if words else ""
    return STATES.index(word) if word in STATES else None


def parse_hexadecimal(data: bytes) -> int | None:
    """Return the number of a SCSI counter, such as `0x1f`, or None."""
    try:
        value = int(data, 16)
    except ValueError:
        return None
    return value if 0 <= value <= LARGEST else None


def _files(folder: Path, name: str) -> Devices[KernelFile]:
    """Return the file of this name of each entry of a folder that has one."""
    return Devices(
        lambda: [entry for entry in entries(folder) if (folder / entry / name).exists()][:MAX_DISKS],
        lambda entry: KernelFile(folder / entry / name, size=64),
    )


class DiskErrorProbe:
    """Reads one small file per disk, controller or file system, and therefore not at each tick."""

    name = "disk_errors"
    metrics = (NVME, SCSI, EXT4)
    every_seconds = 10.0
    blocking = False

    def __init__(self, sys_root: Path) -> None:
        self._columns = GroupedColumns((NVME,), (SCSI,), (EXT4,))
        self._gaps = Gaps(self.name, "the value is not known to this version", Reason.UNSUPPORTED)
        self._controllers = _files(sys_root / "class/nvme", "state")
        self._disks = _files(sys_root / "block", "device/ioerr_cnt")
        self._filesystems = _files(sys_root / "fs/ext4", "errors_count")

    def read(self) -> ProbeSample:
        controllers, disks = self._controllers.current(), self._disks.current()
        filesystems = self._filesystems.current()
        if not controllers and not disks and not filesystems:
            raise Absent("no NVMe controller, no SCSI disk and no ext4 file system")
        columns = self._columns.columns(_labels(controllers), _labels(disks), _labels(filesystems))
        values: list[Value] = [parse_state(file.read_optional()) for file in controllers.values()]
        values += [parse_hexadecimal(file.read_optional()) for file in disks.values()]
        values += [count_of(file) for file in filesystems.values()]
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))


def _labels(files: dict[str, KernelFile]) -> Resources:
    return [(name,) for name in files]
