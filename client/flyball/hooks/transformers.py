"""Reads the steps of a Trainer of transformers: all of them, and those before it was resumed."""

from __future__ import annotations

from flyball.hooks.patching import leave_out_caller, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.hooks.steps import OptimizerSteps


def install(module: Any, steps: OptimizerSteps) -> None:
    """Read the steps when the callbacks are called at the beginning of a training."""

    def noting(original: Callable[..., Any]) -> Callable[..., Any]:
        def on_train_begin(self: Any, args: Any, state: Any, control: Any, *more: Any, **named: Any) -> Any:
            steps.progress = lambda: (_positive(state.max_steps), _positive(state.global_step) or 0)
            try:
                return original(self, args, state, control, *more, **named)
            except BaseException as error:
                leave_out_caller(error)
                raise

        return on_train_begin

    replace(module.CallbackHandler, "on_train_begin", noting)


def _positive(steps: object) -> int | None:
    return steps if isinstance(steps, int) and steps > 0 else None
