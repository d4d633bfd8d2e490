"""A request for captures of some ranks of a run."""

import secrets
from dataclasses import dataclass

from flyball_collector.captures.capture import DEFAULT_STEPS, SECONDS, STACKS, STACKS_SECONDS, Capture
from flyball_collector.captures.targets import CaptureTarget
from flyball_proto.v1 import telemetry_pb2 as pb


class TooManyCaptures(Exception):
    """The limit of captures in progress is reached."""


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """A kind of capture, and for whom it is."""

    run: str
    what: str
    steps: int = 0  # 0: as many as usual
    max_bytes: int = 0  # 0: as many as the settings allow
    by: str = ""
    condition: str = ""

    def capture_of(self, target: CaptureTarget, now_ns: int, limit_bytes: int) -> Capture:
        """Return a new capture of one rank."""
        return Capture(
            id=secrets.token_hex(8),
            what=self.what,
            run=self.run,
            rank=target.rank,
            host=target.host,
            pid=target.pid,
            ordered_ns=now_ns,
            by=self.by,
            condition=self.condition,
            steps=self.steps or DEFAULT_STEPS.get(self.what, 1),
            seconds=STACKS_SECONDS if self.what == STACKS else SECONDS,
            max_bytes=min(self.max_bytes or limit_bytes, limit_bytes),
        )


def order_message(capture: Capture) -> pb.CaptureOrder:
    """Return the order for the agent."""
    return pb.CaptureOrder(
        id=capture.id,
        what=capture.what,
        run=capture.run,
        rank=capture.rank or 0,
        pid=capture.pid,
        steps=capture.steps,
        seconds=capture.seconds,
        max_bytes=capture.max_bytes,
    )
