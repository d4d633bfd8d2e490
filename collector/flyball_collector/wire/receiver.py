"""The receiving half of a connection: data become messages, and windows widen as the messages are consumed."""

from collections.abc import Iterable, Sequence

from flyball_collector.wire import frames
from flyball_collector.wire.events import Limits
from flyball_collector.wire.frames import ErrorCode, ProtocolFault, StreamFault
from flyball_collector.wire.messages import IDENTITY, PREFIX
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_collector.wire.stream import Http2Stream
from flyball_collector.wire.work import SMALL_BYTES, ClientWork

CONNECTION_WINDOW = 1 << 24  # never the limit: memory is limited for each stream


class FrameReceiver:
    """Counts received data against the flow-control windows. Writes into the connection's `outgoing`."""

    def __init__(self, outgoing: bytearray, limits: Limits, work: ClientWork, streams: Iterable[Http2Stream]) -> None:
        self._outgoing = outgoing
        self._work = work
        self._streams = streams  # all that are open
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

    def take(self, stream: Http2Stream, content: bytes, size: int, *, last: bool) -> Sequence[bytes]:
        """Add content of a frame of `size` bytes, and return the messages that are now complete.

        Raises `StreamFault` or `CallEnded`, and `ProtocolFault` if the messages cost too much work.
        """
        stream.receive_window -= size
        stream.received += size
        if stream.receive_window < 0:
            raise StreamFault(ErrorCode.FLOW_CONTROL_ERROR, "more data than the window of the stream allows")
        if stream.content_left is not None:
            stream.content_left = _content_left(stream.content_left, len(content))
        messages = stream.assembler.take(content)
        for message in messages:
            stream.held += PREFIX.size + len(message)  # empty messages count as well
        if messages:
            self._work.messages(len(messages))
        if len(messages) * SMALL_BYTES > size:
            self._work.small_messages(len(messages))
        if stream.held > self._stream_window and stream.assembler.encoding != IDENTITY:
            self._check_decompressed()
        if not messages and not last:
            self._widen(stream)  # room for the rest of a long message
        return messages

    def consumed(self, stream: Http2Stream, size: int) -> None:
        """Note that a message of `size` bytes was consumed."""
        stream.held -= PREFIX.size + size
        self._widen(stream)

    def _check_decompressed(self) -> None:
        """Limit what waits after decompression on all streams together, because windows count compressed bytes."""
        held = sum(stream.held for stream in self._streams if stream.assembler.encoding != IDENTITY)
        if held > self._max_held:
            raise CallEnded(StatusCode.RESOURCE_EXHAUSTED, "decompressed messages exceed the window")

    def _widen(self, stream: Http2Stream) -> None:
        """Widen the stream's window when half of it is free again."""
        free = stream.received - stream.held
        if free >= self._stream_window // 2 and not stream.remote_done:
            self._outgoing += frames.window_update(stream.id, free)
            stream.receive_window += free
            stream.received -= free


def _content_left(left: int, size: int) -> int:
    """Count content against its declared length (section 8.1.1)."""
    if size > left:
        raise StreamFault(ErrorCode.PROTOCOL_ERROR, "more content than its content-length")
    return left - size
