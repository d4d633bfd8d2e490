"""One HTTP/2 connection as a server sees it, without its wires: bytes in, events and bytes out (RFC 9113).

It never raises for what comes from outside: a fault ends the stream or the connection, and says why.
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
from flyball_collector.wire.stream import Stream


class Connection:
    """Feed it with `receive`; send what gathers in `outgoing`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._decoder = Decoder(limits.header_bytes)
        self._streams: dict[int, Stream] = {}
        self._last_stream = 0
        self._rest = b""  # of a frame that is not whole
        self._prefaced = False
        self.greeted = False  # the other side's settings are here: it does speak HTTP/2
        self._block: tuple[int, int, bytearray] | None = None  # headers that go on: their stream, flags and bytes
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
        """Calls that are open."""
        return len(self._streams)

    def receive(self, data: bytes) -> list[Event]:
        """What these bytes mean; however they are split, the events are the same."""
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

    def taken(self, stream_id: int, size: int) -> None:
        """A message of so many bytes was taken: there is room for more."""
        stream = self._streams.get(stream_id)
        if stream is not None:
            self._receiver.taken(stream, size)

    def send(self, stream_id: int, message: bytes) -> None:
        """Send a message, as far as the other side has room for it; the rest follows."""
        stream = self._streams.get(stream_id)
        if stream is not None:
            self._sender.send(stream, message)

    def unsent(self, stream_id: int) -> int:
        """Bytes that the other side has no room for."""
        stream = self._streams.get(stream_id)
        return len(stream.pending) if stream is not None else 0

    def end(self, stream_id: int, code: StatusCode, message: str = "") -> None:
        """Say how a call ended. What was not sent of its messages is not."""
        stream = self._streams.pop(stream_id, None)
        if stream is not None:
            self._sender.end(stream, code, message)

    def ping(self) -> None:
        """Ask whether anybody is there."""
        self.outgoing += frames.frame(frames.PING, 0, 0, bytes(8))

    def leave(self, reason: str) -> None:
        """Take no more calls; those that are open go on."""
        if not self._leaving and not self._broken:
            self._leaving = True
            self.outgoing += frames.goaway(self._last_stream, ErrorCode.NO_ERROR, reason)

    def rest(self) -> None:
        """A second or so has passed: frames without data may come again."""
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
        """Where frames begin; nowhere as long as there are fewer bytes than the preface and a frame's header have."""
        preface = data[: len(frames.PREFACE)]
        if not frames.PREFACE.startswith(preface):
            raise _fault("this is not HTTP/2")
        self._prefaced = len(data) >= len(frames.PREFACE) + frames.HEADER_BYTES
        return len(preface) if self._prefaced else 0

    def _on_other(self, kind: int, stream: int, flags: int, payload: bytes, events: list[Event]) -> None:
        if not self.greeted and (kind != frames.SETTINGS or flags & frames.ACK):
            raise _fault("settings come first")
        if self._block is not None and (kind != frames.CONTINUATION or stream != self._block[0]):
            raise _fault("headers were to be continued")
        self._count_idle()
        if kind in _OF_THE_CONNECTION and stream:
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
            return  # it was on its way when the call ended
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

    def _finish(self, stream: Stream, events: list[Event]) -> None:
        stream.remote_done = True
        if not stream.assembler.between:
            self._refuse(stream, CallEnded(StatusCode.INTERNAL, "the last message is not whole"), events)
            return
        events.append(Finished(stream.id))

    def _refuse(self, stream: Stream, ended: CallEnded, events: list[Event]) -> None:
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
            raise _fault(f"nothing to continue on stream {stream}")
        _, first_flags, block = self._block
        block += payload
        if len(block) > self._limits.header_bytes:
            raise ProtocolFault(ErrorCode.ENHANCE_YOUR_CALM, f"more than {self._limits.header_bytes} bytes of headers")
        if flags & frames.END_HEADERS:
            self._block = None
            self._on_block(stream, first_flags, bytes(block), events)

    def _on_block(self, stream_id: int, flags: int, block: bytes, events: list[Event]) -> None:
        """All headers of a call, or what it says after its last message."""
        headers = self._decoder.decode(block)
        last = bool(flags & frames.END_STREAM)
        known = self._streams.get(stream_id)
        if known is not None:
            if known.remote_done or not last:
                raise _fault(f"headers in the middle of stream {stream_id}")
            self._finish(known, events)
            return
        if stream_id % 2 == 0:
            raise _fault(f"a client's stream cannot have the number {stream_id}")
        if stream_id <= self._last_stream:
            return  # the end of a call that is over
        if self._leaving or len(self._streams) >= self._limits.streams:
            self._last_stream = stream_id if not self._leaving else self._last_stream
            self.outgoing += frames.reset(stream_id, ErrorCode.REFUSED_STREAM)
            return
        self._last_stream = stream_id
        stream = Stream(stream_id, Assembler(self._limits.message_bytes), self._limits.window_bytes)
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

    # --- what else there is ---

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
        self.outgoing += frames.frame(frames.SETTINGS, frames.ACK, 0)  # before the data for which they make room
        for key, value in frames.SETTING.iter_unpack(payload):
            if key == frames.INITIAL_WINDOW_SIZE:
                self._sender.begin_with(value, self._streams.values())

    def _on_push(self, _stream: int, _flags: int, _payload: bytes, _events: list[Event]) -> None:
        raise _fault("clients do not push")

    def _on_ping(self, _stream: int, flags: int, payload: bytes, _events: list[Event]) -> None:
        if not flags & frames.ACK:
            self.outgoing += frames.frame(frames.PING, frames.ACK, 0, payload)

    def _on_window_update(self, stream_id: int, _flags: int, payload: bytes, _events: list[Event]) -> None:
        count = int.from_bytes(payload) & frames.MAX_WINDOW_BYTES
        if count == 0:
            raise _fault("a window that is widened by nothing")
        if stream_id == 0:
            self._sender.widen(count, self._streams.values())
        elif (stream := self._streams.get(stream_id)) is not None:
            self._sender.widen_stream(stream, count)
        else:
            self._check_past(stream_id)


_SIZES = {frames.PRIORITY: 5, frames.RST_STREAM: 4, frames.PING: 8, frames.WINDOW_UPDATE: 4}
_OF_THE_CONNECTION = frozenset({frames.SETTINGS, frames.PING, frames.GOAWAY})
_HANDLERS = {
    frames.HEADERS: Connection._on_headers,
    frames.RST_STREAM: Connection._on_reset,
    frames.SETTINGS: Connection._on_settings,
    frames.PUSH_PROMISE: Connection._on_push,
    frames.PING: Connection._on_ping,
    frames.WINDOW_UPDATE: Connection._on_window_update,
    frames.CONTINUATION: Connection._on_continuation,
}  # what is not here (priorities, a farewell, frames of later standards) is ignored


def _fault(reason: str) -> ProtocolFault:
    return ProtocolFault(ErrorCode.PROTOCOL_ERROR, reason)
