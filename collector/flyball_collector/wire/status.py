"""The status of a call: gRPC's codes, and the encoding of its message in trailers."""

from enum import IntEnum


class StatusCode(IntEnum):
    """gRPC's status codes (doc/statuscodes.md of grpc/grpc)."""

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
    """A handler ended its call with a status."""

    def __init__(self, code: StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def percent_encoded(text: str) -> bytes:
    """Encode `grpc-message` (doc/PROTOCOL-HTTP2.md of grpc/grpc): all but printable ASCII, and `%`, become %XX."""
    return b"".join(
        bytes((byte,)) if 0x20 <= byte <= 0x7E and byte != 0x25 else b"%%%02X" % byte
        for byte in text.encode("utf-8", "replace")
    )
