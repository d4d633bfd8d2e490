"""Reads a job-mapping directory, as prologs of HPC schedulers write it for dcgm-exporter (`DCGM_HPC_JOB_MAPPING_DIR`).

Each file is named by a GPU's index, or by the index and the id of a MIG instance (`2.1`). Each line is a job id.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from flyball_agent.runs.environment import clean

_NAME = re.compile(r"^(\d{1,4})(?:\.\d{1,4})?$")
_IDLE = ("", "0")
"""Prologs write 0 for a GPU without a job."""

_READ_BYTES = 4096
_MAX_FILES = 1024  # 64 GPUs with more instances than MIG allows
_MAX_JOBS = 64


class JobMappingFailed(Exception):
    """The directory cannot be read. `denied`: for want of permission."""

    def __init__(self, text: str, *, denied: bool) -> None:
        super().__init__(text)
        self.denied = denied


def read_job_mapping(directory: Path) -> Mapping[int, tuple[str, ...]]:
    """Return the jobs on each GPU by its index; those of MIG instances count for their GPU.

    A file that disappears or cannot be read is left out. Raise `JobMappingFailed` if the directory cannot be read.
    """
    jobs: dict[int, dict[str, None]] = {}
    try:
        with os.scandir(directory) as entries:
            names = sorted(entry.name for _, entry in zip(range(_MAX_FILES), entries, strict=False))
    except OSError as error:
        text = f"{directory}: {error.strerror or error}"
        raise JobMappingFailed(text, denied=isinstance(error, PermissionError)) from None
    for name in names:
        if found := _NAME.match(name):
            jobs.setdefault(int(found[1]), {}).update(dict.fromkeys(_jobs_in(directory / name)))
    return {index: tuple(of_gpu)[:_MAX_JOBS] for index, of_gpu in jobs.items() if of_gpu}


def _jobs_in(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            content = file.read(_READ_BYTES)
    except OSError:
        return
    for line in content.splitlines():
        job = clean(line, 60)
        if job not in _IDLE:
            yield job
