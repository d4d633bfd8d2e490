"""A capture in progress, and when it takes too long."""

from dataclasses import dataclass, field

import msgspec

from flyball_collector.captures.capture import Capture, CaptureState
from flyball_collector.captures.upload import Upload

ACCEPT_SECONDS = 10.0
ANSWER_GRACE_SECONDS = 15.0
STALL_SECONDS = 60.0
MOST_SECONDS = 1800.0
"""A transfer of 64 MiB takes a minute at 10 Mbit/s."""


@dataclass(slots=True)
class ActiveCapture:
    """A capture in progress. Times are monotonic seconds."""

    capture: Capture
    started: float
    heard: float = 0.0  # of the agent
    upload: Upload = field(init=False)

    def __post_init__(self) -> None:
        self.heard = self.started
        self.upload = Upload(self.capture.max_bytes)

    def change(self, **changes: object) -> Capture:
        """Replace some fields of the capture."""
        self.capture = msgspec.structs.replace(self.capture, **changes)
        return self.capture

    def overdue(self, now: float, version: str) -> str:
        """Return why the capture is over now; empty while there is time. `version` is that of the host's agent."""
        capture, seconds = self.capture, now - self.started
        if capture.state == CaptureState.ORDERED and seconds > ACCEPT_SECONDS:
            return (
                f"the agent ({version or 'of an unknown version'}) on {capture.host} did not accept the order within "
                f"{ACCEPT_SECONDS:g} s; if it is older than the collector, update it"
            )
        if capture.state == CaptureState.STORING:
            stalled = now - self.heard > STALL_SECONDS and not self.upload.writing
            return f"the transfer did not end: {self.upload.words()}" if stalled or seconds > MOST_SECONDS else ""
        limit = capture.seconds + ANSWER_GRACE_SECONDS
        return f"no answer from {capture.host} within {limit:g} s" if seconds > limit else ""
