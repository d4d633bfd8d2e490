"""The receiving half of a connection: data become messages, and windows widen as the messages are consumed."""

from collections.abc import Sequence

from flyball_collector.wire import frames
from flyball_collector.wire.events import Limits
from flyball_collector.wire.frames import ErrorCode, ProtocolFault
from flyball_collector.wire.messages import PREFIX
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_collector.wire.stream import Http2Stream

CONNECTION_WINDOW = 1 << 24  # never the limit: memory is limited for each stream


class FrameReceiver:
    """Counts received data against the flow-control windows. Writes into the connection's `outgoing`."""

    def __init__(self, outgoing: bytearray, limits: Limits) -> None:
        self._outgoing = outgoing
        self._stream_window = limits.window_bytes
        self._max_held = limits.window_bytes + limits.message_bytes
        self._window = frames.DEFAULT_WINDOW_BYTES + CONNECTION_WINDOW
        self._received = 0  # since the window was last widened

    def count(self, size: int) -> None:
        """Count data against the connection's window."""
        self._window -= size
        self._received += size
        if self._window < 0:
            raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, "more data than the connection's window allows")
        if self._received >= CONNECTION_WINDOW // 2:
            self._outgoing += frames.window_update(0, self._received)
            self._window += self._received
            self._received = 0

    def take(self, stream: Http2Stream, flags: int, payload: bytes) -> Sequence[bytes]:
        """Add data of a stream and return the messages that are now complete. Raises `ProtocolFault` or `CallEnded`."""
        size = len(payload)
        stream.receive_window -= size
        stream.received += size
        if stream.receive_window < 0:
            raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, f"more data than the window of stream {stream.id} allows")
        if flags & frames.PADDED:
            payload = unpadded(payload)
        messages = stream.assembler.take(payload)
        for message in messages:
            stream.held += PREFIX.size + len(message)  # empty messages count as well
        if stream.held > self._max_held:  # only possible with compression
            raise CallEnded(StatusCode.RESOURCE_EXHAUSTED, "decompressed messages exceed the window")
        if not messages and not flags & frames.END_STREAM:
            self._widen(stream)  # room for the rest of a long message
        return messages

    def consumed(self, stream: Http2Stream, size: int) -> None:
        """Note that a message of `size` bytes was consumed."""
        stream.held -= PREFIX.size + size
        self._widen(stream)

    def _widen(self, stream: Http2Stream) -> None:
        """Widen the stream's window when half of it is free again."""
        free = stream.received - stream.held
        if free >= self._stream_window // 2 and not stream.remote_done:
            self._outgoing += frames.window_update(stream.id, free)
            stream.receive_window += free
            stream.received -= free


def unpadded(payload: bytes) -> bytes:
    """Return the payload without its padding (section 6.1)."""
    if not payload or payload[0] >= len(payload):
        raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, "the padding is longer than the frame")
    return payload[1 : len(payload) - payload[0]]
