"""Measures the first run of a process for `flyball run --measure`: that of the hooks, or one that the script opens."""

from __future__ import annotations

import os

from flyball.hooks.patching import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.hooks.steps import OptimizerSteps
    from flyball.training.run import Run

MEASURE = "FLYBALL_MEASURE"


def install(module: Any, steps: OptimizerSteps) -> None:
    """Measure what `flyball.run` opens, if the command line asks for it. Otherwise the function stays as it is."""
    if os.environ.get(MEASURE):
        replace(module, "run", lambda original: measured_opening(original, steps))


def measured_opening(original: Callable[..., Run], steps: OptimizerSteps) -> Callable[..., Run]:
    """Return a function that opens the same run. The first one in this process is measured."""
    opened: list[Run] = []

    def run(*arguments: Any, **named: Any) -> Run:
        found = original(*arguments, **named)
        opened.append(found)
        if len(opened) > 1:
            return found
        try:
            from flyball.hooks.measuring import measure_if_asked

            measure_if_asked(found)
        except Exception:  # noqa: BLE001  it must not reach the script
            steps.failures += 1
        return found

    return run
