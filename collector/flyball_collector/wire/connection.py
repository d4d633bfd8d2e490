"""The server side of one HTTP/2 connection, without I/O: bytes in, events and bytes out (RFC 9113).

Invalid input never raises: it ends the stream or the connection with a reason.
"""

from flyball_collector.wire import frames
from flyball_collector.wire.events import Broken, Cancelled, Event, Finished, Limits, Opened, Received
from flyball_collector.wire.frames import ErrorCode, ProtocolFault
from flyball_collector.wire.hpack import Decoder
from flyball_collector.wire.messages import Assembler
from flyball_collector.wire.receiver import CONNECTION_WINDOW, FrameReceiver, unpadded
from flyball_collector.wire.request import NotGrpc, read_request
from flyball_collector.wire.sender import FrameSender
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_collector.wire.stream import Http2Stream


class Connection:
    """Pass received bytes to `receive`, and send the bytes that accumulate in `outgoing`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._decoder = Decoder(limits.header_bytes)
        self._streams: dict[int, Http2Stream] = {}
        self._last_stream = 0
        self._rest = b""  # the beginning of an incomplete frame
        self._prefaced = False
        self.greeted = False  # the client's settings have arrived, so it speaks HTTP/2
        self._block: tuple[int, int, bytearray] | None = None  # incomplete headers: their stream, flags and bytes
        self._idle_frames = 0
        self._broken = False
        self._leaving = False
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
        self._receiver = FrameReceiver(self.outgoing, limits)

    @property
    def streams(self) -> int:
        """Return the number of open calls."""
        return len(self._streams)

    def receive(self, data: bytes) -> list[Event]:
        """Return the events in these bytes. They are the same however the bytes are split."""
        events: list[Event] = []
        if self._broken:
            return events
        try:
            self._parse(self._rest + data if self._rest else data, events)
        except ProtocolFault as fault:
            self._broken = True
            self.outgoing += frames.goaway(self._last_stream, fault.code, fault.reason)
            events.append(Broken(fault.reason))
        return events

    def consumed(self, stream_id: int, size: int) -> None:
        """Note that a message of `size` bytes was consumed, which makes room for more."""
        stream = self._streams.get(stream_id)
        if stream is not None:
            self._receiver.consumed(stream, size)

    def send(self, stream_id: int, message: bytes) -> None:
        """Send a message as far as the client's windows allow. The rest follows when they widen."""
        stream = self._streams.get(stream_id)
        if stream is not None:
            self._sender.send(stream, message)

    def unsent(self, stream_id: int) -> int:
        """Return how many bytes wait for the client's window."""
        stream = self._streams.get(stream_id)
        return len(stream.pending) if stream is not None else 0

    def end(self, stream_id: int, code: StatusCode, message: str = "") -> None:
        """Send the status of a call that ended. Messages that still wait are dropped."""
        stream = self._streams.pop(stream_id, None)
        if stream is not None:
            self._sender.end(stream, code, message)

    def ping(self) -> None:
        """Send a ping to check that the client is alive."""
        self.outgoing += frames.frame(frames.PING, 0, 0, bytes(8))

    def leave(self, reason: str) -> None:
        """Accept no more calls. Open calls continue."""
        if not self._leaving and not self._broken:
            self._leaving = True
            self.outgoing += frames.goaway(self._last_stream, ErrorCode.NO_ERROR, reason)

    def reset_idle_frames(self) -> None:
        """Reset the count of frames without data. The caller does this about once a second."""
        self._idle_frames = 0

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
            if kind == frames.DATA and self._block is None and self.greeted:
                self._on_data(stream & frames.LAST_STREAM, flags, payload, events)
            else:
                self._on_other(kind, stream & frames.LAST_STREAM, flags, payload, events)
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
        if self._block is not None and (kind != frames.CONTINUATION or stream != self._block[0]):
            raise _fault("expected a CONTINUATION frame")
        self._count_idle()
        if kind in _CONNECTION_FRAMES and stream:
            raise _fault(f"a frame of type {kind} on stream {stream}")
        if len(payload) != _SIZES.get(kind, len(payload)):
            raise ProtocolFault(ErrorCode.FRAME_SIZE_ERROR, f"a frame of type {kind} with {len(payload)} bytes")
        if handler := _HANDLERS.get(kind):
            handler(self, stream, flags, payload, events)

    def _count_idle(self) -> None:
        self._idle_frames += 1
        if self._idle_frames > self._limits.idle_frames:
            raise ProtocolFault(ErrorCode.ENHANCE_YOUR_CALM, "too many frames without data")

    def _on_data(self, stream_id: int, flags: int, payload: bytes, events: list[Event]) -> None:
        self._receiver.count(len(payload))
        if not payload:
            self._count_idle()
        stream = self._streams.get(stream_id)
        if stream is None:
            self._check_past(stream_id)
            self._count_idle()
            return  # sent before the client knew that the call had ended
        if stream.remote_done:
            raise ProtocolFault(ErrorCode.STREAM_CLOSED, f"data after the end of stream {stream_id}")
        try:
            messages = self._receiver.take(stream, flags, payload)
        except CallEnded as ended:
            self._refuse(stream, ended, events)
            return
        events.extend(Received(stream_id, message) for message in messages)
        if flags & frames.END_STREAM:
            self._finish(stream, events)

    def _finish(self, stream: Http2Stream, events: list[Event]) -> None:
        stream.remote_done = True
        if not stream.assembler.between:
            self._refuse(stream, CallEnded(StatusCode.INTERNAL, "the last message is incomplete"), events)
            return
        events.append(Finished(stream.id))

    def _refuse(self, stream: Http2Stream, ended: CallEnded, events: list[Event]) -> None:
        self.end(stream.id, ended.code, ended.message)
        events.append(Cancelled(stream.id))

    def _check_past(self, stream_id: int) -> None:
        if stream_id % 2 == 0 or stream_id > self._last_stream:
            raise _fault(f"stream {stream_id} is not open")

    # --- headers ---

    def _on_headers(self, stream: int, flags: int, payload: bytes, events: list[Event]) -> None:
        if flags & frames.PADDED:
            payload = unpadded(payload)
        if flags & frames.PRIORITIZED:
            if len(payload) < 5:
                raise ProtocolFault(ErrorCode.FRAME_SIZE_ERROR, "headers too short for their priority")
            payload = payload[5:]
        if flags & frames.END_HEADERS:
            self._on_block(stream, flags, payload, events)
        else:
            self._block = stream, flags, bytearray(payload)

    def _on_continuation(self, stream: int, flags: int, payload: bytes, events: list[Event]) -> None:
        if self._block is None:
            raise _fault(f"a CONTINUATION frame without HEADERS on stream {stream}")
        _, first_flags, block = self._block
        block += payload
        if len(block) > self._limits.header_bytes:
            raise ProtocolFault(ErrorCode.ENHANCE_YOUR_CALM, f"more than {self._limits.header_bytes} bytes of headers")
        if flags & frames.END_HEADERS:
            self._block = None
            self._on_block(stream, first_flags, bytes(block), events)

    def _on_block(self, stream_id: int, flags: int, block: bytes, events: list[Event]) -> None:
        """Handle the complete headers of a call, or its trailers."""
        headers = self._decoder.decode(block)
        last = bool(flags & frames.END_STREAM)
        known = self._streams.get(stream_id)
        if known is not None:
            if known.remote_done or not last:
                raise _fault(f"headers within stream {stream_id}")
            self._finish(known, events)
            return
        if stream_id % 2 == 0:
            raise _fault(f"stream {stream_id}: a client's stream has an odd number")
        if stream_id <= self._last_stream:
            return  # trailers of a call that has ended
        if self._leaving or len(self._streams) >= self._limits.streams:
            self._last_stream = stream_id if not self._leaving else self._last_stream
            self.outgoing += frames.reset(stream_id, ErrorCode.REFUSED_STREAM)
            return
        self._last_stream = stream_id
        stream = Http2Stream(stream_id, Assembler(self._limits.message_bytes), self._limits.window_bytes)
        self._sender.opened(stream)
        try:
            request = read_request(headers)
        except NotGrpc as refusal:
            self._sender.refuse(stream, refusal.status, last=last)
            return
        except CallEnded as ended:
            stream.remote_done = last
            self._sender.end(stream, ended.code, ended.message)
            return
        stream.assembler.encoding = request.encoding
        self._streams[stream_id] = stream
        events.append(Opened(stream_id, request))
        if last:
            self._finish(stream, events)

    # --- other frames ---

    def _on_reset(self, stream_id: int, _flags: int, _payload: bytes, events: list[Event]) -> None:
        if self._streams.pop(stream_id, None) is not None:
            events.append(Cancelled(stream_id))
        else:
            self._check_past(stream_id)

    def _on_settings(self, _stream: int, flags: int, payload: bytes, _events: list[Event]) -> None:
        if flags & frames.ACK:
            if payload:
                raise ProtocolFault(ErrorCode.FRAME_SIZE_ERROR, "an acknowledgement with settings")
            return
        if len(payload) % frames.SETTING.size:
            raise ProtocolFault(ErrorCode.FRAME_SIZE_ERROR, f"settings of {len(payload)} bytes")
        self.greeted = True
        self.outgoing += frames.frame(frames.SETTINGS, frames.ACK, 0)  # before the data that the new window allows
        for key, value in frames.SETTING.iter_unpack(payload):
            if key == frames.INITIAL_WINDOW_SIZE:
                self._sender.set_initial_window(value, self._streams.values())

    def _on_push(self, _stream: int, _flags: int, _payload: bytes, _events: list[Event]) -> None:
        raise _fault("a client cannot push")

    def _on_ping(self, _stream: int, flags: int, payload: bytes, _events: list[Event]) -> None:
        if not flags & frames.ACK:
            self.outgoing += frames.frame(frames.PING, frames.ACK, 0, payload)

    def _on_window_update(self, stream_id: int, _flags: int, payload: bytes, _events: list[Event]) -> None:
        count = int.from_bytes(payload) & frames.MAX_WINDOW_BYTES
        if count == 0:
            raise _fault("a window update of 0 bytes")
        if stream_id == 0:
            self._sender.widen(count, self._streams.values())
        elif (stream := self._streams.get(stream_id)) is not None:
            self._sender.widen_stream(stream, count)
        else:
            self._check_past(stream_id)


_SIZES = {frames.PRIORITY: 5, frames.RST_STREAM: 4, frames.PING: 8, frames.WINDOW_UPDATE: 4}
_CONNECTION_FRAMES = frozenset({frames.SETTINGS, frames.PING, frames.GOAWAY})
_HANDLERS = {
    frames.HEADERS: Connection._on_headers,
    frames.RST_STREAM: Connection._on_reset,
    frames.SETTINGS: Connection._on_settings,
    frames.PUSH_PROMISE: Connection._on_push,
    frames.PING: Connection._on_ping,
    frames.WINDOW_UPDATE: Connection._on_window_update,
    frames.CONTINUATION: Connection._on_continuation,
}  # all other frames are ignored: PRIORITY, GOAWAY, and types of later standards


def _fault(reason: str) -> ProtocolFault:
    return ProtocolFault(ErrorCode.PROTOCOL_ERROR, reason)
