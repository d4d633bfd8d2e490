"""Measures how long a training waits for torch's DataLoader, and counts the samples of its batches."""

from __future__ import annotations

import sys
from _thread import get_ident
from time import perf_counter_ns

from flyball.hooks import steps as steps_module
from flyball.hooks.batches import amounts
from flyball.hooks.patching import leave_out_caller, replace
from flyball.training.opening import current_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.hooks.steps import OptimizerSteps


def install(_torch: Any, steps: OptimizerSteps) -> None:
    """Measure all loaders. Iterators of other classes, such as those of torchdata, are derived from these."""
    loaders = sys.modules["torch.utils.data.dataloader"]
    waits = Waits(steps)
    replace(loaders._BaseDataLoaderIter, "__next__", waits.measured_next)
    replace(loaders.DataLoader, "__iter__", waits.measured_iter)


class Waits:
    """Measures the outermost loader in the thread that trains. Waiting before the first step is not counted."""

    __slots__ = ("_iterator", "_steps")

    def __init__(self, steps: OptimizerSteps) -> None:
        self._steps = steps
        self._iterator = 0

    def measured_next(self, original: Callable[[Any], object]) -> Callable[[Any], object]:
        """Return a method that gives the same batch, and measures how long that takes."""
        return self._measured(original, self.add)

    def measured_iter(self, original: Callable[[Any], object]) -> Callable[[Any], object]:
        """Return a method that starts the same iterator, and measures how long the start of its workers takes."""
        return self._measured(original, lambda began, _loader, _iterator: self.add(began))

    def _measured(
        self, original: Callable[[Any], object], note: Callable[[int, Any, object], None]
    ) -> Callable[[Any], object]:
        steps = self._steps

        def measured(loader: Any) -> object:
            if steps_module._is_compiling() or steps.thread != get_ident() or steps.inside:
                return original(loader)
            steps.inside = True
            began = perf_counter_ns()
            try:
                result = original(loader)
            except BaseException as error:
                steps.inside = False
                leave_out_caller(error)
                raise
            steps.inside = False
            note(began, loader, result)
            return result

        return measured

    def add(self, began: int, iterator: Any = None, batch: object = None) -> None:
        """Add a wait, and the samples of a batch.

        Only the loader that gave the last batch before a step is counted: between two steps there may be an evaluation.
        """
        try:
            run = current_run()
            if run is not None and not run.measures_data:
                run.add_wait(began, perf_counter_ns())
            if iterator is None or self._steps.run is None:
                return
            steps = self._steps
            if id(iterator) != self._iterator:
                self._iterator = id(iterator)
                steps.samples = steps.tokens = None
            samples, tokens = amounts(batch)
            if samples is not None and iterator._auto_collation:  # otherwise a batch may be a single sample
                steps.samples = (steps.samples or 0) + samples
            if tokens is not None:
                steps.tokens = (steps.tokens or 0) + tokens
        except Exception:  # noqa: BLE001  it must not reach the training
            self._steps.failures += 1
