"""Counts the time in which a training writes checkpoints as the section `checkpoint`."""

from __future__ import annotations

import os

from flyball.hooks.patching import leave_out_caller, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.hooks.steps import OptimizerSteps

SECTION = "checkpoint"


def install(torch: Any, steps: OptimizerSteps) -> None:
    """Measure torch.save, and fsync, with which checkpoints are forced to the disk."""

    def measured(original: Callable[..., Any]) -> Callable[..., Any]:
        return measure_saving(original, steps)

    saved = torch.save
    replace(torch, "save", measured)
    if torch.serialization.save is saved:
        torch.serialization.save = torch.save
    replace(os, "fsync", measured)


def install_safetensors(module: Any, steps: OptimizerSteps) -> None:
    """Measure the saving functions of safetensors."""
    for name in ("save_file", "save_model"):
        replace(module, name, lambda original: measure_saving(original, steps))


def install_distributed(module: Any, steps: OptimizerSteps) -> None:
    """Measure the saving function of torch.distributed.checkpoint."""
    replace(module, "save", lambda original: measure_saving(original, steps))


def measure_saving(original: Callable[..., Any], steps: OptimizerSteps) -> Callable[..., Any]:
    """Return a function that does the same, and whose time in the thread that trains is counted."""

    def save(*args: Any, **kwargs: Any) -> Any:
        run = steps.measured_run()
        try:
            if run is None:
                return original(*args, **kwargs)
            with run.section(SECTION):
                return original(*args, **kwargs)
        except BaseException as error:
            leave_out_caller(error)
            raise

    return save
