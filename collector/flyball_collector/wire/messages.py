"""gRPC's framing of messages in a stream of bytes: a flag, a length and the message, independent of HTTP/2 frames."""

import struct
import zlib
from collections.abc import Callable

from flyball_collector.wire.status import CallEnded, StatusCode

PREFIX = struct.Struct(">BL")
IDENTITY = b"identity"
ENCODINGS = {IDENTITY: None, b"gzip": 16 + zlib.MAX_WBITS, b"deflate": zlib.MAX_WBITS}
"""Supported compressions (doc/compression.md of grpc/grpc), as zlib's window bits."""

OnInflated = Callable[[int, int], None]
"""Takes the length of a message before and after decompression. It may raise."""


def framed(message: bytes) -> bytes:
    """Return a message with its prefix."""
    return PREFIX.pack(0, len(message)) + message


class Assembler:
    """Assembles the messages of one stream. Raises `CallEnded` for invalid input."""

    __slots__ = ("_later_max_bytes", "_max_bytes", "_on_inflated", "_part", "encoding")

    def __init__(self, max_bytes: int, encoding: bytes = IDENTITY, on_inflated: OnInflated | None = None) -> None:
        self._max_bytes = self._later_max_bytes = max_bytes
        self._on_inflated = on_inflated
        self._part: bytes | bytearray = b""
        self.encoding = encoding

    def limit(self, max_bytes: int, first_bytes: int | None) -> None:
        """Set the limit of all messages, and a smaller one of the first message if it is given."""
        self._later_max_bytes = max_bytes
        self._max_bytes = max_bytes if first_bytes is None else min(max_bytes, first_bytes)

    @property
    def between(self) -> bool:
        """Return True if no message is incomplete."""
        return not self._part

    def take(self, data: bytes | bytearray) -> list[bytes]:
        """Add data and return the messages that are now complete."""
        if self._part:
            data = self._joined(data)
        messages, at, size, inflated = [], 0, len(data), 0
        while size - at >= PREFIX.size:
            compressed, length = PREFIX.unpack_from(data, at)
            if length > self._max_bytes:
                raise self._too_long(f"{length} bytes")
            end = at + PREFIX.size + length
            if end > size:
                break
            message = bytes(data[at + PREFIX.size : end])
            if compressed:
                message = self._inflated(message, compressed)
                inflated += len(message)
                if inflated > self._max_bytes:
                    raise self._too_long(f"more than {self._max_bytes} bytes after decompression, in one frame")
            messages.append(message)
            at = end
            self._max_bytes = self._later_max_bytes
        self._part = data[at:] if at else data
        return messages

    def _joined(self, data: bytes | bytearray) -> bytearray:
        """Append in place, because a long message comes in many frames."""
        if not isinstance(self._part, bytearray):
            self._part = bytearray(self._part)
        self._part += data
        return self._part

    def _inflated(self, message: bytes, compressed: int) -> bytes:
        if compressed != 1:
            raise CallEnded(StatusCode.INTERNAL, f"a message with the flag {compressed}; allowed are 0 and 1")
        window_bits = ENCODINGS[self.encoding]
        if window_bits is None:
            raise CallEnded(StatusCode.INTERNAL, "a compressed message, but the call has no grpc-encoding header")
        inflating = zlib.decompressobj(window_bits)
        try:
            plain = inflating.decompress(message, self._max_bytes + 1)
        except zlib.error as error:
            raise CallEnded(StatusCode.INTERNAL, f"cannot decompress a message: {error}") from None
        if self._on_inflated is not None:
            self._on_inflated(len(message), len(plain))
        if len(plain) > self._max_bytes:
            raise self._too_long(f"more than {self._max_bytes} bytes after decompression")
        if not inflating.eof:
            raise CallEnded(StatusCode.INTERNAL, "a compressed message is truncated")
        return plain

    def _too_long(self, size: str) -> CallEnded:
        return CallEnded(StatusCode.RESOURCE_EXHAUSTED, f"a message of {size}; the limit is {self._max_bytes} bytes")
