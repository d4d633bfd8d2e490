"""Decides when a checkpoint is due: by step numbers, so that all ranks answer alike."""

from __future__ import annotations

from time import perf_counter_ns

from flyball.adjustments.value import AdjustableValue
from flyball.training.texts import whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Protocol

    from flyball.training.run import Run

    class ValueList(Protocol):
        """Declares values."""

        def add(self, value: AdjustableValue) -> AdjustableValue:
            """Declare a value."""

        def changed_locally(self, name: str, value: object) -> None:
            """Set a value that this rank has changed by itself."""


DEFAULT_STEPS = 500
"""As Hugging Face's Trainer does it (`save_steps`, transformers 5.24)."""

CHOICES = (*[factor * 10**power for power in range(5) for factor in (1, 2, 3, 5, 7)], 100_000)
SECTION = "checkpoint"


class CheckpointSteps:
    """Answers whether a checkpoint is due. Nothing that only one rank knows, such as its clock, has a part in it."""

    __slots__ = ("_answer", "_asked", "_cost", "_list", "_now", "_run", "_since", "_steps", "_wanted")

    def __init__(self, run: Run, values: ValueList) -> None:
        self._run = run
        self._list = values
        self._steps: AdjustableValue | None = None
        self._now: AdjustableValue | None = None
        self._since = 0  # the step of the last checkpoint
        self._asked = -1
        self._answer = False
        self._wanted = -1  # the step after which somebody asked for a checkpoint
        self._cost: float | None = None

    def is_due(self, every: object) -> bool:
        """Return True if a checkpoint is due after this step. Asking again gives the same answer."""
        step = self._run.last_step
        if self._steps is None:
            self._steps = self._declare(every)
            self._since = max(0, step - 1)
        wanted = self.is_wanted()
        if step != self._asked:
            if step < self._asked:  # the training went back to an earlier step
                self._since = max(0, step - 1)
            self._asked = step
            self._answer = step - self._since >= self._steps.now
        if self._answer or wanted:
            self._since = step
        return self._answer or wanted

    def is_wanted(self) -> bool:
        """Return True if somebody asked for a checkpoint after this step. Asking again gives the same answer."""
        if self._now is None:
            now = AdjustableValue("checkpoint_now", False, choices=(False, True), lever="checkpoint_now", together=True)
            self._now = self._list.add(now)
        step = self._run.last_step
        if self._now.now:
            self._wanted = step
            self._list.changed_locally(self._now.name, False)
        return step == self._wanted

    def note_cost(self, seconds: float) -> None:
        """Keep what a checkpoint has cost, for the best interval between two."""
        self._cost = seconds if self._cost is None else 0.5 * (self._cost + seconds)
        if self._steps is not None:
            self._steps.set_fact("cost_seconds", f"{self._cost:.3g}")

    def _declare(self, every: object) -> AdjustableValue:
        first = _steps_of(every)
        if not first:
            self._run.add_dropped()
            _warn(every)
            first = DEFAULT_STEPS
        name = "checkpoint_steps"
        steps = AdjustableValue(name, first, choices=sorted({*CHOICES, first}), lever=name, together=True)
        if self._cost is not None:
            steps.set_fact("cost_seconds", f"{self._cost:.3g}")
        return self._list.add(steps)


def _steps_of(every: object) -> int | None:
    try:
        return whole_number(every)
    except Exception:  # noqa: BLE001  it must not reach the training
        return None


def _warn(every: object) -> None:
    """Warn at the line that asks. Where warnings are errors, the training still goes on."""
    import warnings

    try:
        text = f"flyball: should_checkpoint(every={every!r}): expected a number of steps, at least 1"
        warnings.warn(f"{text}; {DEFAULT_STEPS} is used", stacklevel=6)
    except Exception:  # noqa: BLE001  as above
        return


class MeasuredCheckpoint:
    """A block that writes a checkpoint. Its time counts as the section `checkpoint`."""

    __slots__ = ("_began", "_checkpoints", "_section")

    def __init__(self, run: Run, checkpoints: CheckpointSteps) -> None:
        self._checkpoints = checkpoints
        self._section = run.section(SECTION)
        self._began = 0

    def __enter__(self) -> None:
        self._began = perf_counter_ns()
        self._section.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._section.__exit__(kind, error, trace)
        if kind is None:
            self._checkpoints.note_cost((perf_counter_ns() - self._began) * 1e-9)
