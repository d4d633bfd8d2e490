"""The other side of a connection, as bytes: what a client says, and what it reads in what it is sent."""

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
    """The preface and settings; `window` is the one that streams begin with."""
    values = {frames.INITIAL_WINDOW_SIZE: settings["window"]} if "window" in settings else {}
    return frames.PREFACE + frames.settings(values)


def headers(path: str = PATH, *more: Header) -> list[Header]:
    """Those of a call."""
    usual = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b"content-type", b"application/grpc"),
    ]
    return [*usual, *more]


def opening(stream: int = 1, path: str = PATH, *more: Header, end: bool = False) -> bytes:
    """A call begins."""
    flags = frames.END_HEADERS | (frames.END_STREAM if end else 0)
    return frames.frame(frames.HEADERS, flags, stream, encode(headers(path, *more)))


def said(stream: int, *messages: bytes, end: bool = False) -> bytes:
    """Messages in one frame."""
    return frames.frame(
        frames.DATA, frames.END_STREAM if end else 0, stream, b"".join(framed(message) for message in messages)
    )


def greeted(limits: Limits = LIMITS, **settings: int) -> Connection:
    """A connection that has a call on stream 1, and has sent what it owes."""
    connection = Connection(limits)
    connection.receive(greeting(**settings) + opening())
    connection.outgoing.clear()
    return connection


def frames_of(data: bytes | bytearray) -> list[Frame]:
    """What was sent, frame by frame."""
    found, at = [], 0
    while at < len(data):
        upper, lower, kind, flags, stream = frames.HEADER.unpack_from(data, at)
        end = at + frames.HEADER_BYTES + (upper << 8 | lower)
        found.append((kind, flags, stream, bytes(data[at + frames.HEADER_BYTES : end])))
        at = end
    assert at == len(data)
    return found


def kinds(data: bytes | bytearray) -> list[int]:
    """The types of what was sent."""
    return [kind for kind, _, _, _ in frames_of(data)]


def trailers(sent: Sequence[Frame], stream: int = 1) -> dict[bytes, bytes]:
    """The last headers of a stream."""
    decoder = Decoder(10_000)
    blocks = [decoder.decode(payload) for kind, _, to, payload in sent if kind == frames.HEADERS and to == stream]
    return dict(blocks[-1])
