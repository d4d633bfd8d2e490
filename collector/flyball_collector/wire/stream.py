"""The streams of one connection (RFC 9113, section 5.1): windows of open ones, and how the newest others closed."""

from dataclasses import dataclass, field
from enum import Enum

from flyball_collector.wire.frames import ErrorCode, ProtocolFault, StreamFault
from flyball_collector.wire.messages import Assembler

REMEMBERED = 256  # closed streams: far more than a client can have open, so none that it may still use is forgotten


@dataclass(slots=True, eq=False)
class Http2Stream:
    """The state of one stream, in bytes. The connection has its own windows in addition."""

    id: int
    assembler: Assembler
    receive_window: int
    send_window: int = 0
    remote_done: bool = False  # the client has sent its last message
    content_left: int | None = None  # of a declared content-length
    answered: bool = False  # our headers are sent
    received: int = 0  # since the window was last widened
    held: int = 0  # in messages that were not consumed yet
    pending: bytearray = field(default_factory=bytearray)  # messages that wait for the window


class Closed(Enum):
    """The way in which a stream closed. It decides what later frames on the stream mean."""

    ENDED = "ended"  # both sides sent their last frame
    CANCELLED = "cancelled"  # the client reset it
    RESET = "reset"  # we reset it, and the client may not know yet


class Streams:
    """Keeps the state of a client's streams. The checks raise what a frame on a stream that is not open deserves."""

    def __init__(self) -> None:
        self.open: dict[int, Http2Stream] = {}
        self.last = 0  # the highest number that the client has used
        self._ways: dict[int, Closed] = {}  # in the order in which the streams closed

    def close(self, stream_id: int, way: Closed) -> bool:
        """Note how a stream closed. Return True if it was an open call."""
        self._ways.pop(stream_id, None)  # it becomes the newest
        self._ways[stream_id] = way
        if len(self._ways) > REMEMBERED:
            del self._ways[next(iter(self._ways))]
        return self.open.pop(stream_id, None) is not None

    def idle(self, stream_id: int) -> bool:
        """Return True if the client has not used this number yet, or must not use it at all."""
        return stream_id % 2 == 0 or stream_id > self.last

    def check_used(self, stream_id: int) -> None:
        """Raise an error for a frame that may come late, but not before the headers."""
        if self.idle(stream_id):
            raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, f"stream {stream_id} is not open")

    def check_late_data(self, stream_id: int) -> None:
        """Raise an error, unless we reset the stream and the client may not know that yet."""
        self.check_used(stream_id)
        if self._ways.get(stream_id) is not Closed.RESET:
            raise StreamFault(ErrorCode.STREAM_CLOSED, "data after the end of the stream")

    def check_late_headers(self, stream_id: int) -> None:
        """Raise an error, unless we reset the stream and the client may not know that yet."""
        way = self._ways.get(stream_id)
        if way is Closed.ENDED:
            raise ProtocolFault(ErrorCode.STREAM_CLOSED, f"headers after the end of stream {stream_id}")
        if way is Closed.CANCELLED:
            raise StreamFault(ErrorCode.STREAM_CLOSED, "headers of a stream that the client has reset")
        if way is None:
            reason = f"stream {stream_id} is not above {self.last}, the last one"
            raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, reason)
