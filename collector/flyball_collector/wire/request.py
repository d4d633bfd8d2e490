"""What a call asks for, read from its headers."""

from collections.abc import Sequence
from dataclasses import dataclass

from flyball_collector.wire.hpack import Header
from flyball_collector.wire.messages import ENCODINGS
from flyball_collector.wire.status import CallEnded, StatusCode

TYPE = b"application/grpc"


class NotGrpc(Exception):
    """It is HTTP, but no gRPC: answered with an HTTP status."""

    def __init__(self, status: bytes) -> None:
        super().__init__(status.decode())
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """A call, before its first message."""

    path: str
    encoding: bytes  # of its messages, those that are compressed


def read_request(headers: Sequence[Header]) -> Request:
    """Raises `NotGrpc` or `CallEnded` (doc/PROTOCOL-HTTP2.md of grpc/grpc says which)."""
    found = dict(headers)
    if found.get(b":method") != b"POST":
        raise NotGrpc(b"405")
    kind = found.get(b"content-type", b"")
    if not kind.startswith(TYPE) or kind[len(TYPE) : len(TYPE) + 1] not in {b"", b"+", b";"}:
        raise NotGrpc(b"415")
    encoding = found.get(b"grpc-encoding", b"identity")
    if encoding not in ENCODINGS:
        name = encoding.decode("ascii", "replace")[:40]
        raise CallEnded(StatusCode.UNIMPLEMENTED, f"messages compressed with {name!r}; taken are gzip and deflate")
    return Request(found.get(b":path", b"").decode("ascii", "replace"), encoding)
