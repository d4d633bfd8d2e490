"""The client's side of a connection, as bytes: frames that it sends, and a reader of those that it receives."""

from collections.abc import Sequence

from flyball_collector.wire import frames
from flyball_collector.wire.connection import Connection
from flyball_collector.wire.events import Limits
from flyball_collector.wire.hpack import Decoder, Header, encode
from flyball_collector.wire.messages import framed

PATH = "/t/m"
LIMITS = Limits(message_bytes=1000, streams=2, header_bytes=2000, window_bytes=4000, idle_frames=50)
Frame = tuple[int, int, int, bytes]


def greeting(**settings: int) -> bytes:
    """Return the preface and settings; `window` is the initial window of streams."""
    values = {frames.INITIAL_WINDOW_SIZE: settings["window"]} if "window" in settings else {}
    return frames.PREFACE + frames.settings(values)


def headers(path: str = PATH, *more: Header) -> list[Header]:
    """Return the headers of a call."""
    usual = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b"content-type", b"application/grpc"),
    ]
    return [*usual, *more]


def opening(stream: int = 1, path: str = PATH, *more: Header, end: bool = False) -> bytes:
    """Return the frame that begins a call."""
    flags = frames.END_HEADERS | (frames.END_STREAM if end else 0)
    return frames.frame(frames.HEADERS, flags, stream, encode(headers(path, *more)))


def data_frame(stream: int, *messages: bytes, end: bool = False) -> bytes:
    """Return a data frame with messages."""
    return frames.frame(
        frames.DATA, frames.END_STREAM if end else 0, stream, b"".join(framed(message) for message in messages)
    )


def open_connection(limits: Limits = LIMITS, **settings: int) -> Connection:
    """Return a connection with a call on stream 1 and empty `outgoing`."""
    connection = Connection(limits)
    connection.receive(greeting(**settings) + opening())
    connection.outgoing.clear()
    return connection


def frames_of(data: bytes | bytearray) -> list[Frame]:
    """Split what was sent into frames."""
    found, at = [], 0
    while at < len(data):
        upper, lower, kind, flags, stream = frames.HEADER.unpack_from(data, at)
        end = at + frames.HEADER_BYTES + (upper << 8 | lower)
        found.append((kind, flags, stream, bytes(data[at + frames.HEADER_BYTES : end])))
        at = end
    assert at == len(data)
    return found


def kinds(data: bytes | bytearray) -> list[int]:
    """Return the types of the frames that were sent."""
    return [kind for kind, _, _, _ in frames_of(data)]


def trailers(sent: Sequence[Frame], stream: int = 1) -> dict[bytes, bytes]:
    """Return the last headers of a stream."""
    decoder = Decoder(10_000)
    blocks = [decoder.decode(payload) for kind, _, to, payload in sent if kind == frames.HEADERS and to == stream]
    return dict(blocks[-1])
