"""Parses the kernel's list of mounted file systems."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

LOCAL = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "nilfs2", "ntfs3"}
)
"""File systems on a local disk: querying their space does not wait for a server."""

_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of `/proc/self/mountinfo`.

    `read_only` is the state of the file system, not of this mount: a service manager that sandboxes the agent mounts
    everything read-only for it.
    """

    device: str  # major:minor
    root: str
    path: str
    kind: str
    source: str
    read_only: bool


def parse_mountinfo(text: str) -> list[Mount]:
    """Return all mounts. Lines that do not parse are skipped."""
    mounts = []
    for line in text.splitlines():
        left, dash, right = line.partition(" - ")
        fields, source = left.split(" "), right.split(" ")
        if dash and len(fields) >= 6 and len(source) >= 2:
            options = source[2].split(",") if len(source) > 2 else []
            mounts.append(
                Mount(
                    fields[2],
                    unescaped(fields[3]),
                    unescaped(fields[4]),
                    source[0],
                    unescaped(source[1]),
                    "ro" in options,
                )
            )
    return mounts


def local(mounts: Iterable[Mount]) -> list[Mount]:
    """Return one mount per local file system, the one with the shortest path.

    Bind mounts list a file system several times. The root of a container counts as local.
    """
    chosen: dict[str, Mount] = {}
    for mount in mounts:
        if mount.kind in LOCAL or (mount.kind == "overlay" and mount.path == "/"):
            other = chosen.get(mount.device)
            if other is None or len(mount.path) < len(other.path):
                chosen[mount.device] = mount
    return sorted(chosen.values(), key=lambda mount: mount.path)


def unescaped(text: str) -> str:
    """Decode the octal escapes that the kernel writes for spaces, tabs, newlines and backslashes."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)
