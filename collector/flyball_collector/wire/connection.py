"""The server side of one HTTP/2 connection, without I/O: bytes in, events and bytes out (RFC 9113).

Invalid input never raises: it ends the stream or the connection with a reason.
"""

from flyball_collector.wire import frames
from flyball_collector.wire.client_settings import read_settings
from flyball_collector.wire.events import Broken, Cancelled, Event, Finished, Limits, Opened, Received
from flyball_collector.wire.field_blocks import FieldBlock, FieldBlocks, check_priority, unpadded
from flyball_collector.wire.fields import check_trailers
from flyball_collector.wire.frames import ErrorCode, ProtocolFault, StreamFault
from flyball_collector.wire.messages import Assembler
from flyball_collector.wire.receiver import CONNECTION_WINDOW, FrameReceiver
from flyball_collector.wire.request import NotGrpc, read_request
from flyball_collector.wire.sender import FrameSender
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_collector.wire.stream import Closed, Http2Stream, Streams
from flyball_collector.wire.work import SMALL_BYTES, ClientWork


class Connection:
    """Pass received bytes to `receive`, and send the bytes that accumulate in `outgoing`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._work = ClientWork(limits)
        self._blocks = FieldBlocks(limits, self._work)
        self._streams = Streams()
        self._open = self._streams.open
        self._last_served: int | None = None  # of a connection that accepts no more calls
        self._rest = b""  # the beginning of an incomplete frame
        self._prefaced = False
        self.greeted = False  # the client's settings have arrived, so it speaks HTTP/2
        self._broken = False
        self.outgoing = bytearray(
            frames.settings(
                {
                    frames.MAX_CONCURRENT_STREAMS: limits.streams,
                    frames.INITIAL_WINDOW_SIZE: limits.window_bytes,
                    frames.MAX_HEADER_LIST_SIZE: limits.header_bytes,
                }
            )
            + frames.window_update(0, CONNECTION_WINDOW)
        )
        self._sender = FrameSender(self.outgoing)
        self._receiver = FrameReceiver(self.outgoing, limits, self._work, self._open.values())

    @property
    def streams(self) -> int:
        """Return the number of open calls."""
        return len(self._open)

    def receive(self, data: bytes) -> list[Event]:
        """Return the events in these bytes. They are the same however the bytes are split."""
        events: list[Event] = []
        if self._broken:
            return events
        try:
            self._parse(self._rest + data if self._rest else data, events)
        except ProtocolFault as fault:
            self._broken = True
            self._go_away(fault.code, fault.reason)
            events.append(Broken(fault.reason, fault.code))
        return events

    def consumed(self, stream_id: int, size: int) -> None:
        """Note that a message of `size` bytes was consumed, which makes room for more."""
        stream = self._open.get(stream_id)
        if stream is not None:
            self._receiver.consumed(stream, size)

    def send(self, stream_id: int, message: bytes) -> None:
        """Send a message as far as the client's windows allow. The rest follows when they widen."""
        stream = self._open.get(stream_id)
        if stream is not None:
            self._sender.send(stream, message)

    def unsent(self, stream_id: int) -> int:
        """Return how many bytes wait for the client's window."""
        stream = self._open.get(stream_id)
        return len(stream.pending) if stream is not None else 0

    def end(self, stream_id: int, code: StatusCode, message: str = "") -> None:
        """Send the status of a call that ended. Messages that still wait are dropped."""
        stream = self._open.get(stream_id)
        if stream is not None:
            self._close(stream)
            if not self._broken:  # GOAWAY is the last frame
                self._sender.end(stream, code, message)

    def ping(self) -> None:
        """Send a ping to check that the client is alive."""
        self.outgoing += frames.frame(frames.PING, 0, 0, bytes(8))

    def leave(self, reason: str) -> None:
        """Accept no more calls. Open calls continue."""
        if self._last_served is None and not self._broken:
            self._last_served = self._streams.last
            self._go_away(ErrorCode.NO_ERROR, reason)

    def start_second(self) -> None:
        """Reset the counts of the client's work. The caller does this about once a second."""
        self._work.start_second()

    # --- frames ---

    def _parse(self, data: bytes, events: list[Event]) -> None:
        at, size = 0, len(data)
        if not self._prefaced:
            at = self._preface(data)
        while self._prefaced and size - at >= frames.HEADER_BYTES:
            upper, lower, kind, flags, stream = frames.HEADER.unpack_from(data, at)
            length = upper << 8 | lower
            if length > frames.FRAME_BYTES:
                raise ProtocolFault(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {length} bytes")
            end = at + frames.HEADER_BYTES + length
            if end > size:
                break
            payload = data[at + frames.HEADER_BYTES : end]
            at = end
            stream &= frames.LAST_STREAM
            try:
                if kind == frames.DATA and self.greeted and self._blocks.incomplete is None:
                    self._on_data(stream, flags, payload, events)
                else:
                    self._on_other(kind, stream, flags, payload, events)
            except StreamFault as fault:
                self._reset(stream, fault.code, events)
        self._rest = data[at:]

    def _preface(self, data: bytes) -> int:
        """Return the offset of the first frame, or 0 while the preface and one frame header are not complete."""
        preface = data[: len(frames.PREFACE)]
        if not frames.PREFACE.startswith(preface):
            raise _fault("not HTTP/2")
        self._prefaced = len(data) >= len(frames.PREFACE) + frames.HEADER_BYTES
        return len(preface) if self._prefaced else 0

    def _on_other(self, kind: int, stream: int, flags: int, payload: bytes, events: list[Event]) -> None:
        if not self.greeted and (kind != frames.SETTINGS or flags & frames.ACK):
            raise _fault("the first frame is not SETTINGS")
        if self._blocks.incomplete not in {None, stream if kind == frames.CONTINUATION else None}:
            raise _fault("expected a CONTINUATION frame")
        if kind != frames.HEADERS:  # their cost is counted once they are decoded
            self._work.idle_frame()
        frames.check(kind, flags, stream, len(payload))
        if handler := _HANDLERS.get(kind):
            handler(self, stream, flags, payload, events)

    def _on_data(self, stream_id: int, flags: int, payload: bytes, events: list[Event]) -> None:
        size = len(payload)
        self._receiver.count(size)
        content = unpadded(payload) if flags & frames.PADDED else payload
        if len(content) < SMALL_BYTES:
            self._work.small_frame(len(content))
        stream = self._open.get(stream_id)
        if stream is None or stream.remote_done:
            self._streams.check_late_data(stream_id)
            return
        last = flags & frames.END_STREAM != 0
        try:
            messages = self._receiver.take(stream, content, size, last=last)
        except CallEnded as ended:
            self._refuse(stream, ended, events)
            return
        events += [Received(stream_id, message) for message in messages]
        if last:
            self._finish(stream, events)

    def _finish(self, stream: Http2Stream, events: list[Event]) -> None:
        stream.remote_done = True
        if stream.content_left:
            raise StreamFault(ErrorCode.PROTOCOL_ERROR, "less content than its content-length")
        if not stream.assembler.between:
            self._refuse(stream, CallEnded(StatusCode.INTERNAL, "the last message is incomplete"), events)
            return
        events.append(Finished(stream.id))

    def _refuse(self, stream: Http2Stream, ended: CallEnded, events: list[Event]) -> None:
        self.end(stream.id, ended.code, ended.message)
        events.append(Cancelled(stream.id))

    def _reset(self, stream_id: int, code: ErrorCode, events: list[Event]) -> None:
        if self._streams.close(stream_id, Closed.RESET):
            events.append(Cancelled(stream_id))
        self.outgoing += frames.reset(stream_id, code)

    def _close(self, stream: Http2Stream) -> None:
        """Note that we send the last frame of a stream, and a reset if the client has not sent its own last one."""
        self._streams.close(stream.id, Closed.ENDED if stream.remote_done else Closed.RESET)
        if stream.remote_done:
            self._work.served_call()

    def _go_away(self, code: ErrorCode, reason: str) -> None:
        last = self._streams.last if self._last_served is None else self._last_served  # it must not increase
        self.outgoing += frames.goaway(last, code, reason)

    # --- headers ---

    def _on_headers(self, stream: int, flags: int, payload: bytes, events: list[Event]) -> None:
        self._on_block(stream, self._blocks.begin(stream, flags, payload), events)

    def _on_continuation(self, stream: int, flags: int, payload: bytes, events: list[Event]) -> None:
        self._on_block(stream, self._blocks.go_on(flags, payload), events)

    def _on_block(self, stream_id: int, block: FieldBlock | None, events: list[Event]) -> None:
        """Handle the headers of a call, or its trailers, once they are complete."""
        if block is None:
            return
        if (open_stream := self._open.get(stream_id)) is not None:
            self._on_trailers(open_stream, block, events)
        elif not self._streams.idle(stream_id):
            self._streams.check_late_headers(stream_id)
        else:
            self._begin(stream_id, block, events)

    def _on_trailers(self, stream: Http2Stream, block: FieldBlock, events: list[Event]) -> None:
        if stream.remote_done:
            raise StreamFault(ErrorCode.STREAM_CLOSED, "headers after the end of the stream")
        if not block.last:
            raise StreamFault(ErrorCode.PROTOCOL_ERROR, "headers within the stream")
        check_trailers(block.headers)
        self._finish(stream, events)

    def _begin(self, stream_id: int, block: FieldBlock, events: list[Event]) -> None:
        self._streams.last = stream_id
        if self._last_served is not None or len(self._open) >= self._limits.streams:
            raise StreamFault(ErrorCode.REFUSED_STREAM, "too many streams, or the connection accepts no more")
        if block.own_parent:
            raise StreamFault(ErrorCode.PROTOCOL_ERROR, "the stream depends on itself")
        assembler = Assembler(self._limits.message_bytes, on_inflated=self._work.inflated)
        stream = Http2Stream(stream_id, assembler, self._limits.window_bytes, remote_done=block.last)
        self._sender.opened(stream)
        try:
            request = read_request(block.headers)
        except NotGrpc as refusal:
            self._close(stream)
            self._sender.refuse(stream, refusal.status)
            return
        except CallEnded as ended:
            self._close(stream)
            self._sender.end(stream, ended.code, ended.message)
            return
        self._work.call()
        limits = self._limits
        max_bytes = limits.message_bytes_by_path.get(request.path, limits.message_bytes)
        assembler.limit(max_bytes, limits.first_message_bytes)
        assembler.encoding = request.encoding
        stream.content_left = request.content_length
        self._open[stream_id] = stream
        events.append(Opened(stream_id, request))
        if block.last:
            self._finish(stream, events)

    # --- other frames ---

    def _on_priority(self, stream_id: int, _flags: int, payload: bytes, _events: list[Event]) -> None:
        try:
            check_priority(stream_id, payload)
        except StreamFault as fault:
            if self._streams.idle(stream_id):  # it cannot be reset
                raise ProtocolFault(fault.code, str(fault)) from None
            raise

    def _on_reset(self, stream_id: int, _flags: int, _payload: bytes, events: list[Event]) -> None:
        self._streams.check_used(stream_id)
        if stream_id in self._open:
            self._streams.close(stream_id, Closed.CANCELLED)
            events.append(Cancelled(stream_id))

    def _on_settings(self, _stream: int, flags: int, payload: bytes, _events: list[Event]) -> None:
        if flags & frames.ACK:
            return
        self._work.settings(len(payload))
        settings = read_settings(payload)
        self.greeted = True
        self.outgoing += frames.frame(frames.SETTINGS, frames.ACK, 0)  # before the data that the new window allows
        if settings.table_bytes is not None:
            self._sender.limit_table(settings.table_bytes)
        if settings.window is not None:
            self._sender.set_initial_window(settings.window, self._open.values())

    def _on_ping(self, _stream: int, flags: int, payload: bytes, _events: list[Event]) -> None:
        if not flags & frames.ACK:
            self.outgoing += frames.frame(frames.PING, frames.ACK, 0, payload)

    def _on_window_update(self, stream_id: int, _flags: int, payload: bytes, _events: list[Event]) -> None:
        count = int.from_bytes(payload) & frames.MAX_WINDOW_BYTES
        if stream_id == 0:
            if count == 0:
                raise _fault("a window update of 0 bytes")
            self._sender.widen(count, self._open.values())
            return
        self._streams.check_used(stream_id)
        stream = self._open.get(stream_id)
        if stream is None:
            return  # sent before the client knew that the stream had ended
        if count == 0:
            raise StreamFault(ErrorCode.PROTOCOL_ERROR, "a window update of 0 bytes")
        self._sender.widen_stream(stream, count)


_HANDLERS = {
    frames.HEADERS: Connection._on_headers,
    frames.PRIORITY: Connection._on_priority,
    frames.RST_STREAM: Connection._on_reset,
    frames.SETTINGS: Connection._on_settings,
    frames.PING: Connection._on_ping,
    frames.WINDOW_UPDATE: Connection._on_window_update,
    frames.CONTINUATION: Connection._on_continuation,
}  # GOAWAY and frames of later standards are ignored


def _fault(reason: str) -> ProtocolFault:
    return ProtocolFault(ErrorCode.PROTOCOL_ERROR, reason)
