"""A real control group with a memory limit, where this machine lets tests make one."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MOUNT = Path("/sys/fs/cgroup")


@contextmanager
def limited_group(limit_bytes: int) -> Iterator[Path]:
    """Yield the folder of a new group; skip the test where none can be made."""
    unified = (MOUNT / "cgroup.controllers").exists()
    around = MOUNT if unified else MOUNT / "memory"
    folder = around / f"flyball-test-{os.getpid()}" / "slurm" / "uid_0" / "job_42"
    try:
        _make(folder, around, unified=unified)
        (folder / ("memory.max" if unified else "memory.limit_in_bytes")).write_text(str(limit_bytes))
        if unified:
            (folder / "memory.swap.max").write_text("0")
    except OSError as error:
        _remove(folder, around)
        pytest.skip(f"no control group can be made here: {error}")
    try:
        yield folder
    finally:
        _remove(folder, around)


def _make(folder: Path, around: Path, *, unified: bool) -> None:
    """Make the folders, and let the inner ones have limits."""
    for each in [*reversed(folder.relative_to(around).parents)][1:]:
        (around / each).mkdir(exist_ok=True)
        if unified:
            (around / each / "cgroup.subtree_control").write_text("+memory")
    folder.mkdir()


def _remove(folder: Path, around: Path) -> None:
    """Kill what is left in the group, and remove the folders."""
    with suppress(OSError, ProcessLookupError):
        for pid in (folder / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
    deadline = time.monotonic() + 10
    while folder != around and time.monotonic() < deadline:
        try:
            folder.rmdir()
            folder = folder.parent
        except FileNotFoundError:
            folder = folder.parent
        except OSError:  # a killed process is not gone yet
            time.sleep(0.01)
