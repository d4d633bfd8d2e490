"""Frames that the clients of these cases send: calls, messages and header blocks, valid ones and others."""

from collections.abc import Iterable

from tests.outside.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    PRIORITY,
    RESET,
    WINDOW_UPDATE,
    fields,
    frame,
    message,
)

ECHO, UNARY, HOLD, DENIED = b"/t/echo", b"/t/unary", b"/t/hold", b"/t/denied"
PRIORITY_FLAG = 0x20

Pairs = Iterable[tuple[bytes, bytes]]


def pairs(
    path: bytes | None = ECHO,
    *,
    method: bytes | None = b"POST",
    scheme: bytes | None = b"http",
    kind: bytes | None = b"application/grpc",
) -> list[tuple[bytes, bytes]]:
    """Return the headers of a call, without those that are None."""
    usual = ((b":method", method), (b":scheme", scheme), (b":path", path), (b"content-type", kind))
    return [(name, value) for name, value in usual if value is not None]


def opened(headers: Pairs, stream: int = 1, *, end: bool = False, flags: int = END_HEADERS) -> bytes:
    """Return the HEADERS frame with these headers."""
    return frame(HEADERS, flags | (END_STREAM if end else 0), stream, fields(headers))


def called(path: bytes = ECHO, stream: int = 1, *more: tuple[bytes, bytes], end: bool = False) -> bytes:
    """Return the HEADERS frame that opens a call."""
    return opened([*pairs(path), *more], stream, end=end)


def data(body: bytes = b"", stream: int = 1, *, end: bool = False, flags: int = 0) -> bytes:
    """Return a DATA frame."""
    return frame(DATA, flags | (END_STREAM if end else 0), stream, body)


def sent(*bodies: bytes, stream: int = 1, end: bool = True) -> bytes:
    """Return a DATA frame with messages."""
    return data(b"".join(map(message, bodies)), stream, end=end)


def whole(body: bytes = b"x", stream: int = 1, path: bytes = ECHO) -> bytes:
    """Return a complete call with one message."""
    return called(path, stream) + sent(body, stream=stream)


def trailers(headers: Pairs, stream: int = 1, *, end: bool = True) -> bytes:
    """Return headers after the messages."""
    return opened(headers, stream, end=end)


def block(payload: bytes, stream: int = 1, flags: int = END_HEADERS | END_STREAM) -> bytes:
    """Return a HEADERS frame with a header block of bytes."""
    return frame(HEADERS, flags, stream, payload)


def begun(payload: bytes, stream: int = 1) -> bytes:
    """Return a HEADERS frame that has to be continued."""
    return frame(HEADERS, END_STREAM, stream, payload)


def continued(payload: bytes = b"", stream: int = 1, *, end: bool = True) -> bytes:
    """Return a CONTINUATION frame."""
    return frame(CONTINUATION, END_HEADERS if end else 0, stream, payload)


def number(value: int) -> bytes:
    """Return four bytes."""
    return value.to_bytes(4)


def reset(stream: int = 1, code: int = 8) -> bytes:
    """Return RST_STREAM."""
    return frame(RESET, 0, stream, number(code))


def widened(count: int, stream: int = 0) -> bytes:
    """Return WINDOW_UPDATE, with the reserved bit if the number has it."""
    return frame(WINDOW_UPDATE, 0, stream, number(count))


def ping(payload: bytes = b"12345678", flags: int = 0, stream: int = 0) -> bytes:
    """Return PING."""
    return frame(PING, flags, stream, payload)


def priority(parent: int = 0, stream: int = 1, *, exclusive: bool = False, weight: int = 15) -> bytes:
    """Return PRIORITY."""
    return frame(PRIORITY, 0, stream, number(parent | exclusive << 31) + bytes([weight]))
