"""Runs one capture at a time, from boundary to boundary between steps, within its time limit."""

import atexit
import os
import time
from typing import Any, Protocol

from flyball.captures.capture_order import CaptureOrder, parse_order
from flyball.captures.capture_run import CaptureRun, CaptureUnavailable
from flyball.captures.delivery import ResultFolder, deliver

SWITCH = "FLYBALL_CAPTURES"
"""With 0 in the environment, the training takes no orders."""

_ABANDONED_SECONDS = 60.0


class StepRecorder(Protocol):
    """Records something for some steps. `end` or `abort` is called once after `begin`."""

    steps: int  # 0: it needs no step

    def begin(self, run: CaptureRun) -> None:
        """Begin at a boundary. Raise `CaptureUnavailable` if it is not possible."""

    def step(self, run: CaptureRun) -> bool:
        """Note that a step has ended. Return True if no more is needed."""

    def end(self, folder: Any) -> tuple[Any, str]:
        """End, and write the result into the folder. Return its path, and what an operator should know."""

    def abort(self) -> None:
        """End without a result. It must not raise."""


_current: "OrderedCapture | None" = None


def begin(run: CaptureRun, message: dict[str, Any]) -> None:
    """Begin what the agent has ordered, at the next boundary."""
    global _current  # noqa: PLW0603  one capture at a time in a process, whatever its runs are
    capture = str(message.get("id", ""))
    try:
        if os.environ.get(SWITCH) == "0":
            raise CaptureUnavailable(f"captures are switched off in this process ({SWITCH}=0)")
        order = parse_order(message)
        if run.finished:
            raise CaptureUnavailable("the run has ended")
        if _current is not None and _current.is_in_progress():
            raise CaptureUnavailable("another capture is in progress in this process; try again later")
        _current = OrderedCapture(order, _recorder(order))
        run.at_boundary(_current)
    except Exception as error:  # noqa: BLE001  only the answer has the reason
        _answer(run, capture, "failed", _reason(error))


def _recorder(order: CaptureOrder) -> StepRecorder:
    if order.what == "trace":
        from flyball.captures.trace import Trace

        return Trace(order.steps)
    if order.what == "syncs":
        from flyball.captures.sync_calls import SyncCapture

        return SyncCapture(order.steps)
    if order.what == "memory":
        from flyball.captures.memory import MemoryCapture

        return MemoryCapture()
    from flyball.captures.measure import MeasureCapture

    return MeasureCapture(order.steps)


class OrderedCapture:
    """One capture. It is called at boundaries between steps, and calls itself again at the next one."""

    def __init__(self, order: CaptureOrder, recorder: StepRecorder) -> None:
        self.over = False
        self._order = order
        self._recorder = recorder
        self._begun = False
        self._left = recorder.steps
        self._boundary = 0.0  # when the last one was
        self._reported = 0.0

    def is_in_progress(self) -> bool:
        """Return False if it is over, or if its run has not reached a boundary for long: that is given up."""
        if not self.over and time.monotonic() > self._order.deadline + _ABANDONED_SECONDS:
            self._end_badly()
        return not self.over

    def _end_badly(self) -> None:
        self.over = True
        atexit.unregister(self._end_badly)
        if self._begun:
            self._begun = False
            self._recorder.abort()

    def __call__(self, run: CaptureRun) -> None:
        """Do what is due at this boundary."""
        if self.over:
            return
        try:
            self._advance(run)
        except Exception as error:  # noqa: BLE001  only the answer has the reason
            self._end_badly()
            _answer(run, self._order.id, "failed", _reason(error))

    def _advance(self, run: CaptureRun) -> None:
        now = time.monotonic()
        if run.finished:
            raise CaptureUnavailable("the run ended before the capture did")
        if self._begun:
            self._left -= 1
            if self._recorder.step(run):
                self._left = 0
        elif not self._is_time_to_begin(now):
            run.at_boundary(self)
            return
        else:
            self._recorder.begin(run)
            self._begun = True
            atexit.register(self._end_badly)  # PyTorch crashes at exit while its profiler runs
        if self._left > 0 and now < self._order.deadline:
            self._report_progress(run, now)
            run.at_boundary(self)
        else:
            self._finish(now)

    def _is_time_to_begin(self, now: float) -> bool:
        """Return True when the duration of a step is known. Raise if the capture would take too long.

        Between two boundaries nothing can end a trace, and it takes memory all the time.
        """
        before, self._boundary = self._boundary, now
        if not self._recorder.steps:
            return True
        if not before:
            return False
        expected = (now - before) * self._recorder.steps
        if now + expected > self._order.deadline:
            raise CaptureUnavailable(
                f"{self._recorder.steps} steps would take {expected:.0f} s; the limit is {self._order.seconds:.0f} s. "
                "Ask for fewer steps"
            )
        return True

    def _report_progress(self, run: CaptureRun, now: float) -> None:
        """Report at most once a second, so that no message waits behind many others."""
        if now - self._reported >= 1.0:
            self._reported = now
            done = self._recorder.steps - self._left
            _answer(run, self._order.id, "running", f"step {done} of {self._recorder.steps}")

    def _finish(self, now: float) -> None:
        self._begun = False  # from here on the recorder ends by itself
        atexit.unregister(self._end_badly)
        with ResultFolder() as folder:
            path, detail = self._recorder.end(folder)
            if self._left > 0:
                detail = f"only {self._recorder.steps - self._left} of {self._recorder.steps} steps in time. {detail}"
            held = time.monotonic() - now
            deliver(self._order, path, f"{detail} The training waited {held:.1f} s for the result.".strip())
        self.over = True


def _answer(run: CaptureRun, capture: str, state: str, detail: str) -> None:
    run.send_message({"kind": "captured", "id": capture[:64], "state": state, "detail": detail[:500]})


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, CaptureUnavailable) else f"{type(error).__name__}: {error}"
