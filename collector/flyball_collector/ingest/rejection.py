"""Errors that end an agent's stream or refuse a record. The sender gets the reason, and it is counted."""

from flyball_collector.wire.status import StatusCode


class Rejection(Exception):
    """A stream must end. `reason` is the label under which it is counted."""

    def __init__(self, code: StatusCode, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


class Malformed(Exception):
    """A record or definition is invalid. `sequence` is `None` if it is unreadable."""

    def __init__(self, reason: str, detail: str, sequence: int | None = None) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.sequence = sequence
