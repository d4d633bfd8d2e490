"""Pausing: all ranks wait at a boundary, for a short time. It ends by itself, before a collective would time out."""

from __future__ import annotations

import time
from time import perf_counter_ns

from flyball.adjustments.device_work import finish_device_work
from flyball.adjustments.process_groups import longest_wait_seconds
from flyball.adjustments.value import AdjustableValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from flyball.training.run import Run

    class PauseOwner(Protocol):
        """Exchanges messages while the training waits."""

        def poll(self) -> None:
            """Exchange messages now, and decide what is due."""

        def announce(self) -> None:
            """Send the values to the agent again."""


SHORTEST_SECONDS = 10.0
"""A shorter pause is of no use: heat sinks and fans take tens of seconds. This is a choice, not a measurement."""

_POLL_SECONDS = 0.05
_SECOND = 1_000_000_000


class Pause:
    """Waits from the boundary at which it was decided until it is taken back, or for the longest time that is safe."""

    __slots__ = ("_longest", "_owner", "_run", "value")

    def __init__(self, run: Run, owner: PauseOwner, longest: Callable[[], float] = longest_wait_seconds) -> None:
        self._longest = longest
        self._run = run
        self._owner = owner
        self.value = AdjustableValue(
            "pause",
            False,
            choices=(False, True),
            lever="pause",
            facts={"longest_seconds": f"{longest():g}"},
            check=self._check,
            at_once=_is_resume,
        )

    def _check(self, to: bool) -> str:
        if to:
            self.refresh()
        return ""

    def refresh(self) -> None:
        """Note how long a pause may be: process groups begin after the run, and more are made later."""
        longest = self._longest()
        self.value.set_fact("longest_seconds", f"{longest:g}")
        self.value.blocked = "pause_too_long" if longest < SHORTEST_SECONDS else ""

    def wait(self) -> None:
        """Wait at this boundary, after the device has done its work: no collective is under way then."""
        self._run.add_rest(worked=finish_device_work())
        began = counted = perf_counter_ns()
        ends = began + int(self._longest() * _SECOND)
        try:
            while self.value.now and perf_counter_ns() < ends:
                time.sleep(_POLL_SECONDS)
                counted = self._count(counted)
                self._owner.poll()
        finally:
            self.value.now = False
            self._count(counted)
            self._owner.announce()

    def _count(self, counted: int) -> int:
        """Count the time since the last call, and report: a rank that reports nothing seems to hang."""
        now = perf_counter_ns()
        self._run.add_rest(paused=now - counted)
        self._run.report_if_due()
        return now


def _is_resume(to: bool) -> bool:
    return not to
