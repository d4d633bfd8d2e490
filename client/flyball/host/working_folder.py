"""The folder in which a training would run: its file system, the disk below, and the free space."""

import os
from pathlib import Path

from flyball.host.block_devices import (
    MEMORY_FILE_SYSTEMS,
    NETWORK_FILE_SYSTEMS,
    FoundDisk,
    disk_of_mount,
    mount_of,
)
from flyball.host.hardware_parts import WorkingFolder
from flyball.host.places import HostPlaces
from flyball.host.reasons import Reasons, add_reasons
from flyball_agent.probes.files import read_text
from flyball_agent.probes.mounts import Mount, parse_mountinfo

_FILES_OF_RUNTIMES = ("/etc/hosts", "/etc/resolv.conf", "/etc/hostname")
"""Container runtimes mount these from the disk that also holds the container's own layer."""

REASONS = {
    "mount": "the kernel lists no mounts",
    "file_system": "the kernel lists no mounts",
    "device": "the file system does not belong to a disk that is visible here",
    "kind": "the file system does not belong to a disk that is visible here",
    "bytes": "the size of the file system cannot be read",
    "free_bytes": "the size of the file system cannot be read",
}


def read_working_folder(places: HostPlaces, reasons: Reasons) -> WorkingFolder:
    """Return the folder with its file system and disk."""
    path = str(places.folder.resolve())
    mounts = parse_mountinfo(read_text(places.proc / "self/mountinfo") or "")
    mount = mount_of(mounts, path)
    disk = _disk(mount, mounts, places) if mount else None
    size, free = _space(places.folder)
    folder = WorkingFolder(
        path=path,
        mount=mount.path if mount else None,
        file_system=mount.kind if mount else None,
        device=disk.device if disk else mount.source if mount and mount.kind in NETWORK_FILE_SYSTEMS else None,
        kind=disk.kind if disk else _kind_without_disk(mount),
        bytes=size,
        free_bytes=free,
    )
    add_reasons(reasons, "folder", folder, REASONS)
    return folder


def _kind_without_disk(mount: Mount | None) -> str | None:
    if mount is None:
        return None
    if mount.kind in NETWORK_FILE_SYSTEMS:
        return "network"
    return "memory" if mount.kind in MEMORY_FILE_SYSTEMS else None


def _disk(mount: Mount, mounts: list[Mount], places: HostPlaces) -> FoundDisk | None:
    found = disk_of_mount(mount, places.sys)
    if found is not None or mount.kind != "overlay":
        return found
    others = (each for each in mounts if each.path in _FILES_OF_RUNTIMES)
    return next((disk for each in others if (disk := disk_of_mount(each, places.sys))), None)


def _space(folder: Path) -> tuple[int | None, int | None]:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None, None
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
