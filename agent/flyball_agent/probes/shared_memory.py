"""Space in `/dev/shm`, which data-loader workers use to pass batches."""

import os
from pathlib import Path

from flyball_agent.probes.columns import ONE, GroupedColumns
from flyball_agent.probes.files import unavailable
from flyball_agent.probes.probe import ProbeSample, Unsupported
from flyball_proto.metric import gauge

METRICS = (
    gauge("shared_memory_total_bytes", "bytes", "Size of /dev/shm."),
    gauge("shared_memory_used_bytes", "bytes", "Space in use in /dev/shm. It is a part of RAM."),
    gauge("shared_memory_used_ratio", "ratio", "Used share of /dev/shm.", scale=10_000),
)


def space(status: os.statvfs_result) -> tuple[int, int]:
    """Return total and used bytes."""
    return status.f_blocks * status.f_frsize, (status.f_blocks - status.f_bfree) * status.f_frsize


class SharedMemoryProbe:
    """Reads the space of a file system in RAM, which never blocks."""

    name = "shared_memory"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, path: Path = Path("/dev/shm")) -> None:  # noqa: S108  only read, never written
        self._path = path
        self._columns = GroupedColumns(METRICS).columns(ONE)

    def read(self) -> ProbeSample:
        try:
            total, used = space(os.statvfs(self._path))
        except OSError as error:
            raise unavailable(
                self._path, error, "mount a tmpfs there, or start the container with --ipc=host"
            ) from None
        if not total:
            raise Unsupported(f"{self._path} has no size limit")
        return ProbeSample(self._columns, (total, used, used / total))
