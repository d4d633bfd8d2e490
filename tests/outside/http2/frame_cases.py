"""Cases of frames and their sizes: RFC 9113, sections 4 and 6."""

from tests.outside.frames import (
    DATA,
    END_HEADERS,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PRIORITY,
    RESET,
    SETTINGS,
    WINDOW_UPDATE,
    fields,
    frame,
    message,
    settings,
)
from tests.outside.http2.case import (
    COMPRESSION_ERROR,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    PROTOCOL_ERROR,
    Came,
    Case,
    acknowledgements,
    answer,
    case,
    connection_error,
    frames,
    nothing,
    pongs,
    stream_error,
)
from tests.outside.http2.parts import (
    HOLD,
    PRIORITY_FLAG,
    begun,
    block,
    called,
    continued,
    data,
    number,
    pairs,
    ping,
    priority,
    reset,
    sent,
    whole,
    widened,
)

OK = answer(grpc_status="0")
RESERVED = 1 << 31
BLOCK = fields(pairs())
FULL = 2**14

FORMAT = [
    *(
        case(
            "RFC 9113 4.1",
            f"an unknown frame of type {kind:#x} on stream {stream}",
            OK,
            frame(kind, 0xFF, stream, b"any") + whole(),
        )
        for kind, stream in ((0x0A, 0), (0xF0, 1), (0xFF, 2), (0x10, 99))
    ),
    case(
        "RFC 9113 4.1", "an unknown frame on an open stream", OK, called() + frame(0xF0, 0xFF, 1, b"any") + sent(b"x")
    ),
    case("RFC 9113 4.1", "an unknown frame on a half-closed stream", OK, whole() + frame(0xF0, 0, 1, b"any")),
    case(
        "RFC 9113 4.1",
        "undefined flags of a ping",
        frames(lambda s: len(pongs(s)) == 1, "pong", 1, PING),
        ping(flags=0xFE),
    ),
    case(
        "RFC 9113 4.1",
        "undefined flags of settings",
        frames(lambda s: acknowledgements(s) == 2, "ACK", 3, SETTINGS),
        frame(SETTINGS, 0xFE, 0),
    ),
    case(
        "RFC 9113 4.1",
        "undefined flags of headers and data",
        OK,
        block(BLOCK, flags=END_HEADERS | 0xD2) + data(message(b"x"), end=True, flags=0xF6),
    ),
    case(
        "RFC 9113 4.1",
        "undefined flags of a window update",
        OK,
        called() + frame(WINDOW_UPDATE, 0xFF, 1, number(1)) + sent(b"x"),
    ),
    case(
        "RFC 9113 4.1",
        "the reserved bit of a ping's stream",
        frames(lambda s: len(pongs(s)) == 1, "pong", 1, PING),
        ping(stream=RESERVED),
    ),
    case(
        "RFC 9113 4.1",
        "the reserved bit of a call's stream",
        OK,
        block(BLOCK, RESERVED | 1, END_HEADERS) + data(message(b"x"), RESERVED | 1, end=True),
    ),
]

SIZES = [
    case(
        "RFC 9113 4.2",
        "data of 16,384 bytes",
        answer(content=message(bytes(FULL - 5)), grpc_status="0"),
        called() + sent(bytes(FULL - 5)),
    ),
    *(
        case(
            "RFC 9113 4.2",
            f"a frame of type {kind} with 16,385 bytes",
            connection_error(FRAME_SIZE_ERROR),
            called() + frame(kind, 0, stream, bytes(FULL + 1)),
        )
        for kind, stream in ((DATA, 1), (HEADERS, 3), (SETTINGS, 0), (GOAWAY, 0), (0xF0, 0))
    ),
    *(
        case(
            "RFC 9113 6.4",
            f"RST_STREAM of {size} bytes",
            connection_error(FRAME_SIZE_ERROR),
            called(HOLD) + frame(RESET, 0, 1, bytes(size)),
        )
        for size in (0, 3, 5)
    ),
    *(
        case(
            "RFC 9113 6.9",
            f"WINDOW_UPDATE of {size} bytes on stream {stream}",
            connection_error(FRAME_SIZE_ERROR),
            called(HOLD) + frame(WINDOW_UPDATE, 0, stream, bytes(size)),
        )
        for size, stream in ((0, 0), (3, 0), (5, 0), (3, 1))
    ),
    *(
        case(
            "RFC 9113 6.3",
            f"PRIORITY of {size} bytes",
            stream_error(FRAME_SIZE_ERROR),
            called(HOLD) + frame(PRIORITY, 0, 1, bytes(size)),
        )
        for size in (0, 4, 6)
    ),
    case(
        "RFC 9113 6.3",
        "PRIORITY of 4 bytes on an idle stream",
        connection_error(FRAME_SIZE_ERROR),
        frame(PRIORITY, 0, 1, bytes(4)),
    ),
]

BLOCKS = [
    case(
        "RFC 9113 4.3",
        "a block that cannot be decoded",
        connection_error(COMPRESSION_ERROR),
        block(b"\xff\xff\xff\xff\xff\xff"),
    ),
    case(
        "RFC 9113 4.3",
        "a block of a call that is over cannot be decoded",
        connection_error(COMPRESSION_ERROR),
        called(HOLD) + reset() + block(b"\x80", 1),
    ),
    case(
        "RFC 9113 4.3",
        "a block in fragments of one byte",
        answer(status="405"),
        begun(b"")
        + b"".join(continued(bytes([byte]), end=False) for byte in fields(pairs(method=b"GET")))
        + continued(),
    ),
    case(
        "RFC 9113 4.3",
        "a block in empty frames and one full one",
        answer(status="405"),
        begun(b"") + continued(end=False) + continued(fields(pairs(method=b"GET")), end=False) + continued(),
    ),
    *(
        case(
            "RFC 9113 4.3",
            f"{name} between fragments",
            connection_error(PROTOCOL_ERROR),
            called(HOLD) + begun(BLOCK[:9], 3) + between,
        )
        for name, between in {
            "DATA": sent(b"x"),
            "DATA of the same stream": data(b"x", 3),
            "HEADERS": called(stream=5),
            "HEADERS of the same stream": called(stream=3),
            "PRIORITY": priority(stream=3),
            "RST_STREAM": reset(3),
            "SETTINGS": settings(),
            "PING": ping(),
            "GOAWAY": frame(GOAWAY, 0, 0, bytes(8)),
            "WINDOW_UPDATE": widened(1),
            "an unknown frame": frame(0xF0, 0, 3),
            "CONTINUATION of another stream": continued(BLOCK[9:], 1),
        }.items()
    ),
    case(
        "RFC 9113 6.10",
        "several continuations",
        answer(grpc_status="0"),
        block(BLOCK[:3], flags=0) + continued(BLOCK[3:9], end=False) + continued(BLOCK[9:]) + sent(b"x"),
    ),
    case("RFC 9113 6.10", "CONTINUATION on stream 0", connection_error(PROTOCOL_ERROR), continued(BLOCK, 0)),
    case(
        "RFC 9113 6.10",
        "CONTINUATION after a complete block",
        connection_error(PROTOCOL_ERROR),
        called() + continued(b""),
    ),
    case(
        "RFC 9113 6.10",
        "CONTINUATION after the last continuation",
        connection_error(PROTOCOL_ERROR),
        block(BLOCK[:3], flags=0) + continued(BLOCK[3:]) + continued(b""),
    ),
    case(
        "RFC 9113 6.10",
        "CONTINUATION after data",
        connection_error(PROTOCOL_ERROR),
        called() + sent(b"x", end=False) + continued(b""),
    ),
]

PADDING = [
    case(
        "RFC 9113 6.1",
        "padded data",
        answer(content=message(b"x"), grpc_status="0"),
        called() + data(b"\x03" + message(b"x") + bytes(3), end=True, flags=PADDED),
    ),
    case(
        "RFC 9113 6.1",
        "padding of no bytes",
        answer(content=message(b"x"), grpc_status="0"),
        called() + data(b"\0" + message(b"x"), end=True, flags=PADDED),
    ),
    case(
        "RFC 9113 6.1",
        "data that are only padding",
        OK,
        called() + sent(b"x", end=False) + data(b"\xff" + bytes(255), end=True, flags=PADDED),
    ),
    case(
        "RFC 9113 6.1",
        "padding as long as the frame",
        connection_error(PROTOCOL_ERROR),
        called() + data(b"\x04abc", flags=PADDED),
    ),
    case(
        "RFC 9113 6.1",
        "padding longer than the frame",
        connection_error(PROTOCOL_ERROR),
        called() + data(b"\xffabc", flags=PADDED),
    ),
    case(
        "RFC 9113 6.1",
        "padded data without a length",
        connection_error(FRAME_SIZE_ERROR),
        called() + data(b"", flags=PADDED),
    ),
    case("RFC 9113 6.1", "data on stream 0", connection_error(PROTOCOL_ERROR), data(b"x", 0)),
    case(
        "RFC 9113 6.1",
        "a message in many frames",
        answer(content=message(b"hello"), grpc_status="0"),
        called() + b"".join(data(bytes([byte])) for byte in message(b"hello")) + data(end=True),
    ),
    case(
        "RFC 9113 6.2", "padded headers", OK, block(b"\x05" + BLOCK + bytes(5), flags=END_HEADERS | PADDED) + sent(b"x")
    ),
    case(
        "RFC 9113 6.2",
        "headers with a priority",
        OK,
        block(number(0) + b"\xff" + BLOCK, flags=END_HEADERS | PRIORITY_FLAG) + sent(b"x"),
    ),
    case(
        "RFC 9113 6.2",
        "headers with padding and a priority",
        OK,
        block(b"\x02" + number(RESERVED | 9) + b"\0" + BLOCK + bytes(2), flags=END_HEADERS | PRIORITY_FLAG | PADDED)
        + sent(b"x"),
    ),
    case("RFC 9113 6.2", "headers on stream 0", connection_error(PROTOCOL_ERROR), block(BLOCK, 0)),
    case(
        "RFC 9113 6.2",
        "padding as long as the headers",
        connection_error(PROTOCOL_ERROR),
        block(b"\x04abc", flags=END_HEADERS | PADDED),
    ),
    case(
        "RFC 9113 6.2",
        "padded headers without a length",
        connection_error(FRAME_SIZE_ERROR),
        block(b"", flags=END_HEADERS | PADDED),
    ),
    case(
        "RFC 9113 6.2",
        "headers too short for their priority",
        connection_error(FRAME_SIZE_ERROR),
        block(b"abcd", flags=END_HEADERS | PRIORITY_FLAG),
    ),
]

WINDOWS = [
    case("RFC 9113 6.9", "a window update of 0 on the connection", connection_error(PROTOCOL_ERROR), widened(0)),
    case(
        "RFC 9113 6.9", "a window update of 0 and the reserved bit", connection_error(PROTOCOL_ERROR), widened(RESERVED)
    ),
    case(
        "RFC 9113 6.9", "a window update of 0 on a stream", stream_error(PROTOCOL_ERROR), called(HOLD) + widened(0, 1)
    ),
    case(
        "RFC 9113 6.9",
        "the reserved bit of a window update",
        OK,
        called() + widened(RESERVED | 1) + widened(RESERVED | 1, 1) + sent(b"x"),
    ),
    case(
        "RFC 9113 6.9.1",
        "the connection's window becomes too wide",
        connection_error(FLOW_CONTROL_ERROR),
        widened(2**31 - 1),
    ),
    case(
        "RFC 9113 6.9.1",
        "the connection's window becomes too wide step by step",
        connection_error(FLOW_CONTROL_ERROR),
        widened(2**30) * 2,
    ),
    case(
        "RFC 9113 6.9.1",
        "a stream's window becomes too wide",
        stream_error(FLOW_CONTROL_ERROR),
        called(HOLD) + widened(2**31 - 1, 1),
    ),
    case(
        "RFC 9113 6.9.1",
        "a stream's window has its greatest width",
        OK,
        called() + widened(2**31 - 1 - 65_535, 1) + sent(b"x"),
    ),
    case("RFC 9113 6.9.1", "the connection's window has its greatest width", OK, widened(2**31 - 1 - 65_535) + whole()),
    case(
        "RFC 9113 6.9.1",
        "more data than the stream's window allows",
        stream_error(FLOW_CONTROL_ERROR),
        called(HOLD) + sent(bytes(14_000), end=False) * 6,
    ),
    case(
        "RFC 9113 6.9.1",
        "answers stay within a window of one byte",
        frames(lambda s: s.content(1) == message(b"x")[:1], "one byte", 1, DATA),
        settings((4, 1)) + whole(),
        Came(DATA),
    ),
    case(
        "RFC 9113 6.9.1",
        "the rest of an answer follows when the window widens",
        answer(content=message(b"hello"), grpc_status="0"),
        settings((4, 3)) + whole(b"hello"),
        Came(DATA),
        widened(4, 1) + widened(900, 1),
    ),
    case(
        "RFC 9113 6.9.2",
        "a new initial window applies to an open stream",
        answer(content=message(b"hello"), grpc_status="0"),
        settings((4, 0)) + whole(b"hello"),
        Came(HEADERS),
        settings((4, 20)),
    ),
    case(
        "RFC 9113 6.9.2",
        "a window may become negative",
        answer(content=message(b"hello") * 2, grpc_status="0"),
        settings((4, 10)) + called() + sent(b"hello", end=False),
        Came(DATA),
        settings((4, 3)) + sent(b"hello"),
        settings((4, 20)),
    ),
    case(
        "RFC 9113 6.9.2",
        "a new initial window makes a stream's window too wide",
        connection_error(FLOW_CONTROL_ERROR),
        called(HOLD) + widened(2**30, 1) + settings((4, 2**31 - 1)),
    ),
]

CASES: list[Case] = [
    *FORMAT,
    *SIZES,
    *BLOCKS,
    *PADDING,
    *WINDOWS,
    case("RFC 9113 7", "RST_STREAM with an unknown code", nothing(), called(HOLD) + reset(code=0xFFFF)),
]
