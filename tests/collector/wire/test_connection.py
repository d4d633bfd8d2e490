"""A connection without wires: laws that hold for any bytes, and each rule by name."""

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
    frames_of,
    greeted,
    greeting,
    headers,
    kinds,
    opening,
    said,
    trailers,
)

STREAMS = st.sampled_from([0, 1, 1, 1, 2, 3, 5, 7])


@st.composite
def spoken(draw: st.DrawFn) -> bytes:
    """A frame as a client may send it, often a right one."""
    kind = draw(st.sampled_from(["data", "data", "open", "end", "ping", "window", "settings", "reset", "any"]))
    stream = draw(STREAMS)
    if kind == "data":
        return said(stream, *draw(st.lists(st.binary(max_size=400), max_size=3)), end=draw(st.booleans()))
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


CONVERSATIONS = st.lists(spoken(), max_size=12).map(lambda parts: greeting() + opening() + b"".join(parts))


def heard(connection: Connection, pieces: Sequence[bytes]) -> list[Event]:
    """Everything that a connection tells; each message is answered and taken at once."""
    events = []
    for piece in pieces:
        for event in connection.receive(piece):
            events.append(event)
            if isinstance(event, Received):
                connection.taken(event.stream, len(event.message))
    return events


def test_the_hypotheses_begin_with_what_is_right() -> None:
    """A conversation without more opens a call: what follows is not judged on a connection that is broken already."""
    assert [type(e) for e in Connection(LIMITS).receive(greeting() + opening())] == [Opened]


@given(CONVERSATIONS, st.lists(st.integers(0, 2000), max_size=12))
def test_however_bytes_are_split_the_events_are_the_same(said_bytes: bytes, cuts: list[int]) -> None:
    """Reads end anywhere: within the preface, a header, a message."""
    edges = [0, *sorted(min(cut, len(said_bytes)) for cut in cuts), len(said_bytes)]
    pieces = [said_bytes[start:end] for start, end in itertools.pairwise(edges)]
    whole, split = Connection(LIMITS), Connection(LIMITS)
    events = heard(whole, [said_bytes])
    assert heard(split, pieces) == events
    assert heard(Connection(LIMITS), [bytes([byte]) for byte in said_bytes]) == events
    assert sorted(kinds(split.outgoing)) == sorted(kinds(whole.outgoing))


@given(st.one_of(st.binary(max_size=300), CONVERSATIONS), st.lists(st.binary(max_size=200), max_size=5))
def test_rubbish_closes_the_connection_with_a_reason_and_raises_nothing(start: bytes, more: list[bytes]) -> None:
    """Whatever comes: a fault is the last event, the last frame says why, and nothing is heard after it."""
    connection = Connection(LIMITS)
    events = heard(connection, [start, *more])
    broken = [event for event in events if isinstance(event, Broken)]
    assert broken == events[-1:] if broken else True
    if broken:
        kind, _, _, payload = frames_of(connection.outgoing)[-1]
        assert kind == frames.GOAWAY
        assert payload[8:].decode() == broken[0].reason
        assert payload[4:8] != bytes(4)
        assert connection.receive(said(1, b"more")) == []


@given(CONVERSATIONS)
def test_every_call_has_one_beginning_and_one_end(said_bytes: bytes) -> None:
    """Messages and the end belong to a call that was opened and is not over."""
    begun: set[int] = set()
    over: set[int] = set()
    for event in heard(Connection(LIMITS), [said_bytes]):
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
def test_no_more_is_sent_than_there_is_room_for(
    messages: list[bytes], widened: list[tuple[bool, int]], window: int
) -> None:
    """Neither the stream's window nor the connection's is overrun; with room enough, everything arrives as it was."""
    connection = greeted(window=window)
    rooms = [window, frames.DEFAULT_WINDOW_BYTES]
    for message in messages:
        connection.send(1, message)
    for of_stream, count in widened:
        assert sent_bytes(connection) <= min(rooms)
        connection.receive(frames.window_update(int(of_stream), count))
        rooms[not of_stream] += count
    assert sent_bytes(connection) <= min(rooms)
    connection.rest()
    for stream in (0, 1):
        connection.receive(frames.window_update(stream, 100_000))
    payload = b"".join(body for kind, _, _, body in frames_of(connection.outgoing) if kind == frames.DATA)
    assert payload == b"".join(map(framed, messages))
    assert connection.unsent(1) == 0


def sent_bytes(connection: Connection) -> int:
    return sum(len(body) for kind, _, _, body in frames_of(connection.outgoing) if kind == frames.DATA)


def given_back(connection: Connection) -> int:
    """By how much stream 1 was widened since this was last asked."""
    sent = frames_of(connection.outgoing)
    connection.outgoing.clear()
    return sum(int.from_bytes(body) for kind, _, to, body in sent if kind == frames.WINDOW_UPDATE and to == 1)


@given(st.lists(st.integers(0, 900), min_size=1, max_size=60))
def test_room_is_given_back_as_messages_are_taken(sizes: list[int]) -> None:
    """A client that keeps to its windows is never without room for the next message, as long as they are taken."""
    connection = greeted(Limits(message_bytes=1000, window_bytes=4000, idle_frames=1000))
    room = 4000
    for size in sizes:
        data = said(1, bytes(size))
        room -= len(data) - frames.HEADER_BYTES
        assert room >= 0
        heard(connection, [data])
        room += given_back(connection)


def test_who_does_not_take_messages_is_not_sent_more() -> None:
    """Without `taken`, a window is all that is ever held; beyond it the connection is at fault."""
    connection = greeted()
    for _ in range(4):
        assert [type(e) for e in connection.receive(said(1, bytes(900)))] == [Received]
    assert frames.WINDOW_UPDATE not in kinds(connection.outgoing)
    assert connection.receive(said(1, bytes(900)))[-1] == Broken("more data than stream 1 has room for")


def test_empty_messages_fill_the_window_too() -> None:
    """Each takes a place among those that wait: no room is given back for them before they are taken."""
    connection = greeted()
    empty = said(1, *[b""] * 100)  # 500 bytes
    for _ in range(8):
        assert connection.receive(empty) == [Received(1, b"")] * 100
    connection.taken(1, 0)
    assert given_back(connection) == 0
    for _ in range(799):
        connection.taken(1, 0)
    assert given_back(connection) == 4000


def test_a_message_longer_than_the_window_comes_through() -> None:
    """Room is given back for what is gathered of a message that is not whole."""
    connection = greeted(Limits(message_bytes=50_000, window_bytes=4000))
    data, room, got = framed(bytes(40_000)), 4000, []
    while data:
        piece, data = data[: min(room, 2000)], data[min(room, 2000) :]
        assert piece
        room -= len(piece)
        got += connection.receive(frames.frame(frames.DATA, 0, 1, piece))
        room += given_back(connection)
    assert got == [Received(1, bytes(40_000))]


def test_an_answer_has_headers_messages_and_a_status() -> None:
    """As gRPC's document on HTTP/2 has it; a stream that the client has not ended is reset without an error."""
    connection = greeted()
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
    """Headers and trailers together."""
    connection = greeted()
    connection.receive(said(1, end=True))
    connection.end(1, StatusCode.OK)
    assert kinds(connection.outgoing) == [frames.HEADERS]
    assert trailers(frames_of(connection.outgoing)) == {
        b":status": b"200",
        b"content-type": b"application/grpc",
        b"grpc-accept-encoding": b"identity,gzip,deflate",
        b"grpc-status": b"0",
    }


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ([(b"content-type", b"text/html")], b"415"),
        ([(b":method", b"GET")], b"405"),
    ],
)
def test_what_is_no_call_is_answered_as_http(more: list[tuple[bytes, bytes]], status: bytes) -> None:
    """A browser, or a probe, learns that it is wrong here."""
    connection = greeted()
    events = connection.receive(opening(3, "/t/m", *more))
    assert events == []
    assert trailers(frames_of(connection.outgoing), 3) == {b":status": status}


def test_an_unknown_compression_is_refused() -> None:
    """The client is told which ones are known."""
    connection = greeted()
    assert connection.receive(opening(3, "/t/m", (b"grpc-encoding", b"snappy"))) == []
    told = trailers(frames_of(connection.outgoing), 3)
    assert told[b"grpc-status"] == b"12"
    assert told[b"grpc-accept-encoding"] == b"identity,gzip,deflate"


def test_settings_are_acknowledged_before_they_are_made_use_of() -> None:
    """Who makes room by settings counts on it once it knows that they came: gRPC takes earlier data for a fault."""
    connection = greeted(window=0)
    connection.send(1, b"waits")
    connection.receive(frames.settings({frames.INITIAL_WINDOW_SIZE: 100}))
    assert kinds(connection.outgoing) == [frames.HEADERS, frames.SETTINGS, frames.DATA]


def test_a_compressed_message_is_read() -> None:
    """An agent with `compression = true` sends gzip."""
    connection = greeted()
    connection.receive(opening(3, "/t/m", (b"grpc-encoding", b"gzip")))
    packed = gzip.compress(b"message " * 50)
    data = PREFIX.pack(1, len(packed)) + packed
    assert connection.receive(frames.frame(frames.DATA, 0, 3, data)) == [Received(3, b"message " * 50)]


def test_compressed_messages_that_nobody_takes_are_bounded() -> None:
    """A window of compressed zeros would be a thousand windows: the call ends before that."""
    connection = greeted()
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
def test_a_bad_message_ends_its_call_alone(data: bytes, status: bytes) -> None:
    """The connection goes on: data that were on their way are dropped, and other calls are served."""
    connection = greeted()
    connection.receive(opening(3))
    assert connection.receive(data)[-1] == Cancelled(1)
    assert trailers(frames_of(connection.outgoing))[b"grpc-status"] == status
    assert connection.receive(said(1, b"late")) == []
    assert connection.receive(said(3, b"fine")) == [Received(3, b"fine")]


def test_too_many_calls_are_refused_one_by_one() -> None:
    """A refused stream may be tried again; the others go on."""
    connection = greeted()
    connection.receive(opening(3))
    assert connection.receive(opening(5)) == []
    assert frames_of(connection.outgoing) == [(frames.RST_STREAM, 0, 5, bytes([0, 0, 0, ErrorCode.REFUSED_STREAM]))]
    connection.end(1, StatusCode.OK)
    assert [type(e) for e in connection.receive(opening(7))] == [Opened]


def test_who_leaves_takes_no_more_calls() -> None:
    """Calls that are open go on to their end."""
    connection = greeted()
    connection.leave("the server stops")
    connection.leave("once is enough")
    kind, _, _, payload = frames_of(connection.outgoing)[0]
    assert (kind, payload) == (frames.GOAWAY, bytes([0, 0, 0, 1, 0, 0, 0, 0]) + b"the server stops")
    assert connection.receive(opening(3)) == []
    assert kinds(connection.outgoing) == [frames.GOAWAY, frames.RST_STREAM]
    assert connection.receive(said(1, b"more", end=True)) == [Received(1, b"more"), Finished(1)]


def test_pings_are_answered_and_a_flood_of_them_is_not() -> None:
    """Agents ping every six seconds; thousands a second end the connection."""
    connection = greeted()
    ping = frames.frame(frames.PING, 0, 0, b"flyball!")
    for _ in range(10):
        assert connection.receive(ping * 40) == []
        connection.rest()
    assert set(frames_of(connection.outgoing)) == {(frames.PING, frames.ACK, 0, b"flyball!")}
    assert connection.receive(ping * 60) == [Broken("too many frames without data")]


def test_headers_may_go_on_in_further_frames() -> None:
    """Also with padding and a priority, which count for nothing."""
    connection = greeted()
    block = encode(headers("/t/m", (b"long", bytes(500))))
    first = b"\x03" + bytes(5) + block[:100] + bytes(3)
    flags = frames.PADDED | frames.PRIORITIZED
    events = connection.receive(
        frames.frame(frames.HEADERS, flags, 3, first)
        + frames.frame(frames.CONTINUATION, 0, 3, block[100:200])
        + frames.frame(frames.CONTINUATION, frames.END_HEADERS, 3, block[200:])
    )
    assert [type(e) for e in events] == [Opened]


def test_a_client_may_say_something_after_its_last_message() -> None:
    """Its trailers end what it says."""
    connection = greeted()
    last = frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, encode([(b"x", b"y")]))
    assert connection.receive(last) == [Finished(1)]


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        (frames.HEADER.pack(256, 0, 0, 0, 1), ErrorCode.FRAME_SIZE_ERROR, "a frame of 65536 bytes"),
        (said(9, b"x"), ErrorCode.PROTOCOL_ERROR, "stream 9 is not open"),
        (said(2, b"x"), ErrorCode.PROTOCOL_ERROR, "stream 2 is not open"),
        (said(1, end=True) + said(1, b"x"), ErrorCode.STREAM_CLOSED, "after the end"),
        (opening(1), ErrorCode.PROTOCOL_ERROR, "in the middle of stream 1"),
        (opening(4), ErrorCode.PROTOCOL_ERROR, "cannot have the number 4"),
        (frames.frame(frames.DATA, frames.PADDED, 1, b"\x05abc"), ErrorCode.PROTOCOL_ERROR, "more padding"),
        (frames.frame(frames.PUSH_PROMISE, 0, 1), ErrorCode.PROTOCOL_ERROR, "clients do not push"),
        (frames.frame(frames.PING, 0, 0, b"short"), ErrorCode.FRAME_SIZE_ERROR, "type 6 with 5 bytes"),
        (frames.frame(frames.PING, 0, 1, bytes(8)), ErrorCode.PROTOCOL_ERROR, "type 6 on stream 1"),
        (frames.frame(frames.SETTINGS, 0, 0, b"odd"), ErrorCode.FRAME_SIZE_ERROR, "settings of 3 bytes"),
        (frames.frame(frames.SETTINGS, 1, 0, bytes(6)), ErrorCode.FRAME_SIZE_ERROR, "acknowledgement with settings"),
        (frames.window_update(1, 0), ErrorCode.PROTOCOL_ERROR, "widened by nothing"),
        (frames.window_update(0, (1 << 31) - 1), ErrorCode.FLOW_CONTROL_ERROR, "a window of"),
        (frames.window_update(1, (1 << 31) - 1), ErrorCode.FLOW_CONTROL_ERROR, "a window of"),
        (frames.settings({4: 1 << 31}), ErrorCode.FLOW_CONTROL_ERROR, "a window of"),
        (frames.window_update(9, 1), ErrorCode.PROTOCOL_ERROR, "stream 9 is not open"),
        (frames.reset(9, ErrorCode.CANCEL), ErrorCode.PROTOCOL_ERROR, "stream 9 is not open"),
        (frames.frame(frames.CONTINUATION, 4, 1), ErrorCode.PROTOCOL_ERROR, "nothing to continue"),
        (frames.frame(frames.HEADERS, 0, 3) + said(1, b"x"), ErrorCode.PROTOCOL_ERROR, "were to be continued"),
        (
            frames.frame(frames.HEADERS, 0, 3) + frames.frame(frames.CONTINUATION, 0, 3, bytes(2001)),
            ErrorCode.ENHANCE_YOUR_CALM,
            "more than 2000 bytes of headers",
        ),
        (frames.frame(frames.HEADERS, 0x24, 3, b"abc"), ErrorCode.FRAME_SIZE_ERROR, "too short for their priority"),
        (frames.frame(frames.HEADERS, 4, 3, b"\x80"), ErrorCode.COMPRESSION_ERROR, "header 0"),
    ],
)
def test_each_fault_has_a_name(data: bytes, code: ErrorCode, reason: str) -> None:
    """The other side's log says what it did wrong."""
    connection = greeted()
    event = connection.receive(data)[-1]
    assert isinstance(event, Broken)
    assert reason in event.reason
    kind, _, _, payload = frames_of(connection.outgoing)[-1]
    assert (kind, payload[4:8]) == (frames.GOAWAY, bytes([0, 0, 0, code]))


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01", frames.PREFACE + said(1, b"x")])
def test_what_is_not_http2_is_told_so(start: bytes) -> None:
    """Settings come first; anything else is another protocol."""
    assert [type(e) for e in Connection(LIMITS).receive(start)] == [Broken]
