"""Throttling: the training sleeps between steps, so that a GPU or a battery recovers. Collectives keep moving."""

from __future__ import annotations

import time
from time import perf_counter_ns

from flyball.adjustments.device_work import finish_device_work
from flyball.adjustments.process_groups import longest_wait_seconds
from flyball.adjustments.value import AdjustableValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.training.run import Run

SHARES = (0, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Of the time, slept between steps."""

_SECOND = 1_000_000_000


class Throttle:
    """Sleeps after each step for a share of the time. It is counted as throttled, not as time of a step."""

    __slots__ = ("_before", "_is_waiting", "_resumed", "_run", "value")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._is_waiting = False  # for the next boundary
        self._resumed = 0  # when the present step began
        self._before = 0  # duration of the step before it
        self.value = AdjustableValue("throttle", 0, choices=SHARES, lever="throttle", apply=self._apply)

    def _apply(self, share: float) -> float:
        if share and not self._is_waiting:
            self._resumed, self._before = perf_counter_ns(), 0
            self._wait_for_boundary()
        return share

    def _wait_for_boundary(self) -> None:
        self._is_waiting = True
        self._run.at_boundary(self._boundary)

    def _boundary(self, run: Run) -> None:
        self._is_waiting = False
        if run.finished:
            self.value.now = 0  # a run that is opened again begins without it
        share = self.value.now
        if not share:
            return
        self._wait_for_boundary()
        if run.is_owned:
            worked = finish_device_work()
            now = perf_counter_ns()
            taken = now - self._resumed
            # An evaluation or a checkpoint before this boundary must not lead to a long sleep.
            step = min(taken, self._before or taken)
            self._before = taken
            nanoseconds = min(int(step * share / (1 - share)), int(longest_wait_seconds() * _SECOND))
            time.sleep(nanoseconds / _SECOND)
            run.add_rest(throttled=perf_counter_ns() - now, worked=worked)
        self._resumed = perf_counter_ns()
