"""Space and inodes of mounted file systems."""

import os
from collections.abc import Sequence
from pathlib import Path

from flyball_agent.probes.columns import GroupedColumns
from flyball_agent.probes.files import unavailable
from flyball_agent.probes.host_root import HOST, below, host_process, is_elsewhere
from flyball_agent.probes.mounts import Mount, local, parse_mountinfo
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import gauge, state
from flyball_proto.unavailable_reading import Reason, UnavailableReading

_LABEL = ("mount",)
MAX_FILESYSTEMS = 64
"""Maximum number of file systems watched on one host, unless the settings name them."""

METRICS = (
    gauge("filesystem_total_bytes", "bytes", "Size of the file system.", _LABEL),
    gauge("filesystem_available_bytes", "bytes", "Space available to unprivileged processes.", _LABEL),
    gauge("filesystem_used_bytes", "bytes", "Space in use.", _LABEL),
    gauge(
        "filesystem_used_ratio", "ratio", "Used share of the space available to unprivileged processes.", _LABEL, 10_000
    ),
    gauge("filesystem_inodes", "inodes", "Number of inodes. 0: the file system creates them on demand.", _LABEL),
    gauge("filesystem_inodes_free", "inodes", "Free inodes.", _LABEL),
    state(
        "filesystem_read_only",
        "1 while the file system is read-only. The kernel makes a file system read-only after errors.",
        ("no", "yes"),
        _LABEL,
    ),
)


def space_values(status: os.statvfs_result, read_only: bool | None) -> list[Value]:
    """Return the values of `METRICS`. The ratio is that of `df`, which excludes the space reserved for root.

    `read_only` is the state according to the list of mounts; None: it does not contain the file system. The flag of
    statvfs is also set if only this mount is read-only, as for a sandboxed agent.
    """
    used = (status.f_blocks - status.f_bfree) * status.f_frsize
    available = status.f_bavail * status.f_frsize
    return [
        status.f_blocks * status.f_frsize,
        available,
        used,
        used / (used + available) if used + available > 0 else None,
        status.f_files,
        status.f_ffree,
        int(bool(status.f_flag & os.ST_RDONLY) if read_only is None else read_only),
    ]


class FilesystemProbe:
    """Reads file systems.

    It is blocking, and by default it reads only local file systems: a query to a dead network file system may never
    return.
    """

    name = "filesystem"
    metrics = METRICS
    every_seconds = 10.0
    blocking = True

    def __init__(self, proc_root: Path, wanted: Sequence[str] = (), root: Path = HOST) -> None:
        self._root = root
        self._mountinfo = host_process(proc_root, root) / "mountinfo"
        self._wanted = tuple(wanted)
        self._columns = GroupedColumns(METRICS)
        self._text = ""
        self._parsed: list[Mount] = []

    def read(self) -> ProbeSample:
        mounts = self._mounts()
        if not mounts:
            raise Absent("no local file system is mounted", "list mount points in probes.filesystems")
        values: list[Value] = []
        missing: list[UnavailableReading] = []
        for path, read_only in mounts:
            try:
                status = os.statvfs(self._path(path))
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
        return ProbeSample(self._columns.columns([(path,) for path, _ in mounts]), values, tuple(missing))

    def _path(self, path: str) -> Path | str:
        """Return where the agent finds a path of the host."""
        return below(self._root, path) if is_elsewhere(self._root) else path

    def _mounts(self) -> list[tuple[str, bool | None]]:
        """Return each path and whether it is read-only. Mounted files (a container's /etc/hosts) are skipped."""
        listed = self._read_mounts()
        if self._wanted:
            read_only = {mount.path: mount.read_only for mount in listed}
            return [(path, read_only.get(path)) for path in self._wanted]
        folders = [mount for mount in local(listed) if Path(self._path(mount.path)).is_dir()]
        return [(mount.path, mount.read_only) for mount in folders[:MAX_FILESYSTEMS]]

    def _read_mounts(self) -> list[Mount]:
        try:
            text = self._mountinfo.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            if self._wanted:
                return []
            raise unavailable(self._mountinfo, error) from None
        if text != self._text:
            self._text, self._parsed = text, parse_mountinfo(text)
        return self._parsed
