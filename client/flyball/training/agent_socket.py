"""The places where the agent's socket may be."""

from __future__ import annotations

import os
import stat

SYSTEM_PATH = "/run/flyball-agent/agent.sock"
_NAME = "agent.sock"


def candidates() -> list[str]:
    """Return the paths to try in order: the one in the environment alone; else the system's, then the user's own."""
    chosen = os.environ.get("FLYBALL_SOCKET")
    if chosen:
        return [chosen]
    own = own_folder()
    return [SYSTEM_PATH, f"{own}/{_NAME}"] if _is_private(own) else [SYSTEM_PATH]


def own_folder() -> str:
    """Return the folder in which `flyball up` of this user keeps a link to its agent's socket."""
    temporary = os.environ.get("TMPDIR") or os.environ.get("TEMP") or os.environ.get("TMP") or "/tmp"  # noqa: S108  as tempfile does
    return f"{temporary.rstrip('/')}/flyball-{os.getuid()}"


def _is_private(folder: str) -> bool:
    """Return True for a folder of this user that no other user can write to: others could place a socket there."""
    try:
        found = os.lstat(folder)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
