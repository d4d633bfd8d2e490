"""One agent a state directory: two would mix their records."""

import fcntl
import os
from pathlib import Path

import structlog

from flyball_agent.errors import StateDirectoryInUse

_log = structlog.get_logger(__name__)


def lock_directory(directory: Path) -> int | None:
    """Hold the directory until the descriptor closes or the process ends; None when the disk does not let us."""
    path = directory / "lock"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o640)
    except OSError as error:
        _log.warning("state_directory_not_locked", path=str(path), error=str(error))
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(fd, 32, 0).decode(errors="replace").strip()
        os.close(fd)
        raise StateDirectoryInUse(
            f"{directory} is in use by another agent (process {holder or 'unknown'}): "
            "stop it, or give this one its own state_directory"
        ) from None
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        pass  # a full disk: the lock holds all the same
    return fd
