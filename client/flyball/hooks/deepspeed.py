"""Counts the steps of a DeepSpeed engine, whose optimizers may step several times in one step of the training."""

from __future__ import annotations

from flyball.hooks.patching import leave_out_caller, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.hooks.steps import OptimizerSteps


def install(module: Any, steps: OptimizerSteps) -> None:
    """End a step when the engine has stepped its optimizer, not after each group of parameters."""

    def holding(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            before, steps.held = self.global_steps, True
            run = steps.measured_run()
            if run is not None:
                run.mark("forward_backward")
            try:
                result = original(self, *args, **kwargs)
            except BaseException as error:
                steps.held = False
                leave_out_caller(error)
                raise
            steps.held = False
            if self.global_steps != before:  # otherwise gradients are still being accumulated
                steps.after_engine(self)
            return result

        return step

    replace(module.DeepSpeedEngine, "step", holding)
