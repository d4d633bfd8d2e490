"""Field blocks (RFC 9113, section 4.3): a HEADERS frame and its CONTINUATION frames become the headers of a stream."""

from typing import NamedTuple

from flyball_collector.wire import frames
from flyball_collector.wire.events import Limits
from flyball_collector.wire.frames import ErrorCode, ProtocolFault, StreamFault
from flyball_collector.wire.hpack import Decoder, Header
from flyball_collector.wire.work import ClientWork

_PRIORITY_BYTES = 5


class FieldBlock(NamedTuple):
    """The decoded headers of a request, or its trailers."""

    headers: list[Header]
    last: bool  # the client sends no more on this stream
    own_parent: bool  # the stream depends on itself


class _Begun(NamedTuple):
    flags: int
    own_parent: bool
    fragments: bytearray


class FieldBlocks:
    """Assembles and decodes the blocks of one connection. Raises `ProtocolFault`."""

    def __init__(self, limits: Limits, work: ClientWork) -> None:
        self._max_bytes = limits.header_bytes
        self._decoder = Decoder(limits.header_bytes)
        self._work = work
        self.incomplete: int | None = None  # the stream whose CONTINUATION frame must follow
        self._begun = _Begun(0, own_parent=False, fragments=bytearray())

    def begin(self, stream: int, flags: int, payload: bytes) -> FieldBlock | None:
        """Take a HEADERS frame. Return the block if it is complete."""
        if flags & frames.PADDED:
            payload = unpadded(payload)
        own_parent = False
        if flags & frames.PRIORITIZED:
            if len(payload) < _PRIORITY_BYTES:
                raise ProtocolFault(ErrorCode.FRAME_SIZE_ERROR, "headers too short for their priority")
            own_parent = _parent(payload) == stream
            payload = payload[_PRIORITY_BYTES:]
        if not flags & frames.END_HEADERS:
            self.incomplete = stream
            self._begun = _Begun(flags, own_parent, bytearray(payload))
            return None
        return self._decoded(payload, flags, own_parent)

    def go_on(self, flags: int, payload: bytes) -> FieldBlock | None:
        """Take a CONTINUATION frame. Return the block if it is complete."""
        if self.incomplete is None:
            raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, "a CONTINUATION frame without HEADERS")
        first_flags, own_parent, fragments = self._begun
        fragments += payload
        if len(fragments) > self._max_bytes:
            raise ProtocolFault(ErrorCode.ENHANCE_YOUR_CALM, f"more than {self._max_bytes} bytes of headers")
        if not flags & frames.END_HEADERS:
            return None
        self.incomplete = None
        return self._decoded(bytes(fragments), first_flags, own_parent)

    def _decoded(self, block: bytes, flags: int, own_parent: bool) -> FieldBlock:
        headers = self._decoder.decode(block)
        self._work.header_block(len(block), len(headers))
        return FieldBlock(headers, bool(flags & frames.END_STREAM), own_parent)


def check_priority(stream: int, payload: bytes) -> None:
    """Check a PRIORITY frame, which has no other effect (sections 5.3.2 and 6.3). Raises `StreamFault`."""
    if len(payload) != _PRIORITY_BYTES:
        raise StreamFault(ErrorCode.FRAME_SIZE_ERROR, f"PRIORITY of {len(payload)} bytes")
    if _parent(payload) == stream:
        raise StreamFault(ErrorCode.PROTOCOL_ERROR, "the stream depends on itself")


def _parent(priority: bytes) -> int:
    """Return the stream that another one depends on."""
    return int.from_bytes(priority[:4]) & frames.LAST_STREAM


def unpadded(payload: bytes) -> bytes:
    """Return the payload without its padding (section 6.1)."""
    if not payload:
        raise ProtocolFault(ErrorCode.FRAME_SIZE_ERROR, "a padded frame without the length of its padding")
    if payload[0] >= len(payload):
        raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, "the padding is longer than the frame")
    return payload[1 : len(payload) - payload[0]]
