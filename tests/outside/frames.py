"""Frames of HTTP/2 (RFC 9113) and header blocks (RFC 7541) written by hand, so that they may also be wrong."""

import struct
from collections.abc import Iterable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE = 1, 4

CANCEL = struct.pack("!L", 8)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return one frame."""
    return struct.pack("!L", len(payload))[1:] + struct.pack("!BBL", kind, flags, stream) + payload


def settings(*pairs: tuple[int, int]) -> bytes:
    """Return a SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(struct.pack("!HL", *pair) for pair in pairs))


def window_update(stream: int, count: int) -> bytes:
    """Return a WINDOW_UPDATE frame."""
    return frame(WINDOW_UPDATE, 0, stream, struct.pack("!L", count))


def integer(value: int, bits: int, first: int) -> bytes:
    """Return an integer whose first byte has `bits` bits to spare (RFC 7541, section 5.1)."""
    largest = (1 << bits) - 1
    if value < largest:
        return bytes([first | value])
    encoded, value = bytearray([first | largest]), value - largest
    while value >= 128:
        encoded.append(value % 128 + 128)
        value //= 128
    return bytes([*encoded, value])


def text(value: bytes, *, huffman: bool = False) -> bytes:
    """Return a string of a header block; the caller has encoded it if `huffman` is set."""
    return integer(len(value), 7, 0x80 if huffman else 0) + value


def field(name: bytes, value: bytes, *, indexed: bool = False) -> bytes:
    """Return a header field in full; if `indexed`, it is added to the dynamic table."""
    return (b"\x40" if indexed else b"\x00") + text(name) + text(value)


def fields(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a header block without compression."""
    return b"".join(field(name, value) for name, value in pairs)


def call_fields(path: bytes) -> bytes:
    """Return the header block of a gRPC call."""
    return fields(
        [
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", path),
            (b":authority", b"collector"),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
        ]
    )


def call(stream: int, path: bytes, more: bytes = b"", *, flags: int = 0) -> bytes:
    """Return the HEADERS frame that opens a gRPC call. `more` is added to its header block."""
    return frame(HEADERS, END_HEADERS | flags, stream, call_fields(path) + more)


def message(body: bytes, *, compressed: bool = False) -> bytes:
    """Return a gRPC message with its prefix."""
    return struct.pack("!BL", compressed, len(body)) + body
