"""The sending half of a connection: answers as frames, as far as the client's windows allow."""

from collections.abc import Iterable

from flyball_collector.wire import frames
from flyball_collector.wire.frames import ErrorCode, ProtocolFault, StreamFault
from flyball_collector.wire.hpack import TABLE_BYTES, encode
from flyball_collector.wire.messages import ENCODINGS, framed
from flyball_collector.wire.request import TYPE
from flyball_collector.wire.status import StatusCode, percent_encoded
from flyball_collector.wire.stream import Http2Stream

_OPENING = (
    (b":status", b"200"),
    (b"content-type", TYPE),
    (b"grpc-accept-encoding", b",".join(ENCODINGS)),
)
_HEADERS = encode(_OPENING)
_NO_TABLE = b"\x20"  # a table size update to 0 (RFC 7541, section 6.3)
_MAX_TEXT = 500  # characters of a status message, so that it fits into one frame after encoding


class FrameSender:
    """Sends messages and statuses within the flow-control windows. Writes into the connection's `outgoing`."""

    def __init__(self, outgoing: bytearray) -> None:
        self._outgoing = outgoing
        self._window = frames.DEFAULT_WINDOW_BYTES
        self._initial_window = frames.DEFAULT_WINDOW_BYTES
        self._table_bytes = TABLE_BYTES
        self._update = b""  # what the next block of headers has to begin with

    def opened(self, stream: Http2Stream) -> None:
        """Give a new stream the window of the client's settings."""
        stream.send_window = self._initial_window

    def send(self, stream: Http2Stream, message: bytes) -> None:
        """Queue a message behind those that wait, and send what the windows allow."""
        if not stream.answered:
            stream.answered = True
            self._write_headers(frames.END_HEADERS, stream.id, _HEADERS)
        stream.pending += framed(message)
        self._pump(stream)

    def end(self, stream: Http2Stream, code: StatusCode, message: str) -> None:
        """Send trailers, which need no window. Without earlier messages they also carry the headers."""
        status = [(b"grpc-status", b"%d" % code)]
        if message:
            status.append((b"grpc-message", percent_encoded(message[:_MAX_TEXT])))
        block = encode(status if stream.answered else (*_OPENING, *status))
        self._finish(stream, block)

    def refuse(self, stream: Http2Stream, http_status: bytes) -> None:
        """Answer a request that is not gRPC with an HTTP status."""
        self._finish(stream, encode([(b":status", http_status)]))

    def limit_table(self, size: int) -> None:
        """Apply a limit of the client's header table.

        The encoder uses no table. Below the size that the client assumes it has to signal that (section 4.3.1): with
        a size of 0 once, which no later limit can be below.
        """
        if size < self._table_bytes:
            self._table_bytes, self._update = 0, _NO_TABLE

    def set_initial_window(self, window: int, streams: Iterable[Http2Stream]) -> None:
        """Apply a new initial window, also to open streams (section 6.9.2)."""
        change, self._initial_window = window - self._initial_window, window
        for stream in streams:
            if stream.send_window + change > frames.MAX_WINDOW_BYTES:
                raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {stream.send_window + change} bytes")
            stream.send_window += change
            self._pump(stream)

    def widen(self, count: int, streams: Iterable[Http2Stream]) -> None:
        """Widen the connection's window."""
        self._window += count
        if self._window > frames.MAX_WINDOW_BYTES:
            raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {self._window} bytes")
        for stream in streams:
            self._pump(stream)

    def widen_stream(self, stream: Http2Stream, count: int) -> None:
        """Widen the window of a stream. Raises `StreamFault`."""
        if stream.send_window + count > frames.MAX_WINDOW_BYTES:
            raise StreamFault(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {stream.send_window + count} bytes")
        stream.send_window += count
        self._pump(stream)

    def _pump(self, stream: Http2Stream) -> None:
        pending = stream.pending
        while (count := min(len(pending), frames.FRAME_BYTES, self._window, stream.send_window)) > 0:
            self._write(frames.DATA, 0, stream.id, bytes(pending[:count]))
            del pending[:count]
            self._window -= count
            stream.send_window -= count

    def _finish(self, stream: Http2Stream, block: bytes) -> None:
        """Send the last frame of a stream, and reset the stream if the client still sends."""
        self._write_headers(frames.END_HEADERS | frames.END_STREAM, stream.id, block)
        if not stream.remote_done:
            self._outgoing += frames.reset(stream.id, ErrorCode.NO_ERROR)

    def _write_headers(self, flags: int, stream: int, block: bytes) -> None:
        self._write(frames.HEADERS, flags, stream, self._update + block)
        self._update = b""

    def _write(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        self._outgoing += frames.frame(kind, flags, stream, payload)
