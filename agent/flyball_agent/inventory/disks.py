"""Disks of the host: kind, size and mount points."""

from collections.abc import Mapping
from pathlib import Path

from flyball_agent.probes.files import entries, read_number, read_text
from flyball_agent.probes.host_root import HOST, host_process
from flyball_agent.probes.mounts import Mount, parse_mountinfo
from flyball_proto.v1 import telemetry_pb2 as pb

SECTOR = 512  # unit of `size` in sysfs, independent of the disk's sector size
_NOT_DISKS = ("loop", "ram", "zram", "fd", "sr")
_VIRTUAL = ("vd", "xvd", "dm-", "md", "nbd", "rbd", "drbd")
_MAX_LEVELS = 4
"""How many levels of nested volumes (partition, RAID, encryption, logical volume) are followed."""


def read_disks(proc_root: Path, sys_root: Path, root: Path = HOST) -> list[pb.Disk]:
    """Read every block device that has a size and is not a placeholder."""
    mountinfo = host_process(proc_root, root) / "mountinfo"
    mounts = shortest_mounts(parse_mountinfo(read_text(mountinfo) or ""))
    block = sys_root / "block"
    names = (name for name in entries(block) if not name.startswith(_NOT_DISKS))
    disks = [_read_disk(block / name, block, mounts) for name in names]
    return [disk for disk in disks if disk.bytes]


def shortest_mounts(mounts: list[Mount]) -> dict[str, str]:
    """Return the shortest mount point of each device, by number and by name. Bind mounts list a device repeatedly."""
    paths: dict[str, str] = {}
    for mount in sorted(mounts, key=lambda mount: len(mount.path)):
        paths.setdefault(mount.device, mount.path)
        if mount.source.startswith("/dev/"):  # btrfs and zfs use their own device numbers
            paths.setdefault(mount.source.rpartition("/")[2], mount.path)
    return paths


def disk_kind(folder: Path) -> str:
    """Return nvme, ssd, hdd or virtual."""
    if folder.name.startswith("nvme"):
        return "nvme"
    if folder.name.startswith(_VIRTUAL) or not (folder / "device").exists():
        return "virtual"
    return "hdd" if read_number(folder / "queue/rotational") == 1 else "ssd"


def _read_disk(folder: Path, block: Path, mounts: Mapping[str, str]) -> pb.Disk:
    return pb.Disk(
        device=folder.name.replace("!", "/"),
        model=read_text(folder / "device/model") or "",
        kind=disk_kind(folder),
        bytes=(read_number(folder / "size") or 0) * SECTOR,
        mounts=sorted(_mounts(folder, block, mounts, _MAX_LEVELS)),
    )


def _mounts(folder: Path, block: Path, mounts: Mapping[str, str], levels: int) -> set[str]:
    """Return the mount points of a device, its partitions, and the volumes on top of them."""
    keys = (read_text(folder / "dev") or "", folder.name)
    found = {mounts[key] for key in keys if key in mounts}
    if levels:
        for name in entries(folder):
            if (folder / name / "partition").exists():
                found |= _mounts(folder / name, block, mounts, levels - 1)
        for holder in entries(folder / "holders"):
            found |= _mounts(block / holder, block, mounts, levels - 1)
    return found
