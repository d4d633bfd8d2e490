"""Reports the steps of a training that does not report them itself: each step of its optimizer ends one."""

from __future__ import annotations

import sys
from _thread import get_ident
from _weakref import ref
from time import perf_counter_ns

from flyball.training.opening import current_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from flyball.hooks.opening import Progress
    from flyball.training.run import Run

_ADOPT_AFTER_NS = 5_000_000_000
_MAX_FAILURES = 100


def _never() -> bool:
    return False


def _nothing() -> None:
    return None


_is_compiling: Callable[[], bool] = _never
"""`torch.compiler.is_compiling`. Dynamo takes it for True and leaves out the rest: its graphs are as without hooks."""


class OptimizerSteps:
    """Finds the steps of this process, and the run to which they are reported."""

    __slots__ = (
        "_leader",
        "_others",
        "_stepped_at",
        "failures",
        "held",
        "inside",
        "progress",
        "run",
        "samples",
        "thread",
        "tokens",
    )

    def __init__(self) -> None:
        self.run: Run | None = None
        self.thread = 0  # the one that trains; 0 before its first step
        self.inside = False  # the loader is being waited for
        self.held = False  # an engine that steps optimizers itself is in its step
        self.failures = 0
        self.samples: int | None = None  # of the batches since the last step
        self.tokens: int | None = None
        self.progress: Callable[[], Progress] | None = None  # as the framework in use knows it
        self._leader: Callable[[], object] = (
            _nothing  # a reference to the optimizer whose steps are those of the training
        )
        self._others: set[int] = set()  # the optimizers that have stepped since
        self._stepped_at = 0

    def before_optimizer(self, _optimizer: object, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        """Count the time before the optimizer as forward and backward pass, unless they happen in a closure."""
        if _is_compiling():
            return
        run = self.run
        if run is not None and not self.held and get_ident() == self.thread and not _has_closure(args, kwargs):
            run.mark("forward_backward")

    def after_optimizer(self, optimizer: object, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        """End a step, if this optimizer is the first of those that step together."""
        if _is_compiling():
            return
        if self.held:
            return
        try:
            if self._is_training_thread():
                self._stepped(optimizer, "compute" if _has_closure(args, kwargs) else "optimizer")
        except Exception:  # noqa: BLE001  it must not reach the training
            self._fail()

    def after_engine(self, engine: object) -> None:
        """End a step of an engine that steps optimizers itself."""
        try:
            if self._is_training_thread():
                self._stepped(engine, "optimizer")
        except Exception:  # noqa: BLE001  it must not reach the training
            self._fail()

    def measured_run(self) -> Run | None:
        """Return the run of the hooks if this thread trains, and is not inside of something that is measured."""
        run = self.run
        return run if run is not None and not self.inside and get_ident() == self.thread else None

    def _stepped(self, optimizer: object, part: str) -> None:
        """End a step if this optimizer leads.

        Several optimizers may step together, such as those of a generator and its discriminator. The one that stepped
        first leads. Another one that steps twice in between leads from then on: the first one is no longer in use.
        """
        run = self._present_run()
        if run is not None:
            run.mark(part)
        leader = self._leader()
        if leader is not optimizer:
            if leader is not None and id(optimizer) not in self._others:
                self._others.add(id(optimizer))
                return
            self._leader = ref(optimizer)  # it must not keep the optimizer in memory
        self._others.clear()
        self._stepped_at = perf_counter_ns()
        if run is None:
            run = self._open()
        if run is not None:
            run.step(tokens=self.tokens, samples=self.samples)
        self.samples = self.tokens = None

    def _present_run(self) -> Run | None:
        """Return the run of the hooks. A run that the script opens takes its place for good."""
        run = self.run
        if run is None:
            return None
        if current_run() is not run:
            run.finish()
            self.run = None
            self.failures = _MAX_FAILURES
            return None
        return run

    def _open(self) -> Run | None:
        """Open a run, unless the script has one, or this process only loads data."""
        if self.failures >= _MAX_FAILURES:
            return None
        self.thread = get_ident()
        if _is_loader_worker():
            return None
        if current_run() is not None:
            self.failures = _MAX_FAILURES  # the script reports by itself
            return None
        from flyball.hooks.opening import open_run

        self.run = open_run(self.progress)
        return self.run

    def _is_training_thread(self) -> bool:
        """Return True if this thread trains. Another one may do so later, when the first has not stepped for long."""
        thread = get_ident()
        if thread == self.thread or not self.thread:
            return True
        if perf_counter_ns() - self._stepped_at < _ADOPT_AFTER_NS:
            return False
        self.thread = thread
        if self.run is not None:
            self.run.thread = thread
        return True

    def _fail(self) -> None:
        self.failures += 1
        if self.failures >= _MAX_FAILURES:
            self.run = None


def install(torch: Any, steps: OptimizerSteps) -> None:
    """Register for the steps of all optimizers."""
    global _is_compiling  # noqa: PLW0603  Dynamo recognises the function by its identity
    _is_compiling = torch.compiler.is_compiling
    optimizer = sys.modules["torch.optim.optimizer"]
    optimizer.register_optimizer_step_pre_hook(steps.before_optimizer)
    optimizer.register_optimizer_step_post_hook(steps.after_optimizer)


def _has_closure(args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
    """Return True if the optimizer was passed a function that computes the loss. `args` begins with the optimizer."""
    closure = args[1] if len(args) > 1 else kwargs.get("closure")
    return closure is not None


def _is_loader_worker() -> bool:
    worker = sys.modules.get("torch.utils.data._utils.worker")
    return getattr(worker, "_worker_info", None) is not None
