"""Reads the steps of a Trainer of Lightning."""

from __future__ import annotations

import weakref

from flyball.hooks.patching import leave_out_caller, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.hooks.opening import Progress
    from flyball.hooks.steps import OptimizerSteps


def install(module: Any, steps: OptimizerSteps) -> None:
    """Remember the Trainer that fits a model. Its number of steps is known at the first one."""

    def noting(original: Callable[..., Any]) -> Callable[..., Any]:
        def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
            trainer = weakref.ref(self)
            steps.progress = lambda: progress(trainer())
            try:
                return original(self, *args, **kwargs)
            except BaseException as error:
                leave_out_caller(error)
                raise

        return fit

    replace(module.Trainer, "fit", noting)


def progress(trainer: Any) -> Progress:
    """Return the number of all steps, and of those before the fit was resumed."""
    done = trainer.global_step
    return total_steps(trainer), done if isinstance(done, int) and done > 0 else 0


def total_steps(trainer: Any) -> int | None:
    """Return the number of optimizer steps. The property of Lightning for it is avoided: it may load data."""
    steps, batches, epochs = trainer.max_steps, trainer.num_training_batches, trainer.max_epochs
    if isinstance(steps, int) and steps > 0:
        return steps
    if not isinstance(batches, int) or not isinstance(epochs, int) or epochs <= 0:
        return None
    return -(-batches // int(trainer.accumulate_grad_batches)) * epochs
