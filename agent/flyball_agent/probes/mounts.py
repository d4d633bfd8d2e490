"""Mounted file systems as the kernel lists them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

LOCAL = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "nilfs2", "ntfs3"}
)
"""Types that live on a disk of this host, so that asking for their space does not wait for a server."""

_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of `/proc/self/mountinfo`.

    `read_only` is the file system's own word, not that of this mount: a service manager that protects the system from
    the agent mounts everything read-only for it.
    """

    device: str  # major:minor
    root: str
    path: str
    kind: str
    source: str
    read_only: bool


def parse_mountinfo(text: str) -> list[Mount]:
    """Every mount; lines that do not parse are left out."""
    mounts = []
    for line in text.splitlines():
        left, dash, right = line.partition(" - ")
        fields, source = left.split(" "), right.split(" ")
        if dash and len(fields) >= 6 and len(source) >= 2:
            options = source[2].split(",") if len(source) > 2 else []
            mounts.append(
                Mount(fields[2], _plain(fields[3]), _plain(fields[4]), source[0], _plain(source[1]), "ro" in options)
            )
    return mounts


def local(mounts: Iterable[Mount]) -> list[Mount]:
    """One mount a local file system: its shortest path; bind mounts repeat it. A container's root counts too."""
    chosen: dict[str, Mount] = {}
    for mount in mounts:
        if mount.kind in LOCAL or (mount.kind == "overlay" and mount.path == "/"):
            other = chosen.get(mount.device)
            if other is None or len(mount.path) < len(other.path):
                chosen[mount.device] = mount
    return sorted(chosen.values(), key=lambda mount: mount.path)


def _plain(text: str) -> str:
    """The kernel writes spaces, tabs, newlines and backslashes as octal numbers."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)
