"""Captures inside the training, on the agent's order: a trace of some steps, synchronising calls, memory.

This room is imported when the first order arrives. Nothing here changes what the training computes, and a capture that
fails costs only its answer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flyball.captures.capture_run import CaptureRun


def handle(run: CaptureRun, message: dict[str, Any]) -> None:
    """Begin what the agent has ordered."""
    from flyball.captures.recording import begin

    begin(run, message)
