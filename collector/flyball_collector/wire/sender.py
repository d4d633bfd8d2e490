"""The sending half of a connection: answers as frames, as many as the other side has room for."""

from collections.abc import Iterable

from flyball_collector.wire import frames
from flyball_collector.wire.frames import ErrorCode, ProtocolFault
from flyball_collector.wire.hpack import encode
from flyball_collector.wire.messages import ENCODINGS, framed
from flyball_collector.wire.request import TYPE
from flyball_collector.wire.status import StatusCode, percent_encoded
from flyball_collector.wire.stream import Stream

_OPENING = (
    (b":status", b"200"),
    (b"content-type", TYPE),
    (b"grpc-accept-encoding", b",".join(ENCODINGS)),
)
_HEADERS = encode(_OPENING)
_MAX_TEXT = 500  # characters of a status: encoded, too, they fit into one frame


class FrameSender:
    """Writes into the connection's `outgoing`."""

    def __init__(self, outgoing: bytearray) -> None:
        self._outgoing = outgoing
        self._window = frames.DEFAULT_WINDOW_BYTES
        self._first_window = frames.DEFAULT_WINDOW_BYTES  # that streams begin with

    def opened(self, stream: Stream) -> None:
        """A stream begins with what the other side's settings allow."""
        stream.send_window = self._first_window

    def send(self, stream: Stream, message: bytes) -> None:
        """A message, behind those that wait."""
        if not stream.answered:
            stream.answered = True
            self._write(frames.HEADERS, frames.END_HEADERS, stream.id, _HEADERS)
        stream.pending += framed(message)
        self._pump(stream)

    def end(self, stream: Stream, code: StatusCode, message: str) -> None:
        """Trailers, which need no room; alone where nothing was said before them."""
        status = [(b"grpc-status", b"%d" % code)]
        if message:
            status.append((b"grpc-message", percent_encoded(message[:_MAX_TEXT])))
        block = encode(status if stream.answered else (*_OPENING, *status))
        self._finish(stream, block)

    def refuse(self, stream: Stream, http_status: bytes, *, last: bool) -> None:
        """An answer to what is no call."""
        stream.remote_done = last
        self._finish(stream, encode([(b":status", http_status)]))

    def begin_with(self, window: int, streams: Iterable[Stream]) -> None:
        """Streams have another window from the start: so do those that began (section 6.9.2)."""
        if window > frames.MAX_WINDOW_BYTES:
            raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {window} bytes")
        more, self._first_window = window - self._first_window, window
        for stream in streams:
            self._add(stream, more)

    def widen(self, count: int, streams: Iterable[Stream]) -> None:
        """There is room for more on the connection."""
        self._window += count
        if self._window > frames.MAX_WINDOW_BYTES:
            raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {self._window} bytes")
        for stream in streams:
            self._pump(stream)

    def widen_stream(self, stream: Stream, count: int) -> None:
        """There is room for more on a stream."""
        self._add(stream, count)

    def _add(self, stream: Stream, count: int) -> None:
        stream.send_window += count
        if stream.send_window > frames.MAX_WINDOW_BYTES:
            raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {stream.send_window} bytes")
        self._pump(stream)

    def _pump(self, stream: Stream) -> None:
        pending = stream.pending
        while (count := min(len(pending), frames.FRAME_BYTES, self._window, stream.send_window)) > 0:
            self._write(frames.DATA, 0, stream.id, bytes(pending[:count]))
            del pending[:count]
            self._window -= count
            stream.send_window -= count

    def _finish(self, stream: Stream, block: bytes) -> None:
        """The last frame of a stream; the other side need not say the rest."""
        self._write(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream.id, block)
        if not stream.remote_done:
            self._outgoing += frames.reset(stream.id, ErrorCode.NO_ERROR)

    def _write(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        self._outgoing += frames.frame(kind, flags, stream, payload)
