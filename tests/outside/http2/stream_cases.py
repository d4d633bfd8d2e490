"""Cases of the states of streams: RFC 9113, sections 5.1 to 5.3, 6.3 and 6.4; section 5.3.1 of RFC 7540."""

from tests.outside.frames import END_HEADERS, HEADERS, RESET, field, fields
from tests.outside.http2.case import (
    FRAME_SIZE_ERROR,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    STREAM_CLOSED,
    Came,
    Case,
    Ended,
    Expected,
    answer,
    case,
    connection_error,
    frames,
    nothing,
    stream_error,
)
from tests.outside.http2.parts import (
    DENIED,
    HOLD,
    PRIORITY_FLAG,
    UNARY,
    block,
    called,
    continued,
    data,
    number,
    pairs,
    priority,
    reset,
    sent,
    trailers,
    whole,
    widened,
)

OK = answer(grpc_status="0")
DENIAL = answer(grpc_status="7")
HALF_CLOSED = called(HOLD, end=True)
CANCELLED = called(HOLD) + reset()
ENDED = (whole(path=UNARY), Ended(1))
REFUSED = (called(DENIED), Came(RESET))  # the server has answered and reset the stream before the client ended it
MALFORMED = block(fields(pairs(method=None)), flags=END_HEADERS)


IDLE = [
    *(
        case("RFC 9113 5.1", f"{name} on idle stream {stream}", connection_error(PROTOCOL_ERROR), frame)
        for stream in (1, 2)
        for name, frame in {
            "DATA": data(b"x", stream),
            "RST_STREAM": reset(stream),
            "WINDOW_UPDATE": widened(1, stream),
            "CONTINUATION": continued(b"", stream),
        }.items()
    ),
    case(
        "RFC 9113 6.3",
        "PRIORITY on an idle stream",
        OK,
        priority(stream=1) + priority(stream=7) + priority(stream=2) + whole(),
    ),
]

HALF_CLOSED_REMOTE = [
    case("RFC 9113 5.1", "DATA on a half-closed stream", stream_error(STREAM_CLOSED), HALF_CLOSED + sent(b"x")),
    case(
        "RFC 9113 5.1",
        "HEADERS on a half-closed stream",
        stream_error(STREAM_CLOSED),
        HALF_CLOSED + trailers([(b"a", b"b")]),
    ),
    case(
        "RFC 9113 5.1",
        "CONTINUATION on a half-closed stream",
        connection_error(PROTOCOL_ERROR),
        HALF_CLOSED + continued(b""),
    ),
    case("RFC 9113 5.1", "WINDOW_UPDATE on a half-closed stream", nothing(), HALF_CLOSED + widened(1, 1)),
    case("RFC 9113 5.1", "PRIORITY on a half-closed stream", nothing(), HALF_CLOSED + priority()),
    case("RFC 9113 5.1", "RST_STREAM on a half-closed stream", nothing(), HALF_CLOSED + reset()),
    case(
        "RFC 9113 5.1", "DATA twice on a half-closed stream", stream_error(STREAM_CLOSED), HALF_CLOSED + sent(b"x") * 2
    ),
]

CLOSED = [
    case("RFC 9113 5.1", "DATA after the client's reset", stream_error(STREAM_CLOSED), CANCELLED + sent(b"x")),
    case(
        "RFC 9113 5.1",
        "HEADERS after the client's reset",
        stream_error(STREAM_CLOSED),
        CANCELLED + trailers([(b"a", b"b")]),
    ),
    case(
        "RFC 9113 5.1",
        "CONTINUATION after the client's reset",
        connection_error(PROTOCOL_ERROR),
        CANCELLED + continued(b""),
    ),
    case("RFC 9113 5.1", "PRIORITY after the client's reset", nothing(), CANCELLED + priority()),
    case("RFC 9113 5.4.2", "no reset answers a second reset", nothing(), CANCELLED + reset()),
    case("RFC 9113 5.1", "WINDOW_UPDATE after the client's reset", nothing(), CANCELLED + widened(1, 1)),
    case("RFC 9113 5.1", "DATA after both sides ended", stream_error(STREAM_CLOSED), *ENDED, sent(b"x")),
    case("RFC 9113 5.1", "HEADERS after both sides ended", connection_error(STREAM_CLOSED), *ENDED, called()),
    case(
        "RFC 9113 5.1",
        "trailers after both sides ended",
        connection_error(STREAM_CLOSED),
        *ENDED,
        trailers([(b"a", b"b")]),
    ),
    case(
        "RFC 9113 5.1", "CONTINUATION after both sides ended", connection_error(PROTOCOL_ERROR), *ENDED, continued(b"")
    ),
    case("RFC 9113 5.1", "WINDOW_UPDATE after both sides ended", OK, *ENDED, widened(1, 1)),
    case("RFC 9113 5.1", "RST_STREAM after both sides ended", OK, *ENDED, reset()),
    case("RFC 9113 5.1", "PRIORITY after both sides ended", OK, *ENDED, priority()),
]

RESET_BY_SERVER = [
    case(
        "RFC 9113 5.1",
        "DATA that was under way when the server reset the stream",
        DENIAL,
        *REFUSED,
        sent(b"x", end=False) * 9,
    ),
    case(
        "RFC 9113 5.1", "the end that was under way when the server reset the stream", DENIAL, *REFUSED, data(end=True)
    ),
    case(
        "RFC 9113 5.1",
        "trailers that were under way when the server reset the stream",
        DENIAL,
        *REFUSED,
        trailers([(b"a", b"b")]),
    ),
    case(
        "RFC 9113 5.1",
        "WINDOW_UPDATE that was under way when the server reset the stream",
        DENIAL,
        *REFUSED,
        widened(1, 1),
    ),
    case("RFC 9113 5.1", "RST_STREAM that was under way when the server reset the stream", DENIAL, *REFUSED, reset()),
    case(
        "RFC 9113 5.4.2",
        "frames after a stream error are ignored",
        stream_error(PROTOCOL_ERROR),
        MALFORMED + sent(b"x", end=False) * 3 + trailers([(b"a", b"b")]),
    ),
    case(
        "RFC 9113 5.4.2",
        "two streams fail and a third one is served",
        Expected(
            "two stream errors and an answer",
            lambda s: s.ended(5),
            lambda s: (
                s.faults == [(RESET, 1, PROTOCOL_ERROR), (RESET, 3, PROTOCOL_ERROR)]
                and s.headers(5)[b"grpc-status"] == b"0"
            ),
        ),
        MALFORMED + block(fields(pairs(path=b"")), 3) + whole(stream=5),
    ),
]

IDENTIFIERS = [
    case("RFC 9113 5.1.1", "HEADERS on an even stream", connection_error(PROTOCOL_ERROR, 0), called(stream=2)),
    case(
        "RFC 9113 5.1.1",
        "a number below one that was used",
        connection_error(PROTOCOL_ERROR, 5),
        called(HOLD, 5) + called(HOLD, 3),
    ),
    case("RFC 9113 5.1.1", "numbers may be skipped", answer(101, grpc_status="0"), whole(stream=7) + whole(stream=101)),
    case("RFC 9113 5.1.1", "DATA on a skipped stream", stream_error(STREAM_CLOSED, 3), called(HOLD, 5) + data(b"x", 3)),
    case("RFC 9113 5.1.1", "PRIORITY on a skipped stream", nothing(), called(HOLD, 5) + priority(stream=3)),
]

CONCURRENCY = [
    case(
        "RFC 9113 5.1.2",
        "one stream too many is refused",
        Expected("9 is refused", lambda s: bool(s.faults), lambda s: s.faults == [(RESET, 9, REFUSED_STREAM)]),
        b"".join(called(HOLD, n) for n in (1, 3, 5, 7, 9)) + reset(1),
    ),
    case(
        "RFC 9113 5.1.2",
        "data of a refused stream are ignored",
        Expected("9 is refused once", lambda s: bool(s.faults), lambda s: s.faults == [(RESET, 9, REFUSED_STREAM)]),
        b"".join(called(HOLD, n) for n in (1, 3, 5, 7, 9)) + sent(b"x", stream=9) + reset(1),
    ),
    case(
        "RFC 9113 5.1.2",
        "a stream that ended makes room",
        answer(9, grpc_status="0"),
        b"".join(called(HOLD, n) for n in (1, 3, 5, 7)) + reset(3) + whole(stream=9),
    ),
    case(
        "RFC 9113 4.3",
        "headers of a refused stream change the table",
        Expected(
            "9 is refused and 11 served", lambda s: s.ended(11), lambda s: s.headers(11).get(b"grpc-status") == b"0"
        ),
        b"".join(called(HOLD, n) for n in (1, 3, 5, 7))
        + block(fields(pairs()) + field(b"content-type", b"application/grpc+kept", indexed=True), 9)
        + reset(1)
        + block(fields(pairs(UNARY, kind=None)) + b"\xbe", 11, END_HEADERS)
        + sent(b"x", stream=11),
    ),
]

PRIORITIES = [
    case(
        "RFC 7540 5.3.1",
        "HEADERS that depend on themselves",
        stream_error(PROTOCOL_ERROR),
        block(number(1) + b"\x0f" + fields(pairs()), flags=END_HEADERS | PRIORITY_FLAG),
    ),
    case("RFC 7540 5.3.1", "PRIORITY that depends on itself", stream_error(PROTOCOL_ERROR), called(HOLD) + priority(1)),
    case(
        "RFC 7540 5.3.1",
        "PRIORITY that depends on itself, on an idle stream",
        connection_error(PROTOCOL_ERROR),
        priority(1),
    ),
    case("RFC 9113 6.3", "PRIORITY on stream 0", connection_error(PROTOCOL_ERROR), priority(stream=0)),
    case(
        "RFC 9113 6.3",
        "PRIORITY with each field",
        OK,
        priority(99, exclusive=True, weight=255) + called() + priority(0, weight=0) + sent(b"x"),
    ),
    case(
        "RFC 9113 6.3",
        "PRIORITY of 4 bytes leaves other streams",
        Expected(
            "1 is reset, 3 is served",
            lambda s: s.ended(3),
            lambda s: s.faults == [(RESET, 1, FRAME_SIZE_ERROR)] and s.headers(3)[b"grpc-status"] == b"0",
        ),
        called(HOLD) + called(stream=3) + b"\0\0\x04\x02\0\0\0\0\x01" + bytes(4) + sent(b"x", stream=3),
    ),
]

RESETS = [
    case("RFC 9113 6.4", "RST_STREAM on stream 0", connection_error(PROTOCOL_ERROR), reset(0)),
    case(
        "RFC 9113 6.4",
        "RST_STREAM ends a call without an answer",
        frames(lambda s: not s.of(HEADERS, 1), "no answer"),
        called(HOLD) + reset(),
    ),
    case(
        "RFC 9113 6.4",
        "RST_STREAM leaves other streams",
        answer(3, grpc_status="0"),
        called(HOLD) + called(stream=3) + reset() + sent(b"x", stream=3),
    ),
]

CASES: list[Case] = [
    *IDLE,
    *HALF_CLOSED_REMOTE,
    *CLOSED,
    *RESET_BY_SERVER,
    *IDENTIFIERS,
    *CONCURRENCY,
    *PRIORITIES,
    *RESETS,
]
