"""The request of a call, read from its headers."""

from collections.abc import Sequence
from dataclasses import dataclass

from flyball_collector.wire.fields import check_request, content_length
from flyball_collector.wire.hpack import Header
from flyball_collector.wire.messages import ENCODINGS, IDENTITY
from flyball_collector.wire.status import CallEnded, StatusCode

TYPE = b"application/grpc"


class NotGrpc(Exception):
    """The request is HTTP but not gRPC. It is answered with an HTTP status."""

    def __init__(self, status: bytes) -> None:
        super().__init__(status.decode())
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """The path, message compression and declared length of a call."""

    path: str
    encoding: bytes  # of compressed messages
    content_length: int | None = None  # few clients of gRPC declare it


def read_request(headers: Sequence[Header]) -> Request:
    """Return the request. Raises `StreamFault` if it is malformed.

    Raises `NotGrpc` or `CallEnded`, as doc/PROTOCOL-HTTP2.md of grpc/grpc requires, if it cannot be served.
    """
    fields = check_request(headers)
    length = content_length(headers)
    if fields[b":method"] != b"POST":
        raise NotGrpc(b"405")
    kind = fields.get(b"content-type", b"")
    if not kind.startswith(TYPE) or kind[len(TYPE) : len(TYPE) + 1] not in {b"", b"+", b";"}:
        raise NotGrpc(b"415")
    encoding = fields.get(b"grpc-encoding", IDENTITY)
    if encoding not in ENCODINGS:
        name = encoding.decode("ascii", "replace")[:40]
        supported = "use gzip, deflate or identity"
        raise CallEnded(StatusCode.UNIMPLEMENTED, f"grpc-encoding {name!r} is not supported; {supported}")
    return Request(fields[b":path"].decode("ascii", "replace"), encoding, length)
