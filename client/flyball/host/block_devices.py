"""Finds the disk below a partition, a volume or a file system."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flyball_agent.inventory.disks import disk_kind
from flyball_agent.probes.files import entries
from flyball_agent.probes.mounts import Mount

NETWORK_FILE_SYSTEMS = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "ceph", "fuse.ceph", "glusterfs", "fuse.glusterfs", "gpfs",
    "beegfs", "orangefs", "afs", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.mountpoint-s3", "fuse.rclone",
    "fuse.juicefs", "wekafs", "panfs", "pvfs2", "ocfs2",
})  # fmt: skip
"""File systems whose files are on other machines."""

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "hugetlbfs"})

_SLOWEST_FIRST = ("hdd", "virtual", "ssd", "nvme")
_MOST_LEVELS = 6
"""Levels of volumes that are followed: partition, RAID, encryption, logical volume …"""


@dataclass(frozen=True, slots=True)
class FoundDisk:
    """A disk and its kind; of several disks of one volume, the slowest."""

    device: str
    kind: str


def disk_below(sys_root: Path, device: str) -> FoundDisk | None:
    """Return the disk below a block device, by its name (`nvme0n1p2`, `dm-0`) or number (`259:2`)."""
    folder = sys_root / ("dev/block" if ":" in device else "class/block") / device
    if not folder.exists():
        folder = sys_root / "block" / device
    if not folder.exists():
        return None
    disks = {each.name: disk_kind(each) for each in _disks(folder.resolve(), sys_root, _MOST_LEVELS)}
    if not disks:
        return None
    name = min(disks, key=lambda each: (_SLOWEST_FIRST.index(disks[each]), each))
    return FoundDisk(name, disks[name])


def _disks(folder: Path, sys_root: Path, levels: int) -> Iterator[Path]:
    """Yield the folders of the whole disks below a device."""
    if (folder / "partition").exists():
        folder = folder.parent
    below = entries(folder / "slaves")
    if not below or not levels:
        yield folder
    for name in below:
        yield from _disks((folder / "slaves" / name).resolve(), sys_root, levels - 1)


def mount_of(mounts: list[Mount], path: str) -> Mount | None:
    """Return the mount that holds a path. Of several at one place, the last one hides the others."""
    found: Mount | None = None
    for mount in mounts:
        inside = path == mount.path or path.startswith(mount.path.rstrip("/") + "/")
        if inside and (found is None or len(mount.path) >= len(found.path)):
            found = mount
    return found


def disk_of_mount(mount: Mount, sys_root: Path) -> FoundDisk | None:
    """Return the disk of a mount, by its number or, for btrfs and others with their own numbers, by its source."""
    found = disk_below(sys_root, mount.device)
    if found is None and mount.source.startswith("/dev/"):
        found = disk_below(sys_root, mount.source.rpartition("/")[2])
    return found
