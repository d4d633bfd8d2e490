"""Locks the state directory, so that two agents cannot mix their records."""

import fcntl
import os
from pathlib import Path

import structlog

from flyball_agent.errors import StateDirectoryInUse

_log = structlog.get_logger(__name__)


def lock_directory(directory: Path) -> int | None:
    """Lock the directory until the descriptor is closed or the process ends; return None if the disk refuses it."""
    path = directory / "lock"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o640)
    except OSError as error:
        _log.warning("state_directory_lock_failed", path=str(path), error=str(error))
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(fd, 32, 0).decode(errors="replace").strip()
        os.close(fd)
        raise StateDirectoryInUse(
            f"{directory} is in use by another agent (process {holder or 'unknown'}): "
            "stop it, or set another state_directory for this one"
        ) from None
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        pass  # the disk is full; the lock is held nevertheless
    return fd
