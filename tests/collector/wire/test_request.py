"""Requests, read from headers."""

import pytest

from flyball_collector.wire.frames import ErrorCode, StreamFault
from flyball_collector.wire.request import NotGrpc, Request, read_request
from flyball_collector.wire.status import CallEnded
from tests.collector.wire.client_frames import headers


@pytest.mark.parametrize("kind", [b"application/grpc", b"application/grpc+proto", b"application/grpc;x=y"])
def test_each_grpc_content_type_is_accepted(kind: bytes) -> None:
    """The type may name the format of the messages."""
    assert read_request(headers("/a/b", (b"content-type", kind))) == Request("/a/b", b"identity")


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ((b"content-type", b"application/grpc-web"), b"415"),
        ((b"content-type", b""), b"415"),
    ],
)
def test_a_request_that_is_not_grpc_has_an_http_status(header: tuple[bytes, bytes], status: bytes) -> None:
    """Another content type ends with 415."""
    with pytest.raises(NotGrpc) as caught:
        read_request(headers("/a/b", header))
    assert caught.value.status == status


def test_another_method_has_an_http_status() -> None:
    """gRPC uses POST only."""
    with pytest.raises(NotGrpc) as caught:
        read_request([(b":method", b"GET"), *headers("/a/b")[1:]])
    assert caught.value.status == b"405"


def test_the_declared_length_is_read() -> None:
    """Few clients declare it; then it is checked."""
    assert read_request(headers("/a/b", (b"content-length", b"12"))).content_length == 12


def test_a_malformed_request_is_a_fault_of_its_stream() -> None:
    """The connection is not affected."""
    with pytest.raises(StreamFault) as caught:
        read_request(headers("/a/b", (b"Upper", b"x")))
    assert caught.value.code is ErrorCode.PROTOCOL_ERROR


def test_an_unsupported_compression_is_named() -> None:
    """A name that is not ASCII does not raise another error."""
    with pytest.raises(CallEnded, match="use gzip, deflate or identity"):
        read_request(headers("/a/b", (b"grpc-encoding", b"\xff\xfe")))
