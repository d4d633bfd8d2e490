"""A connection without I/O: laws that hold for any bytes, and a test for each rule."""

import gzip
import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.wire import frames
from flyball_collector.wire.connection import Connection
from flyball_collector.wire.events import Broken, Cancelled, Event, Finished, Limits, Opened, Received
from flyball_collector.wire.frames import ErrorCode
from flyball_collector.wire.hpack import encode
from flyball_collector.wire.messages import PREFIX, framed
from flyball_collector.wire.status import StatusCode
from tests.collector.wire.client_frames import (
    LIMITS,
    data_frame,
    frames_of,
    greeting,
    headers,
    kinds,
    open_connection,
    opening,
    trailers,
)

STREAMS = st.sampled_from([0, 1, 1, 1, 2, 3, 5, 7])


@st.composite
def client_frames(draw: st.DrawFn) -> bytes:
    """A frame that a client may send; many are valid."""
    kind = draw(st.sampled_from(["data", "data", "open", "end", "ping", "window", "settings", "reset", "any"]))
    stream = draw(STREAMS)
    if kind == "data":
        return data_frame(stream, *draw(st.lists(st.binary(max_size=400), max_size=3)), end=draw(st.booleans()))
    if kind == "open":
        return opening(stream)
    if kind == "end":
        return frames.frame(frames.DATA, frames.END_STREAM | frames.PADDED, stream, b"\x02\0\0")
    if kind == "ping":
        return frames.frame(frames.PING, draw(st.integers(0, 1)), 0, draw(st.binary(min_size=8, max_size=8)))
    if kind == "window":
        return frames.window_update(stream, draw(st.integers(0, 1 << 31)))
    if kind == "settings":
        return frames.settings({draw(st.integers(0, 9)): draw(st.integers(0, 1 << 31))})
    if kind == "reset":
        return frames.reset(stream, ErrorCode.CANCEL)
    return frames.frame(draw(st.integers(0, 12)), draw(st.integers(0, 255)), stream, draw(st.binary(max_size=40)))


CONVERSATIONS = st.lists(client_frames(), max_size=12).map(lambda parts: greeting() + opening() + b"".join(parts))


def events_of(connection: Connection, pieces: Sequence[bytes]) -> list[Event]:
    """Return all events of a connection; each message is answered and consumed at once."""
    events = []
    for piece in pieces:
        for event in connection.receive(piece):
            events.append(event)
            if isinstance(event, Received):
                connection.consumed(event.stream, len(event.message))
    return events


def test_generated_conversations_begin_with_a_valid_call() -> None:
    """Without further frames a conversation opens a call, so the properties are not tested on broken connections."""
    assert [type(e) for e in Connection(LIMITS).receive(greeting() + opening())] == [Opened]


@given(CONVERSATIONS, st.lists(st.integers(0, 2000), max_size=12))
def test_the_events_do_not_depend_on_how_bytes_are_split(client_bytes: bytes, cuts: list[int]) -> None:
    """A read may end anywhere: within the preface, a header or a message."""
    edges = [0, *sorted(min(cut, len(client_bytes)) for cut in cuts), len(client_bytes)]
    pieces = [client_bytes[start:end] for start, end in itertools.pairwise(edges)]
    whole, split = Connection(LIMITS), Connection(LIMITS)
    events = events_of(whole, [client_bytes])
    assert events_of(split, pieces) == events
    assert events_of(Connection(LIMITS), [bytes([byte]) for byte in client_bytes]) == events
    assert sorted(kinds(split.outgoing)) == sorted(kinds(whole.outgoing))


@given(st.one_of(st.binary(max_size=300), CONVERSATIONS), st.lists(st.binary(max_size=200), max_size=5))
def test_invalid_bytes_close_the_connection_with_a_reason(start: bytes, more: list[bytes]) -> None:
    """Nothing is raised: `Broken` is the last event, GOAWAY the last frame, and later bytes are ignored."""
    connection = Connection(LIMITS)
    events = events_of(connection, [start, *more])
    broken = [event for event in events if isinstance(event, Broken)]
    assert broken == events[-1:] if broken else True
    if broken:
        kind, _, _, payload = frames_of(connection.outgoing)[-1]
        assert kind == frames.GOAWAY
        assert payload[8:].decode() == broken[0].reason
        assert payload[4:8] != bytes(4)
        assert connection.receive(data_frame(1, b"more")) == []


@given(CONVERSATIONS)
def test_every_call_has_one_beginning_and_one_end(client_bytes: bytes) -> None:
    """Messages and the end belong to a call that was opened and is not over."""
    begun: set[int] = set()
    over: set[int] = set()
    for event in events_of(Connection(LIMITS), [client_bytes]):
        if isinstance(event, Opened):
            assert event.stream not in begun
            begun.add(event.stream)
        elif isinstance(event, Broken):
            return
        else:
            assert event.stream in begun - over
            if isinstance(event, Cancelled):
                over.add(event.stream)


@given(
    st.lists(st.binary(max_size=3000), max_size=6),
    st.lists(st.tuples(st.booleans(), st.integers(1, 4000)), max_size=20),
    st.integers(0, 3000),
)
def test_data_never_exceed_the_windows(messages: list[bytes], widened: list[tuple[bool, int]], window: int) -> None:
    """Neither the stream's nor the connection's window is exceeded; once both are wide enough, everything arrives."""
    connection = open_connection(window=window)
    rooms = [window, frames.DEFAULT_WINDOW_BYTES]
    for message in messages:
        connection.send(1, message)
    for of_stream, count in widened:
        assert sent_bytes(connection) <= min(rooms)
        connection.receive(frames.window_update(int(of_stream), count))
        rooms[not of_stream] += count
    assert sent_bytes(connection) <= min(rooms)
    connection.start_second()
    for stream in (0, 1):
        connection.receive(frames.window_update(stream, 100_000))
    payload = b"".join(body for kind, _, _, body in frames_of(connection.outgoing) if kind == frames.DATA)
    assert payload == b"".join(map(framed, messages))
    assert connection.unsent(1) == 0


def reset_frame(stream: int, code: ErrorCode) -> tuple[int, int, int, bytes]:
    return frames.RST_STREAM, 0, stream, bytes([0, 0, 0, code])


def sent_bytes(connection: Connection) -> int:
    return sum(len(body) for kind, _, _, body in frames_of(connection.outgoing) if kind == frames.DATA)


def given_back(connection: Connection) -> int:
    """Return by how much stream 1 was widened since the last call."""
    sent = frames_of(connection.outgoing)
    connection.outgoing.clear()
    return sum(int.from_bytes(body) for kind, _, to, body in sent if kind == frames.WINDOW_UPDATE and to == 1)


@given(st.lists(st.integers(0, 900), min_size=1, max_size=60))
def test_windows_widen_as_messages_are_consumed(sizes: list[int]) -> None:
    """A client that respects its windows always has room for the next message while messages are consumed."""
    connection = open_connection(Limits(message_bytes=1000, window_bytes=4000, idle_frames=1000))
    room = 4000
    for size in sizes:
        data = data_frame(1, bytes(size))
        room -= len(data) - frames.HEADER_BYTES
        assert room >= 0
        events_of(connection, [data])
        room += given_back(connection)


def test_unconsumed_messages_limit_the_client() -> None:
    """Without `consumed`, a window is all that is ever held; a call that sends more ends."""
    connection = open_connection()
    for _ in range(4):
        assert [type(e) for e in connection.receive(data_frame(1, bytes(900)))] == [Received]
    assert frames.WINDOW_UPDATE not in kinds(connection.outgoing)
    assert connection.receive(data_frame(1, bytes(900))) == [Cancelled(1)]
    assert frames_of(connection.outgoing) == [reset_frame(1, ErrorCode.FLOW_CONTROL_ERROR)]


def test_empty_messages_count_against_the_window() -> None:
    """An empty message also takes space in the queue: the window does not widen before it is consumed."""
    connection = open_connection()
    empty = data_frame(1, *[b""] * 100)  # 500 bytes
    for _ in range(8):
        assert connection.receive(empty) == [Received(1, b"")] * 100
    connection.consumed(1, 0)
    assert given_back(connection) == 0
    for _ in range(799):
        connection.consumed(1, 0)
    assert given_back(connection) == 4000


def test_a_message_longer_than_the_window_arrives() -> None:
    """The window widens for the received part of an incomplete message."""
    connection = open_connection(Limits(message_bytes=50_000, window_bytes=4000))
    data, room, got = framed(bytes(40_000)), 4000, []
    while data:
        piece, data = data[: min(room, 2000)], data[min(room, 2000) :]
        assert piece
        room -= len(piece)
        got += connection.receive(frames.frame(frames.DATA, 0, 1, piece))
        room += given_back(connection)
    assert got == [Received(1, bytes(40_000))]


def test_an_answer_has_headers_messages_and_a_status() -> None:
    """As doc/PROTOCOL-HTTP2.md of gRPC requires; a stream that the client has not ended is reset without an error."""
    connection = open_connection()
    connection.send(1, b"hello")
    connection.end(1, StatusCode.ABORTED, "it is over: 100 % — done")
    sent = frames_of(connection.outgoing)
    assert [kind for kind, _, _, _ in sent] == [frames.HEADERS, frames.DATA, frames.HEADERS, frames.RST_STREAM]
    assert sent[1][3] == framed(b"hello")
    assert sent[2][1] == frames.END_HEADERS | frames.END_STREAM
    assert trailers(sent) == {
        b"grpc-status": b"10",
        b"grpc-message": b"it is over: 100 %25 %E2%80%94 done",
    }
    assert sent[3][3] == bytes(4)
    assert connection.streams == 0


def test_an_answer_without_messages_is_one_frame() -> None:
    """The headers and trailers share it."""
    connection = open_connection()
    connection.receive(data_frame(1, end=True))
    connection.end(1, StatusCode.OK)
    assert kinds(connection.outgoing) == [frames.HEADERS]
    assert trailers(frames_of(connection.outgoing)) == {
        b":status": b"200",
        b"content-type": b"application/grpc",
        b"grpc-accept-encoding": b"identity,gzip,deflate",
        b"grpc-status": b"0",
    }


@pytest.mark.parametrize(
    ("request_headers", "status"),
    [
        (headers("/t/m", (b"content-type", b"text/html")), b"415"),
        ([(b":method", b"GET"), *headers()[1:]], b"405"),
    ],
)
def test_a_request_that_is_not_grpc_gets_an_http_status(
    request_headers: list[tuple[bytes, bytes]], status: bytes
) -> None:
    """A browser or a probe learns that this is the wrong port."""
    connection = open_connection()
    assert connection.receive(frames.frame(frames.HEADERS, frames.END_HEADERS, 3, encode(request_headers))) == []
    assert trailers(frames_of(connection.outgoing), 3) == {b":status": status}


def test_an_unsupported_compression_is_refused() -> None:
    """The answer names the supported ones."""
    connection = open_connection()
    assert connection.receive(opening(3, "/t/m", (b"grpc-encoding", b"snappy"))) == []
    status = trailers(frames_of(connection.outgoing), 3)
    assert status[b"grpc-status"] == b"12"
    assert status[b"grpc-accept-encoding"] == b"identity,gzip,deflate"


def test_settings_are_acknowledged_before_they_are_used() -> None:
    """A client relies on new windows once the acknowledgement arrives: gRPC treats earlier data as an error."""
    connection = open_connection(window=0)
    connection.send(1, b"waits")
    connection.receive(frames.settings({frames.INITIAL_WINDOW_SIZE: 100}))
    assert kinds(connection.outgoing) == [frames.HEADERS, frames.SETTINGS, frames.DATA]


@pytest.mark.parametrize(
    ("sizes", "signalled"), [((0,), True), ((2048,), True), ((4096, 8192), False), ((0, 4096), True)]
)
def test_a_smaller_table_is_signalled_once(sizes: tuple[int, ...], *, signalled: bool) -> None:
    """The next headers begin with a table size update to 0 if the client's limit was below 4,096 bytes meanwhile."""
    connection = open_connection()
    connection.receive(opening(3) + b"".join(frames.settings({frames.HEADER_TABLE_SIZE: size}) for size in sizes))
    connection.send(1, b"x")
    connection.end(3, StatusCode.OK)
    blocks = [payload for kind, _, _, payload in frames_of(connection.outgoing) if kind == frames.HEADERS]
    assert [block[0] == 0x20 for block in blocks] == [signalled, False]


def test_a_compressed_message_is_read() -> None:
    """An agent with `compression = true` sends gzip."""
    connection = open_connection()
    connection.receive(opening(3, "/t/m", (b"grpc-encoding", b"gzip")))
    packed = gzip.compress(b"message " * 50)
    data = PREFIX.pack(1, len(packed)) + packed
    assert connection.receive(frames.frame(frames.DATA, 0, 3, data)) == [Received(3, b"message " * 50)]


def test_unconsumed_compressed_messages_are_limited() -> None:
    """A window of compressed zeros could expand to a thousand windows: the call ends before that."""
    connection = open_connection()
    connection.receive(opening(3, "/t/m", (b"grpc-encoding", b"gzip")))
    packed = gzip.compress(bytes(990))
    data = frames.frame(frames.DATA, 0, 3, PREFIX.pack(1, len(packed)) + packed)
    assert [type(e) for _ in range(5) for e in connection.receive(data)] == [Received] * 5
    assert connection.receive(data) == [Cancelled(3)]
    assert trailers(frames_of(connection.outgoing), 3)[b"grpc-status"] == b"8"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (frames.frame(frames.DATA, 0, 1, PREFIX.pack(0, 1001)), b"8"),
        (frames.frame(frames.DATA, frames.END_STREAM, 1, b"\0\0"), b"13"),
        (frames.frame(frames.DATA, 0, 1, PREFIX.pack(1, 3) + b"abc"), b"13"),
    ],
)
def test_a_bad_message_ends_only_its_call(data: bytes, status: bytes) -> None:
    """The connection continues: late data of the call are dropped, and other calls are served."""
    connection = open_connection()
    connection.receive(opening(3))
    assert connection.receive(data)[-1] == Cancelled(1)
    assert trailers(frames_of(connection.outgoing))[b"grpc-status"] == status
    assert connection.receive(data_frame(1, b"late")) == []
    assert connection.receive(data_frame(3, b"fine")) == [Received(3, b"fine")]


def test_too_many_calls_are_refused_one_by_one() -> None:
    """A refused stream may be retried; the others continue."""
    connection = open_connection()
    connection.receive(opening(3))
    assert connection.receive(opening(5)) == []
    assert frames_of(connection.outgoing) == [reset_frame(5, ErrorCode.REFUSED_STREAM)]
    connection.end(1, StatusCode.OK)
    assert [type(e) for e in connection.receive(opening(7))] == [Opened]


def test_after_leave_no_new_call_is_accepted() -> None:
    """Open calls continue to their end."""
    connection = open_connection()
    connection.leave("the server is stopping")
    connection.leave("once is enough")
    kind, _, _, payload = frames_of(connection.outgoing)[0]
    assert (kind, payload) == (frames.GOAWAY, bytes([0, 0, 0, 1, 0, 0, 0, 0]) + b"the server is stopping")
    assert connection.receive(opening(3)) == []
    assert kinds(connection.outgoing) == [frames.GOAWAY, frames.RST_STREAM]
    assert connection.receive(data_frame(1, b"more", end=True)) == [Received(1, b"more"), Finished(1)]


def test_a_flood_of_pings_ends_the_connection() -> None:
    """An agent pings every six seconds and gets answers; thousands a second end the connection."""
    connection = open_connection()
    ping = frames.frame(frames.PING, 0, 0, b"flyball!")
    for _ in range(10):
        assert connection.receive(ping * 40) == []
        connection.start_second()
    assert set(frames_of(connection.outgoing)) == {(frames.PING, frames.ACK, 0, b"flyball!")}
    assert connection.receive(ping * 60) == [Broken("too many frames without content", ErrorCode.ENHANCE_YOUR_CALM)]


def test_headers_may_continue_in_further_frames() -> None:
    """Padding and a priority are ignored."""
    connection = open_connection()
    block = encode(headers("/t/m", (b"long", b"v" * 500)))
    first = b"\x03" + bytes(5) + block[:100] + bytes(3)
    flags = frames.PADDED | frames.PRIORITIZED
    events = connection.receive(
        frames.frame(frames.HEADERS, flags, 3, first)
        + frames.frame(frames.CONTINUATION, 0, 3, block[100:200])
        + frames.frame(frames.CONTINUATION, frames.END_HEADERS, 3, block[200:])
    )
    assert [type(e) for e in events] == [Opened]


def test_a_client_may_send_trailers() -> None:
    """They end its messages."""
    connection = open_connection()
    last = frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, encode([(b"x", b"y")]))
    assert connection.receive(last) == [Finished(1)]


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        (frames.HEADER.pack(256, 0, 0, 0, 1), ErrorCode.FRAME_SIZE_ERROR, "a frame of 65536 bytes"),
        (data_frame(9, b"x"), ErrorCode.PROTOCOL_ERROR, "stream 9 is not open"),
        (data_frame(2, b"x"), ErrorCode.PROTOCOL_ERROR, "stream 2 is not open"),
        (opening(4), ErrorCode.PROTOCOL_ERROR, "stream 4: a client's stream has an odd number"),
        (frames.frame(frames.DATA, frames.PADDED, 1, b"\x05abc"), ErrorCode.PROTOCOL_ERROR, "the padding is longer"),
        (frames.frame(frames.PUSH_PROMISE, 0, 1), ErrorCode.PROTOCOL_ERROR, "a client cannot push"),
        (frames.frame(frames.PING, 0, 0, b"short"), ErrorCode.FRAME_SIZE_ERROR, "type 6 with 5 bytes"),
        (frames.frame(frames.PING, 0, 1, bytes(8)), ErrorCode.PROTOCOL_ERROR, "type 6 on stream 1"),
        (frames.frame(frames.SETTINGS, 0, 0, b"odd"), ErrorCode.FRAME_SIZE_ERROR, "type 4 with 3 bytes"),
        (frames.frame(frames.SETTINGS, 1, 0, bytes(6)), ErrorCode.FRAME_SIZE_ERROR, "type 4 with 6 bytes"),
        (frames.window_update(0, 0), ErrorCode.PROTOCOL_ERROR, "a window update of 0 bytes"),
        (frames.window_update(0, (1 << 31) - 1), ErrorCode.FLOW_CONTROL_ERROR, "a window of"),
        (frames.settings({4: 1 << 31}), ErrorCode.FLOW_CONTROL_ERROR, "a window of"),
        (frames.window_update(9, 1), ErrorCode.PROTOCOL_ERROR, "stream 9 is not open"),
        (frames.reset(9, ErrorCode.CANCEL), ErrorCode.PROTOCOL_ERROR, "stream 9 is not open"),
        (frames.frame(frames.CONTINUATION, 4, 1), ErrorCode.PROTOCOL_ERROR, "without HEADERS"),
        (
            frames.frame(frames.HEADERS, 0, 3) + data_frame(1, b"x"),
            ErrorCode.PROTOCOL_ERROR,
            "expected a CONTINUATION",
        ),
        (
            frames.frame(frames.HEADERS, 0, 3) + frames.frame(frames.CONTINUATION, 0, 3, bytes(2001)),
            ErrorCode.ENHANCE_YOUR_CALM,
            "more than 2000 bytes of headers",
        ),
        (frames.frame(frames.HEADERS, 0x24, 3, b"abc"), ErrorCode.FRAME_SIZE_ERROR, "too short for their priority"),
        (frames.frame(frames.HEADERS, 4, 3, b"\x80"), ErrorCode.COMPRESSION_ERROR, "index 0"),
    ],
)
def test_each_violation_has_a_reason(data: bytes, code: ErrorCode, reason: str) -> None:
    """The client's log shows what it did wrong."""
    connection = open_connection()
    event = connection.receive(data)[-1]
    assert isinstance(event, Broken)
    assert reason in event.reason
    kind, _, _, payload = frames_of(connection.outgoing)[-1]
    assert (kind, payload[4:8]) == (frames.GOAWAY, bytes([0, 0, 0, code]))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (opening(1), ErrorCode.PROTOCOL_ERROR),
        (frames.window_update(1, 0), ErrorCode.PROTOCOL_ERROR),
        (frames.window_update(1, (1 << 31) - 1), ErrorCode.FLOW_CONTROL_ERROR),
        (frames.frame(frames.PRIORITY, 0, 1, bytes(4)), ErrorCode.FRAME_SIZE_ERROR),
    ],
)
def test_an_error_of_a_stream_cancels_its_call_only(data: bytes, code: ErrorCode) -> None:
    """The stream is reset, frames that were under way are ignored, and another call is not affected."""
    connection = open_connection()
    connection.receive(opening(3))
    assert connection.receive(data + data_frame(1, b"under way", end=True)) == [Cancelled(1)]
    assert frames_of(connection.outgoing) == [reset_frame(1, code)]
    assert connection.receive(data_frame(3, b"fine", end=True)) == [Received(3, b"fine"), Finished(3)]


def test_data_after_the_end_reset_the_stream() -> None:
    """A call whose client goes on after its end is cancelled."""
    connection = open_connection()
    events = connection.receive(data_frame(1, end=True) + data_frame(1, b"x"))
    assert events == [Finished(1), Cancelled(1)]
    assert frames_of(connection.outgoing) == [reset_frame(1, ErrorCode.STREAM_CLOSED)]


def test_frames_of_a_refused_call_do_not_end_the_connection() -> None:
    """A client that opened a call before it learned that the server leaves may have sent all of it already."""
    connection = open_connection()
    connection.leave("the server is stopping")
    assert connection.receive(opening(3) + data_frame(3, b"x", end=True) + frames.window_update(3, 9)) == []
    assert connection.receive(data_frame(1, b"more")) == [Received(1, b"more")]


def test_the_last_stream_of_goaway_never_increases() -> None:
    """A call that was refused after the first GOAWAY may be retried elsewhere, whatever happens then."""
    connection = open_connection()
    connection.leave("the server is stopping")
    connection.receive(opening(3) + frames.frame(frames.PING, 0, 0, b"short"))
    goaways = [payload[:4] for kind, _, _, payload in frames_of(connection.outgoing) if kind == frames.GOAWAY]
    assert goaways == [bytes([0, 0, 0, 1])] * 2


def test_goaway_with_an_error_is_the_last_frame() -> None:
    """Calls that end later send nothing more."""
    connection = open_connection()
    connection.receive(frames.frame(frames.PING, 0, 0, b"short"))
    connection.end(1, StatusCode.UNAVAILABLE, "the connection is lost")
    assert kinds(connection.outgoing) == [frames.GOAWAY]


def test_some_methods_accept_shorter_messages_only() -> None:
    """The limit belongs to the path of the call."""
    limits = Limits(message_bytes=1000, message_bytes_by_path={"/t/short": 10})
    connection = open_connection(limits)
    connection.receive(opening(3, "/t/short"))
    assert connection.receive(data_frame(1, bytes(11))) == [Received(1, bytes(11))]
    assert connection.receive(data_frame(3, bytes(11))) == [Cancelled(3)]
    assert trailers(frames_of(connection.outgoing), 3)[b"grpc-status"] == b"8"


def test_the_first_message_of_a_call_may_have_its_own_limit() -> None:
    """A client has to introduce itself before the server keeps longer messages for it, even within the same frame."""
    connection = open_connection(Limits(message_bytes=1000, first_message_bytes=10))
    connection.receive(opening(3))
    assert connection.receive(data_frame(1, bytes(10), bytes(1000))) == [
        Received(1, bytes(10)),
        Received(1, bytes(1000)),
    ]
    assert connection.receive(data_frame(3, bytes(11))) == [Cancelled(3)]
    assert b"the limit is 10" in trailers(frames_of(connection.outgoing), 3)[b"grpc-message"]


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01", frames.PREFACE + data_frame(1, b"x")])
def test_another_protocol_is_refused(start: bytes) -> None:
    """The first frame must be SETTINGS."""
    assert [type(e) for e in Connection(LIMITS).receive(start)] == [Broken]
