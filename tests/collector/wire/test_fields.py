"""The validity of a request's fields."""

import pytest

from flyball_collector.wire.fields import check_request, check_trailers, content_length
from flyball_collector.wire.frames import ErrorCode, StreamFault
from flyball_collector.wire.hpack import Header
from tests.collector.wire.client_frames import headers


def without(name: bytes) -> list[Header]:
    return [header for header in headers() if header[0] != name]


def test_the_fields_are_returned_by_name() -> None:
    """A usual client's fields are valid; of repeated ones the last counts."""
    more = [(b"te", b"trailers"), (b"user-agent", b"grpc-c/1 (linux)"), (b"x", b"1"), (b"x", b"2"), (b"x-bin", b"AA==")]
    fields = check_request(headers("/t/m", *more))
    assert (fields[b":path"], fields[b"x"]) == (b"/t/m", b"2")


@pytest.mark.parametrize(
    ("request_headers", "reason"),
    [
        (headers("/t/m", (b"Upper", b"x")), "not a valid name"),
        (headers("/t/m", (b":path", b"/t/m")), "too late"),
        (headers("/t/m", (b"x", b"line\n")), "invalid value"),
        (headers("/t/m", (b"x", b"tail ")), "invalid value"),
        (headers("/t/m", (b"connection", b"close")), "not a field of HTTP/2"),
        (headers("/t/m", (b"te", b"gzip")), "te is not trailers"),
        ([(b":path", b"/t/m"), *headers()], "repeated"),
        ([(b":status", b"200"), *headers()], "not a field of a request"),
        ([(b":authority", b"a"), *headers("/t/m", (b"host", b"b"))], "host differs"),
        (without(b":method"), "':method' is missing"),
        (without(b":scheme"), "':scheme' is missing"),
        (without(b":path"), "':path' is missing"),
        (headers(""), "':path' is missing"),
        (headers("t/m"), "does not begin with /"),
        ([(b":method", b"CONNECT"), *headers()[1:]], "CONNECT"),
    ],
)
def test_a_malformed_request_has_a_reason(request_headers: list[Header], reason: str) -> None:
    """Each rule of section 8 ends the stream with PROTOCOL_ERROR."""
    with pytest.raises(StreamFault, match=reason) as caught:
        check_request(request_headers)
    assert caught.value.code is ErrorCode.PROTOCOL_ERROR


def test_trailers_have_no_pseudo_header_fields() -> None:
    """Other fields are valid there."""
    check_trailers([(b"x", b"y")])
    with pytest.raises(StreamFault):
        check_trailers([(b":path", b"/t/m")])


@pytest.mark.parametrize(
    ("values", "length"), [([], None), ([b"0"], 0), ([b"12"], 12), ([b"12", b"12"], 12), ([b"9" * 18], 10**18 - 1)]
)
def test_a_declared_length_is_a_number(values: list[bytes], length: int | None) -> None:
    """It may be repeated, and it is absent in most calls."""
    assert content_length([(b"content-length", value) for value in values]) == length


@pytest.mark.parametrize("values", [[b"x"], [b"-1"], [b""], [b"1", b"2"], [b"1,1"], [b"9" * 19]])
def test_a_length_other_than_a_number_is_malformed(values: list[bytes]) -> None:
    """Two different ones are, too."""
    with pytest.raises(StreamFault):
        content_length([(b"content-length", value) for value in values])
