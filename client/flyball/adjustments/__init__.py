"""Values of a training that Flyball may change while it runs, and the rank's side of the protocol that changes them.

This room is imported when a script declares the first value, or when the agent allows adjustments. It imports no
libraries: those that it looks at are the script's own.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flyball.training.run import Run


def handle(run: Run, message: dict[str, Any]) -> None:
    """Declare what each run can change, because the agent allows adjustments, or keep quiet from now on."""
    run.adjustments.allow(message.get("enabled") is not False)
