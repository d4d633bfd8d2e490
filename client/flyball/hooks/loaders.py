"""Measures how long a training waits for torch's DataLoader, counts samples, and finds the loader that trains."""

from __future__ import annotations

import sys
from _thread import get_ident
from _weakref import ref
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
    from flyball.training.run import Run

_MOST_ITERATORS = 8  # a training and its evaluations


def install(_torch: Any, steps: OptimizerSteps) -> None:
    """Measure all loaders. Iterators of other classes, such as those of torchdata, are derived from these."""
    loaders = sys.modules["torch.utils.data.dataloader"]
    waits = Waits(steps)
    replace(loaders._BaseDataLoaderIter, "__next__", waits.measured_next)
    replace(loaders.DataLoader, "__iter__", waits.measured_iter)


class Waits:
    """Measures the outermost loader in the thread that trains. Waiting before the first step is not counted."""

    __slots__ = ("_iterator", "_made", "_step", "_steps", "_training")

    def __init__(self, steps: OptimizerSteps) -> None:
        self._steps = steps
        self._iterator = 0  # of the last batch
        self._step = 0  # after which that batch came
        self._made: dict[int, Callable[[], object]] = {}  # references to loaders, by their newest iterators
        self._training: Callable[[], object] = _nothing  # a reference to the loader that trains

    def measured_next(self, original: Callable[[Any], object]) -> Callable[[Any], object]:
        """Return a method that gives the same batch, and measures how long that takes."""
        return self._measured(original, self.add)

    def measured_iter(self, original: Callable[[Any], object]) -> Callable[[Any], object]:
        """Return a method that starts the same iterator, and measures how long the start of its workers takes."""
        return self._measured(original, self._note_iterator, self._begin_epoch)

    def _measured(
        self,
        original: Callable[[Any], object],
        note: Callable[[int, Any, object], None],
        before: Callable[[Any], object] | None = None,
    ) -> Callable[[Any], object]:
        steps = self._steps

        def measured(loader: Any) -> object:
            if steps_module._is_compiling() or steps.thread not in {0, get_ident()} or steps.inside:
                return original(loader)
            steps.inside = True
            if before is not None:
                before(loader)
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
        if not self._steps.thread:  # before the first step
            return
        try:
            run = current_run()
            if run is not None and not run.measures_data:
                run.add_wait(began, perf_counter_ns())
            steps = self._steps
            hooked = steps.run
            if iterator is None or hooked is None:
                return
            if id(iterator) != self._iterator:
                self._iterator = id(iterator)
                steps.samples = steps.tokens = None
            elif self._step != hooked.last_step:
                self._follow(hooked)
            self._step = hooked.last_step
            samples, tokens = amounts(batch)
            if samples is not None and iterator._auto_collation:  # otherwise a batch may be a single sample
                steps.samples = (steps.samples or 0) + samples
            if tokens is not None:
                steps.tokens = (steps.tokens or 0) + tokens
        except Exception:  # noqa: BLE001  it must not reach the training
            self._steps.failures += 1

    def _note_iterator(self, began: int, loader: Any, iterator: object) -> None:
        """Add the wait for a new iterator, and remember whose it is."""
        self.add(began)
        try:
            self._made.pop(id(iterator), None)  # of one that is gone
            self._made[id(iterator)] = ref(loader)
            if len(self._made) > _MOST_ITERATORS:
                del self._made[next(iter(self._made))]
        except TypeError:  # a loader of another kind
            return

    def _begin_epoch(self, loader: Any) -> None:
        """Make the changes that wait for an epoch, before the iterator of the loader that trains is made."""
        run = self._steps.run
        if run is not None and self._training() is loader:
            run.begin_epoch(loader)

    def _follow(self, run: Run) -> None:
        """Declare what can be changed of the loader between whose batches the optimizer steps."""
        found = self._made.get(self._iterator, _nothing)
        loader = found()
        if loader is not None and loader is not self._training():
            self._training = found
            run.on_adjustments("loader", lambda adjustments: adjustments.declare_loader(found()))


def _nothing() -> None:
    return None
