"""What ends an agent's stream, or refuses a record: said to the sender, counted, and nothing else is disturbed."""

from flyball_collector.wire.status import StatusCode


class Rejection(Exception):
    """A stream must end; `reason` is the word that metrics count it under."""

    def __init__(self, code: StatusCode, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


class Malformed(Exception):
    """A record or definition cannot be taken; `sequence` is `None` where even that could not be read."""

    def __init__(self, reason: str, detail: str, sequence: int | None = None) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.sequence = sequence
