"""Space in `/dev/shm`, through which data-loader workers hand over batches."""

import os
from pathlib import Path

from flyball_agent.probes.columns import ONE, GroupedColumns
from flyball_agent.probes.files import unavailable
from flyball_agent.probes.probe import Sample, Unsupported
from flyball_proto.metric import gauge

METRICS = (
    gauge("shared_memory_total_bytes", "bytes", "Size of /dev/shm."),
    gauge("shared_memory_used_bytes", "bytes", "Space in use in /dev/shm; it is RAM."),
    gauge("shared_memory_used_ratio", "ratio", "Share of /dev/shm that is in use.", scale=10_000),
)


def space(status: os.statvfs_result) -> tuple[int, int]:
    """Total and used bytes."""
    return status.f_blocks * status.f_frsize, (status.f_blocks - status.f_bfree) * status.f_frsize


class SharedMemoryProbe:
    """Asks the kernel about a file system in RAM: it always answers."""

    name = "shared_memory"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, path: Path = Path("/dev/shm")) -> None:  # noqa: S108  it is watched, not written
        self._path = path
        self._columns = GroupedColumns(METRICS).columns(ONE)

    def read(self) -> Sample:
        try:
            total, used = space(os.statvfs(self._path))
        except OSError as error:
            raise unavailable(self._path, error, "mount a tmpfs there, or give the container --ipc=host") from None
        if not total:
            raise Unsupported(f"{self._path} has no limit of its own")
        return Sample(self._columns, (total, used, used / total))
