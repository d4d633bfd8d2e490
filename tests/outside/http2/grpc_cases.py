"""Cases of gRPC: doc/PROTOCOL-HTTP2.md, doc/compression.md and doc/statuscodes.md of grpc/grpc."""

import gzip
import zlib

from tests.outside.frames import HEADERS, message
from tests.outside.http2.case import Case, answer, case, frames
from tests.outside.http2.parts import DENIED, ECHO, UNARY, called, data, opened, pairs, sent

HTTP2, COMPRESSION, STATUS = "gRPC PROTOCOL-HTTP2", "gRPC compression", "gRPC statuscodes"
CHECK, WATCH = b"/grpc.health.v1.Health/Check", b"/grpc.health.v1.Health/Watch"
OK = answer(grpc_status="0")
INTERNAL = answer(grpc_status="13")
UNIMPLEMENTED = answer(grpc_status="12")
SERVING = message(b"\x08\x01")


def compressed(encoding: bytes, packed: bytes) -> bytes:
    """Return a call with a compressed message."""
    return called(ECHO, 1, (b"grpc-encoding", encoding)) + data(message(packed, compressed=True), end=True)


REQUESTS = [
    *(
        case(HTTP2, f"content-type {kind!r} is accepted", OK, opened(pairs(kind=kind)) + sent(b"x"))
        for kind in (
            b"application/grpc",
            b"application/grpc+proto",
            b"application/grpc+json",
            b"application/grpc;charset=utf-8",
        )
    ),
    *(
        case(HTTP2, f"content-type {kind!r} is not gRPC", answer(status="415"), opened(pairs(kind=kind)) + sent(b"x"))
        for kind in (None, b"", b"text/html", b"application/grpc-web", b"application/grpcx", b"application/json")
    ),
    case(
        HTTP2,
        "headers of a usual client",
        OK,
        called(
            ECHO,
            1,
            (b"te", b"trailers"),
            (b"user-agent", b"grpc-c/1"),
            (b"grpc-timeout", b"10S"),
            (b"grpc-accept-encoding", b"identity, gzip"),
            (b"x-bin", b"AAEC"),
        )
        + sent(b"x"),
    ),
    case(HTTP2, "an unknown method", UNIMPLEMENTED, called(b"/t/unknown") + sent(b"x")),
    case(HTTP2, "an unknown service", UNIMPLEMENTED, called(b"/") + sent(b"x")),
    case(
        HTTP2,
        "an answer begins with its headers",
        answer(status="200", content_type="application/grpc", grpc_status="0"),
        called() + sent(b"x"),
    ),
    case(
        HTTP2,
        "a status without messages is one block",
        frames(lambda s: len(s.of(HEADERS, 1)) == 1 and s.headers(1)[b"grpc-status"] == b"7", "one block", 1, HEADERS),
        called(DENIED, end=True),
    ),
    case(
        HTTP2,
        "the text of a status is encoded",
        answer(grpc_status="7", grpc_message="100 %25 no %E2%80%94 never"),
        called(DENIED, end=True),
    ),
]

MESSAGES = [
    case(HTTP2, "an empty message", answer(content=message(b""), grpc_status="0"), called() + sent(b"")),
    case(HTTP2, "no message", answer(content=b"", grpc_status="0"), called(end=True)),
    case(
        HTTP2,
        "several messages in a frame",
        answer(content=message(b"a") + message(b"") + message(b"c"), grpc_status="0"),
        called() + sent(b"a", b"", b"c"),
    ),
    case(
        HTTP2,
        "a message across frames",
        answer(content=message(b"abc"), grpc_status="0"),
        called() + data(message(b"abc")[:6]) + data(message(b"abc")[6:], end=True),
    ),
    case(
        HTTP2,
        "a prefix across frames",
        answer(content=message(b"abc"), grpc_status="0"),
        called() + data(message(b"abc")[:3]) + data(message(b"abc")[3:], end=True),
    ),
    case(HTTP2, "a message that is truncated", INTERNAL, called() + data(message(b"abc")[:-1], end=True)),
    case(HTTP2, "a prefix that is truncated", INTERNAL, called() + data(b"\0\0\0", end=True)),
    case(HTTP2, "an unknown flag of a message", INTERNAL, called() + data(b"\x02" + message(b"x")[1:], end=True)),
    case(HTTP2, "a message above the limit", answer(grpc_status="8"), called() + data(b"\0" + (100_001).to_bytes(4))),
]

COMPRESSIONS = [
    case(
        COMPRESSION,
        "a message with gzip",
        answer(content=message(b"hello"), grpc_status="0"),
        compressed(b"gzip", gzip.compress(b"hello")),
    ),
    case(
        COMPRESSION,
        "a message with deflate",
        answer(content=message(b"hello"), grpc_status="0"),
        compressed(b"deflate", zlib.compress(b"hello")),
    ),
    case(
        COMPRESSION,
        "a plain message although an encoding is given",
        answer(content=message(b"hello"), grpc_status="0"),
        called(ECHO, 1, (b"grpc-encoding", b"gzip")) + sent(b"hello"),
    ),
    case(
        COMPRESSION,
        "a compressed message without an encoding",
        INTERNAL,
        called() + data(message(gzip.compress(b"x"), compressed=True), end=True),
    ),
    case(COMPRESSION, "a compressed message with the encoding identity", INTERNAL, compressed(b"identity", b"x")),
    case(
        COMPRESSION,
        "an unknown encoding",
        answer(grpc_status="12", grpc_accept_encoding="identity,gzip,deflate"),
        called(ECHO, 1, (b"grpc-encoding", b"snappy"), end=True),
    ),
    case(COMPRESSION, "a message that cannot be decompressed", INTERNAL, compressed(b"gzip", b"rubbish")),
    case(
        COMPRESSION,
        "a compressed message that is truncated",
        INTERNAL,
        compressed(b"gzip", gzip.compress(b"hello")[:-9]),
    ),
    case(
        COMPRESSION,
        "a message above the limit after decompression",
        answer(grpc_status="8"),
        compressed(b"gzip", gzip.compress(bytes(100_001))),
    ),
    case(
        COMPRESSION,
        "messages above the limit together after decompression",
        answer(grpc_status="8"),
        called(ECHO, 1, (b"grpc-encoding", b"gzip"))
        + data(message(gzip.compress(bytes(60_000)), compressed=True) * 4, end=True),
    ),
]

UNARY_CALLS = [
    case(
        STATUS,
        "a unary call with one message",
        answer(content=message(b"x"), grpc_status="0"),
        called(UNARY) + sent(b"x"),
    ),
    case(STATUS, "a unary call without a message", UNIMPLEMENTED, called(UNARY, end=True)),
    case(STATUS, "a unary call that ends with an empty frame", UNIMPLEMENTED, called(UNARY) + data(end=True)),
    case(STATUS, "a unary call with two messages", UNIMPLEMENTED, called(UNARY) + sent(b"x", b"y")),
    case(
        STATUS,
        "a unary call with two messages in two frames",
        UNIMPLEMENTED,
        called(UNARY) + sent(b"x", end=False) + sent(b"y"),
    ),
    case(STATUS, "a health check", answer(content=SERVING, grpc_status="0"), called(CHECK) + sent(b"")),
    case(STATUS, "a health check without a message", UNIMPLEMENTED, called(CHECK, end=True)),
    case(STATUS, "a health check with two messages", UNIMPLEMENTED, called(CHECK) + sent(b"", b"")),
    case(STATUS, "a watch of health without a message", UNIMPLEMENTED, called(WATCH, end=True)),
    case(STATUS, "a health check of an unknown service", answer(grpc_status="5"), called(CHECK) + sent(b"\x0a\x01x")),
    case(STATUS, "a health check that cannot be parsed", answer(grpc_status="3"), called(CHECK) + sent(b"\xff")),
]

CASES: list[Case] = [*REQUESTS, *MESSAGES, *COMPRESSIONS, *UNARY_CALLS]
