"""An order of the collector, checked."""

import re
from dataclasses import dataclass

from flyball_proto.v1 import telemetry_pb2 as pb

STACKS = "stacks"
BY_CLIENT = ("trace", "syncs", "memory", "measure")
"""What the process itself must do, through its client."""

MAX_SECONDS = 600
MAX_BYTES = 256 * 1024 * 1024
MAX_STEPS = 1000

_ID = re.compile(r"[0-9a-f]{16}")  # it becomes the name of a file


class CaptureFailed(Exception):
    """A capture is not possible. The message is shown to the operator: the reason, and what to do."""


@dataclass(frozen=True, slots=True)
class CheckedOrder:
    """A process, what to capture of it, and the limits."""

    id: str
    what: str
    run: str
    rank: int
    pid: int
    steps: int
    seconds: int
    max_bytes: int


def is_valid_id(text: str) -> bool:
    """Return True for an id as collectors make them."""
    return _ID.fullmatch(text) is not None


def order_of(message: pb.CaptureOrder) -> CheckedOrder:
    """Return the order of a message. Raise `CaptureFailed` if this version cannot carry it out."""
    if message.what not in {STACKS, *BY_CLIENT}:
        raise CaptureFailed(f"this agent does not know the capture {message.what[:40]!r}; update it")
    return CheckedOrder(
        id=message.id,
        what=message.what,
        run=message.run,
        rank=message.rank,
        pid=message.pid,
        steps=min(max(1, message.steps), MAX_STEPS),
        seconds=min(max(1, message.seconds), MAX_SECONDS),
        max_bytes=min(max(1, message.max_bytes), MAX_BYTES),
    )
