"""Requests, as headers tell them."""

import pytest

from flyball_collector.wire.request import NotGrpc, Request, read_request
from flyball_collector.wire.status import CallEnded
from tests.collector.wire.client_frames import headers


@pytest.mark.parametrize("kind", [b"application/grpc", b"application/grpc+proto", b"application/grpc;x=y"])
def test_each_form_of_grpc_is_a_call(kind: bytes) -> None:
    """The type may say how messages are written."""
    assert read_request(headers("/a/b", (b"content-type", kind))) == Request("/a/b", b"identity")


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ((b"content-type", b"application/grpc-web"), b"415"),
        ((b"content-type", b""), b"415"),
        ((b":method", b""), b"405"),
    ],
)
def test_what_is_no_call_has_an_http_status(header: tuple[bytes, bytes], status: bytes) -> None:
    """Another type, or another method."""
    with pytest.raises(NotGrpc) as caught:
        read_request(headers("/a/b", header))
    assert caught.value.status == status


def test_an_unknown_compression_is_named() -> None:
    """Bytes that are no text are no reason to fail."""
    with pytest.raises(CallEnded, match="taken are gzip and deflate"):
        read_request(headers("/a/b", (b"grpc-encoding", b"\xff\xfe")))
