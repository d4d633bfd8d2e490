"""Values for the next start of a run, in the folder of a launcher that restarts it (`flyball run --max-restarts`)."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "FLYBALL_RESTART_STATE"
"""The variable with the folder."""

_MAX_BYTES = 64 * 1024


def can_remember() -> bool:
    """Return True if somebody restarts this run and keeps a folder for it."""
    return bool(os.environ.get(FOLDER))


def remember(run: str, name: str, value: Any) -> bool:
    """Keep a value for the next start of a run. Return False if there is no place for it."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return False
    import json

    path = _path(folder, run)
    temporary = f"{path}.{os.getpid()}"
    try:
        content = json.dumps(_read(path) | {name: value}).encode()
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, content)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)  # noqa: PTH105  pathlib takes 7 ms to import
    except (OSError, ValueError, TypeError):
        return False
    return True


def remembered(run: str, name: str) -> Any:
    """Return the value that an earlier start has kept, or None."""
    folder = os.environ.get(FOLDER)
    return _read(_path(folder, run)).get(name) if folder else None


def _path(folder: str, run: str) -> str:
    """Return the file of a run. Its name may contain characters that a file name must not have."""
    return f"{folder}/{run.encode().hex()[:200]}.json"


def _read(path: str) -> dict[str, Any]:
    import json

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return {}
    try:
        found = json.loads(os.read(descriptor, _MAX_BYTES))
    except (OSError, ValueError):
        return {}
    finally:
        os.close(descriptor)
    return found if isinstance(found, dict) else {}
