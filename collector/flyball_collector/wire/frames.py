"""HTTP/2 frames (RFC 9113, section 6): their numbers, and the encoding of those that a server sends."""

import struct
from enum import IntEnum

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"  # section 3.4
HEADER_BYTES = 9
FRAME_BYTES = 16_384  # the size that every peer must accept (section 4.2); never exceeded either way
DEFAULT_WINDOW_BYTES = 65_535  # section 6.9.2
MAX_WINDOW_BYTES = (1 << 31) - 1
MAX_FRAME_BYTES = (1 << 24) - 1  # what a peer may allow (section 4.2)
LAST_STREAM = (1 << 31) - 1

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9

ACK = END_STREAM = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITIZED = 0x20

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS = 1, 2, 3  # section 6.5.2
INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 4, 5, 6

HEADER = struct.Struct(">HBBBL")  # the length's upper and lower part, type, flags, stream
SETTING = struct.Struct(">HL")
_NUMBER = struct.Struct(">L")
_TWO_NUMBERS = struct.Struct(">LL")
_OF_CONNECTION = frozenset({SETTINGS, PING, GOAWAY})
_SIZES = {RST_STREAM: 4, PING: 8, WINDOW_UPDATE: 4}
_GOAWAY_BYTES = 8  # or more


class ErrorCode(IntEnum):
    """Section 7."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    SETTINGS_TIMEOUT = 4
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    CONNECT_ERROR = 10
    ENHANCE_YOUR_CALM = 11
    INADEQUATE_SECURITY = 12
    HTTP_1_1_REQUIRED = 13


class ProtocolFault(Exception):
    """The peer violated the protocol, so its connection ends."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class StreamFault(Exception):
    """The peer violated the protocol on one stream, which is reset. Other streams are not affected."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Encode a frame."""
    size = len(payload)
    return HEADER.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload


def settings(values: dict[int, int]) -> bytes:
    """Encode SETTINGS, which the peer must obey."""
    return frame(SETTINGS, 0, 0, b"".join(SETTING.pack(key, value) for key, value in values.items()))


def window_update(stream: int, count: int) -> bytes:
    """Encode WINDOW_UPDATE: the peer may send `count` more bytes."""
    return frame(WINDOW_UPDATE, 0, stream, _NUMBER.pack(count))


def reset(stream: int, code: ErrorCode) -> bytes:
    """Encode RST_STREAM, which ends a stream at once."""
    return frame(RST_STREAM, 0, stream, _NUMBER.pack(code))


def goaway(last_stream: int, code: ErrorCode, reason: str = "") -> bytes:
    """Encode GOAWAY: no stream above `last_stream` is served. The reason is for the peer's log."""
    return frame(GOAWAY, 0, 0, _TWO_NUMBERS.pack(last_stream, code) + reason.encode()[:200])


def check(kind: int, flags: int, stream: int, size: int) -> None:
    """Check the stream and size of a client's frame (section 6). DATA and PRIORITY are checked with their stream."""
    if (kind in _OF_CONNECTION and stream != 0) or (kind in {HEADERS, PRIORITY} and stream == 0):
        raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, f"a frame of type {kind} on stream {stream}")
    if kind == HEADERS and stream % 2 == 0:
        raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, f"stream {stream}: a client's stream has an odd number")
    if kind == PUSH_PROMISE:
        raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, "a client cannot push")
    if not _size_allowed(kind, flags, size):
        raise ProtocolFault(ErrorCode.FRAME_SIZE_ERROR, f"a frame of type {kind} with {size} bytes")


def _size_allowed(kind: int, flags: int, size: int) -> bool:
    if kind == SETTINGS:
        return size == 0 if flags & ACK else size % SETTING.size == 0
    return size >= _GOAWAY_BYTES if kind == GOAWAY else size == _SIZES.get(kind, size)
