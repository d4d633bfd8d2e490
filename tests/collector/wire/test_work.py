"""Limits on the work that a client causes, in a connection without I/O."""

import gzip

import pytest

from flyball_collector.wire import frames
from flyball_collector.wire.connection import Connection
from flyball_collector.wire.events import Broken, Cancelled, Limits
from flyball_collector.wire.hpack import encode
from flyball_collector.wire.messages import PREFIX, framed
from flyball_collector.wire.status import StatusCode
from tests.collector.wire.client_frames import data_frame, greeting, headers, open_connection, opening

LIMITS = Limits(message_bytes=1 << 20, streams=8, idle_frames=300, work_micros=50_000)
TOO_MUCH = "too many headers, tiny frames or compressed bytes"
WITHOUT_CONTENT = "too many frames without content"
PING = frames.frame(frames.PING, 0, 0, bytes(8))


def header_blocks(count: int, *, first: int = 3) -> bytes:
    """Return malformed calls with 9,600 bytes of Huffman codes each."""
    block = encode(headers("/t/m")) + b"\x00\x01X" + b"\xff\x81\x4a" + bytes(9600)  # "0" 15,360 times
    numbers = range(first, first + 2 * count, 2)
    return b"".join(frames.frame(frames.HEADERS, frames.END_HEADERS, number, block) for number in numbers)


def end_of(connection: Connection, data: bytes) -> str:
    """Return the reason why the connection broke, or an empty text."""
    return "".join(event.reason for event in connection.receive(data) if isinstance(event, Broken))


@pytest.mark.parametrize(
    ("flood", "reason"),
    [
        (header_blocks(100), TOO_MUCH),
        (
            b"".join(opening(n, end=True) + frames.reset(n, frames.ErrorCode.CANCEL) for n in range(3, 603, 2)),
            WITHOUT_CONTENT,
        ),
        (frames.frame(0, 0, 1, framed(bytes(60_000))[:5]) + frames.frame(0, 0, 1, b"x") * 20_000, TOO_MUCH),
        (frames.frame(0, frames.PADDED, 1, b"\x63" + bytes(99)) * 400, WITHOUT_CONTENT),
        (frames.frame(0, 0, 1) * 400, WITHOUT_CONTENT),
        (data_frame(1, *[b""] * 3000) * 2, TOO_MUCH),
        (frames.settings(dict.fromkeys(range(100, 2800), 1)) * 120, TOO_MUCH),
    ],
    ids=["Huffman", "rapid reset", "one byte", "padding", "empty", "empty messages", "settings"],
)
def test_a_flood_ends_the_connection(flood: bytes, reason: str) -> None:
    """Each kind of costly input is limited within a second."""
    assert end_of(open_connection(LIMITS), flood) == reason


def test_a_message_gives_back_the_frames_that_come_with_it() -> None:
    """A client that sends a message, two window updates and a ping again and again is served."""
    connection = open_connection(LIMITS)
    connection.receive(opening(3))
    trip = data_frame(3, b"x" * 300) + frames.window_update(0, 300) + frames.window_update(3, 300) + PING
    for _ in range(150):
        assert end_of(connection, trip) == ""
        connection.consumed(3, 300)
    assert end_of(connection, PING * 301) == WITHOUT_CONTENT


def test_compressed_zeros_are_limited() -> None:
    """A kilobyte that expands to a megabyte costs as much as many messages."""
    connection = open_connection(LIMITS)
    packed = gzip.compress(bytes(1 << 20))
    message = frames.frame(0, 0, 3, PREFIX.pack(1, len(packed)) + packed)
    connection.receive(opening(3, "/t/m", (b"grpc-encoding", b"gzip")))
    reasons = []
    for _ in range(40):
        reasons.append(end_of(connection, message))
        connection.consumed(3, 1 << 20)
    assert TOO_MUCH in reasons


def test_the_limits_apply_to_a_second() -> None:
    """The same work is allowed again once a second has begun."""
    connection = open_connection(LIMITS)
    for second in range(10):
        assert end_of(connection, header_blocks(40, first=1000 * (second + 1) + 1)) == ""
        connection.start_second()


def test_usual_messages_are_far_from_the_limits() -> None:
    """A thousand usual messages, compressed or not, and a call's headers with them, are not a flood."""
    connection = Connection(LIMITS)
    record = bytes(range(256)) * 6
    assert end_of(connection, greeting() + opening()) == ""
    for _ in range(1000):
        assert end_of(connection, data_frame(1, record)) == ""
        connection.consumed(1, len(record))
    packed = gzip.compress(record)
    message = frames.frame(0, 0, 3, PREFIX.pack(1, len(packed)) + packed)
    assert end_of(connection, opening(3, "/t/m", (b"grpc-encoding", b"gzip"))) == ""
    for _ in range(1000):
        assert end_of(connection, message) == ""
        connection.consumed(3, len(record))


def test_two_hundred_calls_at_once_are_served() -> None:
    """A client of gRPC also widens its windows and pings for each of them."""
    connection = open_connection(LIMITS)
    for number in range(3, 403, 2):
        call = opening(number, "/t/m", (b"user-agent", b"grpc-python/1.80 grpc-c/53.0 (linux; chttp2)"))
        assert end_of(connection, call + data_frame(number, b"x", end=True) + frames.window_update(0, 6) * 3) == ""
        connection.consumed(number, 1)
        connection.end(number, StatusCode.OK)


def test_a_quiet_connection_may_catch_up() -> None:
    """Work that was not used is saved for three seconds, not longer."""
    quiet, new = open_connection(LIMITS), open_connection(LIMITS)
    for _ in range(100):
        quiet.start_second()
    assert end_of(new, header_blocks(100)) == TOO_MUCH
    assert end_of(quiet, header_blocks(200)) == ""
    assert end_of(quiet, header_blocks(300, first=1001)) == TOO_MUCH


def test_decompressed_messages_are_limited_over_all_streams() -> None:
    """Windows count compressed bytes, so eight streams could otherwise hold eight times the limit."""
    connection = open_connection(LIMITS)
    packed = gzip.compress(bytes(1 << 20))
    message = frames.frame(0, 0, 3, PREFIX.pack(1, len(packed)) + packed)
    for number in (3, 5):
        connection.receive(opening(number, "/t/m", (b"grpc-encoding", b"gzip")))
    assert len(connection.receive(message)) == 1
    assert connection.receive(message.replace(b"\0\0\0\x03", b"\0\0\0\x05", 1)) == [Cancelled(5)]
