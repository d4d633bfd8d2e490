"""Cases of how a connection starts, is configured and ends: RFC 9113, sections 3, 5.4, 5.5, 6.5, 6.7, 6.8 and 10.5."""

from tests.outside.frames import (
    GOAWAY,
    HEADER_TABLE_SIZE,
    INITIAL_WINDOW_SIZE,
    PADDED,
    PREFACE,
    PUSH,
    SETTINGS,
    frame,
    message,
    settings,
)
from tests.outside.http2.case import (
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    PROTOCOL_ERROR,
    Case,
    Ended,
    Expected,
    acknowledgements,
    answer,
    case,
    connection_error,
    frames,
    nothing,
    pongs,
)
from tests.outside.http2.parts import HOLD, UNARY, called, data, number, ping, priority, sent, whole

ENABLE_PUSH, MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 2, 3, 5, 6
ACK = 0x1


def acknowledged(count: int) -> Expected:
    """So many SETTINGS frames are acknowledged, the first one included."""
    return frames(lambda seen: acknowledgements(seen) == count, f"{count} acknowledgements", count + 1, SETTINGS)


PREFACES = [
    case(
        "RFC 9113 3.4",
        "the server's first frame is SETTINGS",
        frames(lambda seen: seen.frames[0][:3] == (SETTINGS, 0, 0), "SETTINGS first", 1, SETTINGS),
    ),
    case("RFC 9113 3.4", "the client's settings are acknowledged", acknowledged(1)),
    case("RFC 9113 3.4", "frames follow without waiting for the server", answer(grpc_status="0"), whole()),
    *(
        case(
            "RFC 9113 3.4",
            f"the connection begins with {name}",
            connection_error(PROTOCOL_ERROR, 0),
            start,
            greeted=False,
        )
        for name, start in {
            "HTTP/1.1": b"GET / HTTP/1.1\r\nHost: collector\r\n\r\n",
            "a damaged preface": PREFACE[:-1] + b"\0" + settings(),
            "a ping": PREFACE + ping(),
            "headers": PREFACE + whole(),
            "an acknowledgement": PREFACE + frame(SETTINGS, ACK, 0),
            "data": PREFACE + data(b"x"),
            "an unknown frame": PREFACE + frame(0xF0, 0, 0, b"x"),
        }.items()
    ),
    case(
        "RFC 9113 3.4",
        "the first settings may be full",
        answer(grpc_status="0"),
        PREFACE + settings((1, 4096), (2, 0), (3, 100), (4, 65_535), (5, 16_384), (6, 9000)) + whole(),
        greeted=False,
    ),
]

ERRORS = [
    case(
        "RFC 9113 5.4.1",
        "GOAWAY names the last stream",
        connection_error(FRAME_SIZE_ERROR, 7),
        called(HOLD, 3) + called(HOLD, 7) + ping(b"short"),
    ),
    case("RFC 9113 5.4.1", "without streams the last one is 0", connection_error(FRAME_SIZE_ERROR, 0), ping(b"short")),
    case("RFC 9113 5.5", "an unknown setting is ignored", acknowledged(2), settings((0x77, 12_345))),
    case("RFC 9113 5.5", "a setting of number 0 is ignored", acknowledged(2), settings((0, 1))),
    case("RFC 9113 7", "GOAWAY with an unknown code", nothing(), frame(GOAWAY, 0, 0, number(0) + number(0xFF))),
]

SETTINGS_CASES = [
    case("RFC 9113 6.5", "empty settings are acknowledged", acknowledged(2), settings()),
    case("RFC 9113 6.5", "each frame is acknowledged once", acknowledged(4), settings() * 3),
    case("RFC 9113 6.5", "an acknowledgement is not acknowledged", acknowledged(1), frame(SETTINGS, ACK, 0)),
    case("RFC 9113 6.5", "a setting may be repeated", acknowledged(2), settings((4, 1), (4, 2), (4, 70_000))),
    case(
        "RFC 9113 6.5",
        "an acknowledgement with settings",
        connection_error(FRAME_SIZE_ERROR),
        frame(4, ACK, 0, bytes(6)),
    ),
    case("RFC 9113 6.5", "settings on a stream", connection_error(PROTOCOL_ERROR), frame(SETTINGS, 0, 1, bytes(6))),
    case("RFC 9113 6.5", "an acknowledgement on a stream", connection_error(PROTOCOL_ERROR), frame(SETTINGS, ACK, 3)),
    *(
        case(
            "RFC 9113 6.5", f"settings of {size} bytes", connection_error(FRAME_SIZE_ERROR), frame(4, 0, 0, bytes(size))
        )
        for size in (1, 5, 7, 13)
    ),
    *(
        case("RFC 9113 6.5.2", f"setting {key} = {value} is accepted", acknowledged(2), settings((key, value)))
        for key, value in (
            (ENABLE_PUSH, 0),
            (ENABLE_PUSH, 1),
            (MAX_CONCURRENT_STREAMS, 0),
            (INITIAL_WINDOW_SIZE, 2**31 - 1),
            (MAX_FRAME_SIZE, 2**14),
            (MAX_FRAME_SIZE, 2**24 - 1),
            (MAX_HEADER_LIST_SIZE, 2**32 - 1),
            (HEADER_TABLE_SIZE, 2**32 - 1),
        )
    ),
    *(
        case("RFC 9113 6.5.2", f"setting {key} = {value} is an error", connection_error(code), settings((key, value)))
        for key, value, code in (
            (ENABLE_PUSH, 2, PROTOCOL_ERROR),
            (ENABLE_PUSH, 2**32 - 1, PROTOCOL_ERROR),
            (INITIAL_WINDOW_SIZE, 2**31, FLOW_CONTROL_ERROR),
            (INITIAL_WINDOW_SIZE, 2**32 - 1, FLOW_CONTROL_ERROR),
            (MAX_FRAME_SIZE, 2**14 - 1, PROTOCOL_ERROR),
            (MAX_FRAME_SIZE, 0, PROTOCOL_ERROR),
            (MAX_FRAME_SIZE, 2**24, PROTOCOL_ERROR),
        )
    ),
    case(
        "RFC 9113 6.5.3",
        "an error in the middle of a frame",
        connection_error(PROTOCOL_ERROR),
        settings((INITIAL_WINDOW_SIZE, 1), (ENABLE_PUSH, 7), (INITIAL_WINDOW_SIZE, 2)),
    ),
]

OTHERS = [
    case("RFC 9113 6.6", "a client pushes", connection_error(PROTOCOL_ERROR), called() + frame(PUSH, 4, 1, number(2))),
    case(
        "RFC 9113 6.7",
        "a ping is answered with its payload",
        frames(lambda s: pongs(s) == [b"12345678"], "pong", 1, 6),
        ping(),
    ),
    case(
        "RFC 9113 6.7",
        "an answer to a ping is not answered",
        frames(lambda s: not pongs(s), "no pong"),
        ping(flags=ACK),
    ),
    case("RFC 9113 6.7", "a ping on a stream", connection_error(PROTOCOL_ERROR), ping(stream=1)),
    case("RFC 9113 6.7", "a ping of 7 bytes", connection_error(FRAME_SIZE_ERROR), ping(b"1234567")),
    case("RFC 9113 6.7", "a ping of 9 bytes", connection_error(FRAME_SIZE_ERROR), ping(b"123456789")),
    case("RFC 9113 6.7", "an answer of 0 bytes", connection_error(FRAME_SIZE_ERROR), ping(b"", flags=ACK)),
    case("RFC 9113 6.8", "GOAWAY on a stream", connection_error(PROTOCOL_ERROR), frame(GOAWAY, 0, 1, bytes(8))),
    case("RFC 9113 6.8", "GOAWAY of 7 bytes", connection_error(FRAME_SIZE_ERROR), frame(GOAWAY, 0, 0, bytes(7))),
    case("RFC 9113 6.8", "GOAWAY with a text", nothing(), frame(GOAWAY, 0, 0, bytes(8) + b"good bye")),
    case(
        "RFC 9113 6.8",
        "a call goes on after GOAWAY",
        answer(grpc_status="0"),
        called() + frame(GOAWAY, 0, 0, bytes(8)) + sent(b"x"),
    ),
]

# Each flood is more than twice what a second allows, because a new second may begin within it.
FLOODS = [
    case("RFC 9113 10.5", f"a flood of {name}", connection_error(ENHANCE_YOUR_CALM), called(HOLD), flood)
    for name, flood in {
        "pings": ping() * 1000,
        "settings": settings() * 1000,
        "priorities": priority() * 1000,
        "window updates": frame(8, 0, 0, number(1)) * 1000,
        "unknown frames": frame(0xF0, 0, 0, b"x") * 1000,
        "empty data": data() * 1000,
        "data that are only padding": data(bytes([99]) + bytes(99), flags=PADDED) * 1000,
        "data of one byte": data(message(bytes(50_000))[:5]) + data(b"x") * 70_000,
        "empty messages": sent(*[b""] * 3000, end=False) * 16,
        "empty continuations": frame(1, 0, 3) + frame(9, 0, 3) * 1000,
        "settings with many entries": settings(*[(0x77, 1)] * 2700) * 190,
    }.items()
]

EIGHTY_CALLS = [
    step
    for first in range(1, 160, 4)
    for step in (whole(b"x", first, UNARY) + whole(b"x", first + 2, UNARY), Ended(first + 2))
]

CASES: list[Case] = [
    *PREFACES,
    *ERRORS,
    *SETTINGS_CASES,
    *OTHERS,
    *FLOODS,
    case(
        "RFC 9113 10.5",
        "one empty frame at the end is allowed",
        answer(grpc_status="0"),
        called() + sent(b"x", end=False) + data(end=True),
    ),
    case("RFC 9113 10.5", "eighty calls are served", answer(159, grpc_status="0"), *EIGHTY_CALLS),
]
