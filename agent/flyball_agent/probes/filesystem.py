"""Space and inodes of mounted file systems."""

import os
from collections.abc import Sequence
from pathlib import Path

from flyball_agent.probes.columns import GroupedColumns
from flyball_agent.probes.files import unavailable
from flyball_agent.probes.mounts import Mount, local, parse_mountinfo
from flyball_agent.probes.probe import Absent, Sample, Value
from flyball_proto.metric import gauge, state
from flyball_proto.unavailable_reading import Reason, UnavailableReading

_LABEL = ("mount",)
MOST = 64
"""File systems watched on one host unless they are named in the settings."""

METRICS = (
    gauge("filesystem_total_bytes", "bytes", "Size of the file system.", _LABEL),
    gauge("filesystem_available_bytes", "bytes", "Space that an unprivileged process can still have.", _LABEL),
    gauge("filesystem_used_bytes", "bytes", "Space in use.", _LABEL),
    gauge("filesystem_used_ratio", "ratio", "Used share of what unprivileged processes can have.", _LABEL, 10_000),
    gauge("filesystem_inodes", "inodes", "Inodes; 0 where the file system makes them as it needs.", _LABEL),
    gauge("filesystem_inodes_free", "inodes", "Inodes that are free.", _LABEL),
    state("filesystem_read_only", "Whether it may be written; the kernel may withdraw it.", ("no", "yes"), _LABEL),
)


def space_values(status: os.statvfs_result, read_only: bool) -> list[Value]:
    """Values of `METRICS`; the ratio is that of `df`, which does not count what is reserved for root."""
    used = (status.f_blocks - status.f_bfree) * status.f_frsize
    available = status.f_bavail * status.f_frsize
    return [
        status.f_blocks * status.f_frsize,
        available,
        used,
        used / (used + available) if used + available > 0 else None,
        status.f_files,
        status.f_ffree,
        int(read_only or bool(status.f_flag & os.ST_RDONLY)),
    ]


class FilesystemProbe:
    """Asking a dead network file system waits for ever: hence blocking, and local ones only unless others are named."""

    name = "filesystem"
    metrics = METRICS
    every_seconds = 10.0
    blocking = True

    def __init__(self, proc_root: Path, wanted: Sequence[str] = ()) -> None:
        self._mountinfo = proc_root / "self/mountinfo"
        self._wanted = tuple(wanted)
        self._columns = GroupedColumns(METRICS)
        self._text = ""
        self._parsed: list[Mount] = []

    def read(self) -> Sample:
        mounts = self._mounts()
        if not mounts:
            raise Absent("no local file system is mounted", "name mount points in probes.filesystems")
        values: list[Value] = []
        missing: list[UnavailableReading] = []
        for path, read_only in mounts:
            try:
                status = os.statvfs(path)
            except OSError as error:
                reason = unavailable(path, error, "correct probes.filesystems")
                missing.append(UnavailableReading(self.name, "", path, reason.reason, reason.detail, reason.remedy))
                values += [None] * len(METRICS)
                continue
            found = space_values(status, read_only)
            if found[3] is None:
                detail = "the file system has no size"
                missing.append(UnavailableReading(self.name, "filesystem_used_ratio", path, Reason.UNSUPPORTED, detail))
            values += found
        return Sample(self._columns.columns([(path,) for path, _ in mounts]), values, tuple(missing))

    def _mounts(self) -> list[tuple[str, bool]]:
        """Paths with whether they are read-only. Files (a container's /etc/hosts) are not places to fill."""
        listed = self._listed()
        if self._wanted:
            read_only = {mount.path for mount in listed if mount.read_only}
            return [(path, path in read_only) for path in self._wanted]
        return [(mount.path, mount.read_only) for mount in local(listed) if Path(mount.path).is_dir()][:MOST]

    def _listed(self) -> list[Mount]:
        try:
            text = self._mountinfo.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            if self._wanted:
                return []
            raise unavailable(self._mountinfo, error) from None
        if text != self._text:
            self._text, self._parsed = text, parse_mountinfo(text)
        return self._parsed
