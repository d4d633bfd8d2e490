"""Decides when ranks reduce gradients explicitly, so that a failure in any slice can be repaired.

A trial lasts until some steps in a row had no failure on any rank. There is one at the begin, and one after each change
of the size that all ranks make together. Otherwise gradients are exchanged during the last slice, which is faster.
"""

from __future__ import annotations

from _weakref import ref

from flyball.adjustments.restart_state import remember, remembered
from flyball.adjustments.value import AdjustableValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from flyball.training.run import Run

EXPLICIT_REDUCTION = "explicit_reduction"

CLEAN_STEPS = 3
"""Steps without a failure on any rank after which a trial ends. Composer (trainer.py) uses the same number."""


class ReductionTrial:
    """Decides for one rank. All ranks come to the same decisions, from what they have decided or exchanged together."""

    __slots__ = ("__weakref__", "_clean_steps", "_key", "_run", "_stays", "is_running", "value")

    def __init__(self, run: Run, key: str) -> None:
        """Begin a trial. `key` is the name under which this rank keeps something for its next start."""
        self._run = run
        self._key = key
        self._clean_steps = 0
        self._stays = False  # gradients are reduced explicitly after the trial, too
        self.is_running = True
        self.value: AdjustableValue | None = None  # None: no model can be reduced explicitly

    @property
    def is_explicit(self) -> bool:
        """Return True if gradients are reduced explicitly now."""
        return self.value is not None and bool(self.value.now)

    @property
    def is_wanted(self) -> bool:
        """Return True if an earlier start of this rank has ended because gradients were being exchanged."""
        return remembered(self._key, EXPLICIT_REDUCTION) is True

    def declare(self, stays: bool) -> None:
        """Declare the value. `stays` is true if any rank wants it for the whole run."""
        if self.value is not None:
            return
        value = AdjustableValue(
            EXPLICIT_REDUCTION, True, choices=(False, True), lever=EXPLICIT_REDUCTION, together=True
        )
        self.value = self._run.adjustments.add(value)
        self.value.changed = _weakly(self, ReductionTrial.end)
        self._stays = stays

    def follow(self, size: AdjustableValue) -> None:
        """Begin a trial again whenever all ranks change this size: the new one may not fit."""
        size.changed = _weakly(self, ReductionTrial.begin)

    def begin(self) -> None:
        """Begin a trial again, unless gradients are reduced explicitly anyway."""
        self._clean_steps = 0
        if self.value is not None and not self.is_explicit:
            self.is_running = True
            self._set(True)

    def end(self) -> None:
        """End the trial, because all ranks have set the value."""
        self.is_running = False

    def count_step(self, has_any_failed: bool | None) -> None:
        """Count a step, and end the trial after some without a failure. All ranks have seen the same flags."""
        if has_any_failed is None or not self.is_running or self.value is None:
            return
        self._clean_steps = 0 if has_any_failed else self._clean_steps + 1
        if self._clean_steps >= CLEAN_STEPS:
            self.is_running = False
            self._set(self._stays)

    def want(self) -> bool:
        """Reduce explicitly from the next start on. Return False if nobody keeps that."""
        return self.value is not None and remember(self._key, EXPLICIT_REDUCTION, True)

    def _set(self, explicit: bool) -> None:
        if self.value is not None:
            self._run.adjustments.changed_locally(EXPLICIT_REDUCTION, explicit)
            self.value.now = explicit  # also if the script has declared another value under this name


def _weakly(trial: ReductionTrial, method: Callable[[ReductionTrial], None]) -> Callable[[], None]:
    """Return a function that calls a method as long as the trial is in use: values live as long as their run."""
    found = ref(trial)

    def call() -> None:
        alive = found()
        if alive is not None:
            method(alive)

    return call
