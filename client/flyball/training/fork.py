"""The open runs of this process, and what happens to them when it forks or ends."""

from __future__ import annotations

import atexit
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.training.protocols import OpenRun

MAX_OPEN_RUNS = 16
_open: list[OpenRun] = []
_watching = False


def add(run: OpenRun) -> None:
    """Add a run that was opened. An open run with the same name is finished: a notebook's cell was run again."""
    global _watching  # noqa: PLW0603  a hook for forks cannot be removed, and so it is set once
    for other in open_runs():
        if other.name == run.name:
            other.finish()
    if len(_open) >= MAX_OPEN_RUNS:
        _open[0].finish()
    _open.append(run)
    if not _watching:
        _watching = True
        atexit.register(_finish)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_detach)


def remove(run: OpenRun) -> None:
    """Remove a run that has finished."""
    _open[:] = [known for known in _open if known is not run]


def open_runs() -> list[OpenRun]:
    """Return the open runs, the oldest first."""
    return list(_open)


def newest_run() -> OpenRun | None:
    """Return the newest open run of this process."""
    return _open[-1] if _open else None


def _finish() -> None:
    """Send the last report of runs that the script did not finish. A forked child has copies that report nothing."""
    for run in open_runs():
        if run.is_owned:
            run.finish()


def _detach() -> None:
    """Detach the runs of the parent in a new child."""
    for run in open_runs():
        run.detach()
