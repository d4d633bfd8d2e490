"""The run of an object of a framework: open while that object trains, once or several times."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from flyball.training import opening
from flyball.training.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_STEPS = 2**53
"""Frameworks write infinity, or the largest integer, for a training without an end."""


class Attachment:
    """Opens, reopens and finishes a run. A run that the caller has opened is never finished here."""

    def __init__(self, run: Run | str, options: Mapping[str, Any]) -> None:
        self._owned = not isinstance(run, Run)
        self._run = run if isinstance(run, Run) else None
        self._name = run.name if isinstance(run, Run) else run
        self._options = dict(options)
        self._total_given = (run.total_steps if isinstance(run, Run) else options.get("total_steps")) is not None

    @property
    def run(self) -> Run:
        """Return the run. It is opened at the first use."""
        if self._run is None:
            self._run = opening.run(self._name, **self._options)
        return self._run

    def begin(self, *, rank: int, world_size: int, done_steps: int, total_steps: object = None) -> None:
        """Open the run for a training that begins now, after the steps that an earlier one has done."""
        if self._owned and self._run is not None and not self._run.is_owned:
            self._run = None
        known = {"rank": rank, "world_size": world_size} if not {"rank", "world_size"} & set(self._options) else {}
        if not self._total_given and isinstance(total_steps, int | float) and 0 < total_steps < MAX_STEPS:
            known["total_steps"] = int(total_steps)
        if self._run is None:
            self._run = opening.run(self._name, **(self._options | known))
        else:
            self._begin_again(self._run, known)
        if done_steps < self._run.last_step:
            self._run._go_to(done_steps)

    def _begin_again(self, run: Run, known: dict[str, int]) -> None:
        """Let a run that exists already go on with what is known by now."""
        run.restart_clock()
        if self._owned:
            run.reopen()
            run.describe(**known)  # type: ignore[arg-type]  # the names are those of numbers
        elif "total_steps" in known:
            run.describe(total_steps=known["total_steps"])

    def end(self) -> None:
        """Finish the run, because its training has ended."""
        if self._owned and self._run is not None:
            self._run.finish()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the run behind: it belongs to this process. The copy opens one of its own when it trains."""
        return self.__dict__ | {"_run": None, "_owned": True}


def attempt(action: Callable[..., object], *values: object) -> None:
    """Call something that must not reach the training if it fails: frameworks change from version to version."""
    with contextlib.suppress(Exception):
        action(*values)
