"""Failures of one batch for want of memory: when it may be repeated, and the note if it may not."""

from __future__ import annotations

from flyball.micro_batches.out_of_memory import OPTIMIZER, part_of_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from flyball.micro_batches.computation import Computation
    from flyball.micro_batches.model_use import ModelUse

SMALLEST = "its slices are as small as possible"


class Failures:
    """Counts the failures of one batch until it was computed."""

    __slots__ = ("count", "first_size", "is_sliceable", "seconds", "size", "smaller", "where")

    def __init__(self) -> None:
        self.count = 0
        self.first_size = 0
        self.size = 0  # samples of the slices that failed last
        self.smaller: int | None = None
        self.is_sliceable = True
        self.where = ""
        self.seconds = 0.0  # that were lost

    def add(self, error: BaseException, size: int, smaller: int | None, is_sliceable: bool) -> None:
        """Add a failure with slices of a size; the next smaller one is None at the smallest."""
        self.first_size = self.first_size or size
        self.size = size
        self.smaller = smaller
        self.is_sliceable = is_sliceable
        self.where = part_of_step(error)
        self.count += 1

    def note(self, reason: str, is_kept: bool, is_explicit: bool = False) -> str:
        """Return the note for an error that is raised. `is_explicit`: the next start can repair this failure."""
        text = f"flyball: out of memory in {self.where} with slices of {self.size} samples. Not repeated: {reason}."
        begins = [f"begins with {self.smaller}"] if is_kept else []
        begins += ["reduces gradients explicitly"] if is_explicit else []
        return f"{text} The next start {' and '.join(begins)}." if begins else text


def objection(error: BaseException, use: ModelUse, computation: Computation, clear: Callable[[], object] | None) -> str:
    """Return why a batch cannot be repeated after an error, or an empty text.

    A step that was half applied and is repeated would differ from the undisturbed one (measured: by 2.8e-3).
    """
    if part_of_step(error) == OPTIMIZER or use.gradients.optimizer_began:
        return "an optimizer had begun its step"
    if use.facts.statistics_change:
        return "BatchNorm computes with the statistics of a slice, so smaller ones give other results"
    if use.gradients.is_pending:
        return "gradients of earlier batches would be lost"
    if not use.gradients.can_clear(clear):
        return "its gradients cannot be removed; pass `model=` or `clear=`"
    return computation.objection(error)
