"""An order of the agent, checked."""

import time
from dataclasses import dataclass
from typing import Any

from flyball.captures.capture_run import CaptureUnavailable

WHATS = ("trace", "syncs", "memory", "measure")
MAX_STEPS = 1000
MAX_SECONDS = 600.0


@dataclass(frozen=True)
class CaptureOrder:
    """A capture with its limits. `deadline` is on the monotonic clock."""

    id: str
    what: str
    steps: int
    seconds: float
    max_bytes: int
    socket: str
    deadline: float


def parse_order(message: dict[str, Any]) -> CaptureOrder:
    """Return the order in a message. Raise `CaptureUnavailable` if this version does not know it."""
    what = str(message.get("what", ""))
    if what not in WHATS:
        raise CaptureUnavailable(f"this version of Flyball in the training does not know the capture {what[:40]!r}")
    seconds = min(max(1.0, float(message.get("seconds", 60))), MAX_SECONDS)
    return CaptureOrder(
        id=str(message["id"]),
        what=what,
        steps=min(max(1, int(message.get("steps", 1))), MAX_STEPS),
        seconds=seconds,
        max_bytes=max(1, int(message.get("max_bytes", 64 * 1024 * 1024))),
        socket=str(message.get("socket", "")),
        deadline=time.monotonic() + seconds,
    )
