"""HPACK against the examples of its standard, and against arbitrary bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.wire.frames import ProtocolFault
from flyball_collector.wire.hpack import TABLE_BYTES, Decoder, encode

HEADERS = st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=200)), max_size=20)
# RFC 7541, appendix C.3 without and C.4 with Huffman coding: three requests on one connection
PLAIN = (
    "828684410f7777772e6578616d706c652e636f6d",
    "828684be58086e6f2d6361636865",
    "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
)
CODED = (
    "828684418cf1e3c2e5f23a6ba0ab90f4ff",
    "828684be5886a8eb10649cbf",
    "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
)
REQUESTS = (
    [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"), (b":authority", b"www.example.com")],
    [
        (b":method", b"GET"),
        (b":scheme", b"http"),
        (b":path", b"/"),
        (b":authority", b"www.example.com"),
        (b"cache-control", b"no-cache"),
    ],
    [
        (b":method", b"GET"),
        (b":scheme", b"https"),
        (b":path", b"/index.html"),
        (b":authority", b"www.example.com"),
        (b"custom-key", b"custom-value"),
    ],
)


@pytest.mark.parametrize("blocks", [PLAIN, CODED])
def test_the_examples_of_the_standard_are_decoded(blocks: tuple[str, ...]) -> None:
    """Static and dynamic table entries and literals, with and without Huffman coding."""
    decoder = Decoder(1000)
    assert tuple(decoder.decode(bytes.fromhex(block)) for block in blocks) == REQUESTS


@given(HEADERS)
def test_encoded_headers_are_decoded(headers: list[tuple[bytes, bytes]]) -> None:
    """Any headers come back unchanged and in order."""
    assert Decoder(100_000).decode(encode(headers)) == headers


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_arbitrary_bytes_give_headers_or_a_fault(blocks: list[bytes]) -> None:
    """Any bytes decode to headers or raise `ProtocolFault`."""
    decoder = Decoder(1000)
    for block in blocks:
        try:
            decoder.decode(block)
        except ProtocolFault:
            return


@given(HEADERS)
def test_table_entries_are_evicted(headers: list[tuple[bytes, bytes]]) -> None:
    """An entry is found under its index until newer ones need its space."""
    decoder, sizes = Decoder(1 << 20), []
    for name, value in headers:
        decoder.decode(b"\x40" + text_of(name) + text_of(value))
        sizes.append(32 + len(name) + len(value))
    there = 0
    while there < len(sizes) and sum(sizes[len(sizes) - there - 1 :]) <= TABLE_BYTES:
        there += 1
    for back in range(there):
        assert decoder.decode(number(62 + back, 7, 0x80)) == [headers[-1 - back]]
    with pytest.raises(ProtocolFault, match="in a table of"):
        decoder.decode(number(62 + there, 7, 0x80))


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("80", "index 0"),
        ("ff80808080808080", "integer too long"),
        ("3fe2ff01", "table size 32769"),
        ("8220", "after the first header"),
        ("202020", "at most"),
        ("400a", "truncated"),
        ("40", "truncated"),
        ("4081ff8161", "invalid Huffman padding"),
        ("4084ffffffff8161", "end-of-string"),
    ],
)
def test_faults_have_reasons(block: str, reason: str) -> None:
    """The reason names the error."""
    with pytest.raises(ProtocolFault, match=reason):
        Decoder(1000).decode(bytes.fromhex(block))


def test_a_small_block_cannot_expand_without_limit() -> None:
    """An indexed header of one byte counts with its full size each time."""
    decoder = Decoder(10_000)
    decoder.decode(b"\x40" + text_of(b"n") + text_of(bytes(3000)))
    with pytest.raises(ProtocolFault, match="more than 10000 bytes of headers"):
        decoder.decode(b"\xbe" * 100)


def test_a_smaller_table_evicts_entries() -> None:
    """An encoder may reduce the table to zero."""
    decoder = Decoder(1000)
    decoder.decode(b"\x40" + text_of(b"n") + text_of(b"v"))
    with pytest.raises(ProtocolFault):
        decoder.decode(b"\x20\xbe")


def number(value: int, bits: int, pattern: int) -> bytes:
    """Encode an integer literally as the RFC describes (RFC 7541, section 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([pattern | value])
    value, out = value - most, [pattern | most]
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def text_of(text: bytes) -> bytes:
    return number(len(text), 7, 0) + text
