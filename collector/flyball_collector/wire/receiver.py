"""The receiving half of a connection: data become messages, and room is given back as they are taken."""

from collections.abc import Sequence

from flyball_collector.wire import frames
from flyball_collector.wire.events import Limits
from flyball_collector.wire.frames import ErrorCode, ProtocolFault
from flyball_collector.wire.messages import PREFIX
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_collector.wire.stream import Stream

CONNECTION_WINDOW = 1 << 24  # never in the way: what is held is limited stream by stream


class FrameReceiver:
    """Writes into the connection's `outgoing`."""

    def __init__(self, outgoing: bytearray, limits: Limits) -> None:
        self._outgoing = outgoing
        self._stream_window = limits.window_bytes
        self._max_held = limits.window_bytes + limits.message_bytes
        self._window = frames.DEFAULT_WINDOW_BYTES + CONNECTION_WINDOW
        self._received = 0  # since it was last widened

    def count(self, size: int) -> None:
        """Data of the connection, whichever stream they are for."""
        self._window -= size
        self._received += size
        if self._window < 0:
            raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, "more data than the connection has room for")
        if self._received >= CONNECTION_WINDOW // 2:
            self._outgoing += frames.window_update(0, self._received)
            self._window += self._received
            self._received = 0

    def take(self, stream: Stream, flags: int, payload: bytes) -> Sequence[bytes]:
        """Data of a stream: the messages that are whole now. Raises `ProtocolFault` or `CallEnded`."""
        size = len(payload)
        stream.receive_window -= size
        stream.received += size
        if stream.receive_window < 0:
            raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, f"more data than stream {stream.id} has room for")
        if flags & frames.PADDED:
            payload = unpadded(payload)
        messages = stream.assembler.take(payload)
        for message in messages:
            stream.held += PREFIX.size + len(message)  # an empty one is a burden, too
        if stream.held > self._max_held:  # only what was compressed can be
            raise CallEnded(StatusCode.RESOURCE_EXHAUSTED, "messages that are far larger than what was sent of them")
        if not messages and not flags & frames.END_STREAM:
            self._widen(stream)  # room for the rest of a long message
        return messages

    def taken(self, stream: Stream, size: int) -> None:
        """A message of so many bytes is nobody's burden any more."""
        stream.held -= PREFIX.size + size
        self._widen(stream)

    def _widen(self, stream: Stream) -> None:
        """Give room back that is free again, half a window at a time."""
        free = stream.received - stream.held
        if free >= self._stream_window // 2 and not stream.remote_done:
            self._outgoing += frames.window_update(stream.id, free)
            stream.receive_window += free
            stream.received -= free


def unpadded(payload: bytes) -> bytes:
    """What is left without the padding (section 6.1)."""
    if not payload or payload[0] >= len(payload):
        raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, "more padding than there is")
    return payload[1 : len(payload) - payload[0]]
