"""Opens the run of the hooks, with the facts that the environment and torch have about this process."""

from __future__ import annotations

import os
import sys

from flyball.training.opening import POLICY, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from flyball.training.run import Run

    Progress = tuple[int | None, int]  # steps in all, and those done before

TOTAL_STEPS = "FLYBALL_TOTAL_STEPS"
_UNKNOWN = (None, 0)


def open_run(progress: Callable[[], Progress] | None) -> Run:
    """Open a run. A script that does not know of adjustments cannot agree to any: the command line does, or nobody."""
    rank, size = _distributed()
    total, done = _of_framework(progress)
    opened = run(total_steps=_of_command() or total, rank=rank, world_size=size, policy=os.environ.get(POLICY, "off"))
    opened.last_step = done
    return opened


def _distributed() -> tuple[int | None, int | None]:
    """Return rank and world size of a script that passes them to torch itself."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    except Exception:  # noqa: BLE001, S110  then the variables of the launcher count
        pass
    return None, None


def _of_command() -> int | None:
    text = os.environ.get(TOTAL_STEPS, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def _of_framework(progress: Callable[[], Progress] | None) -> Progress:
    try:
        return progress() if progress is not None else _UNKNOWN
    except Exception:  # noqa: BLE001  it is only unknown
        return _UNKNOWN
