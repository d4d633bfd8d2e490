"""How a call ends: gRPC's status codes, and their text as trailers carry it."""

from enum import IntEnum


class StatusCode(IntEnum):
    """The numbers are gRPC's (doc/statuscodes.md of grpc/grpc)."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class CallEnded(Exception):
    """A call is over with a status; raised by whoever serves it."""

    def __init__(self, code: StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def percent_encoded(text: str) -> bytes:
    """`grpc-message` (doc/PROTOCOL-HTTP2.md of grpc/grpc): printable ASCII but `%` stays, other bytes become %XX."""
    return b"".join(
        bytes((byte,)) if 0x20 <= byte <= 0x7E and byte != 0x25 else b"%%%02X" % byte
        for byte in text.encode("utf-8", "replace")
    )
