"""Finds the host's files from a container, in which the host's root is mounted at a folder such as `/host`."""

import os
from pathlib import Path

HOST = Path("/")
"""The root of an agent that runs on the host itself."""

_MAX_LINKS = 40  # as the kernel's limit, MAXSYMLINKS in include/linux/namei.h


def is_elsewhere(root: Path) -> bool:
    """Return True if the agent runs in a container and the host's root is mounted at `root`."""
    return root != HOST


def host_process(proc_root: Path, root: Path) -> Path:
    """Return the folder of a process whose mounts and control group are the host's.

    On the host this is the agent itself. In a container those of the agent are the container's, so it is process 1.
    """
    return proc_root / ("1" if is_elsewhere(root) else "self")


def below(root: Path, path: str) -> Path:
    """Return where the agent finds a path of the host. Absolute symbolic links on the way stay below the root."""
    done: list[str] = []
    todo = _parts(path)
    links = 0
    while todo:
        part = todo.pop()
        if part == "..":
            done = done[:-1]
            continue
        target = _target(root.joinpath(*done, part))
        if target and links < _MAX_LINKS:
            links += 1
            done = [] if target.startswith("/") else done
            todo += _parts(target)
        else:
            done.append(part)
    return root.joinpath(*done)


def _parts(path: str) -> list[str]:
    """Return the parts of a path, the last one first."""
    return [part for part in reversed(path.split("/")) if part not in {"", "."}]


def _target(path: Path) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115  the text of the link is wanted, a path would drop its slashes
    except OSError:
        return ""
