"""Cases of header fields, requests and their length: RFC 9113, section 8."""

from tests.outside.frames import END_HEADERS, PADDED, fields, message
from tests.outside.http2.case import PROTOCOL_ERROR, STREAM_CLOSED, Case, answer, case, connection_error, stream_error
from tests.outside.http2.parts import ECHO, block, called, data, opened, pairs, sent, trailers

OK = answer(grpc_status="0")
MALFORMED = stream_error(PROTOCOL_ERROR)
BODY = sent(b"x")
LENGTH = len(message(b"x"))


def with_field(name: bytes, value: bytes) -> bytes:
    """Return a call with one more field."""
    return called(ECHO, 1, (name, value)) + BODY


def without(name: str, value: bytes | None = None) -> list[tuple[bytes, bytes]]:
    """Return the headers of a call in which one pseudo-header field is absent or has another value."""
    method, scheme, path = (value if name == own else usual for own, usual in _USUAL.items())
    return pairs(path, method=method, scheme=scheme)


_USUAL = {"method": b"POST", "scheme": b"http", "path": ECHO}
NAMES = [
    *(
        case("RFC 9113 8.2.1", f"the name {name!r} is malformed", MALFORMED, with_field(name, b"v"))
        for name in (
            b"Upper",
            b"uppeR",
            b"with space",
            b" lead",
            b"tail ",
            b"tab\t",
            b"nul\0",
            b"line\n",
            b"del\x7f",
            b"\xc3\xa4",
            b"\xff",
            b"a:b",
            b"a:",
            b"",
            b"a(b",
            b"a,b",
            b'a"b',
            b"a/b",
            b"a@b",
        )
    ),
    *(
        case("RFC 9113 8.2.1", f"the name {name!r} is accepted", OK, with_field(name, b"v"))
        for name in (b"x-flyball", b"a_b.c", b"!#$%&'*+-.^_`|~09az", b"0")
    ),
]

VALUES = [
    *(
        case("RFC 9113 8.2.1", f"the value {value!r} is malformed", MALFORMED, with_field(b"x", value))
        for value in (
            b"a\0b",
            b"a\nb",
            b"a\rb",
            b"a\r\n b",
            b" a",
            b"a ",
            b"\ta",
            b"a\t",
            b" ",
            b"a\x01b",
            b"a\x1bb",
            b"a\x7fb",
        )
    ),
    *(
        case("RFC 9113 8.2.1", f"the value {value!r} is accepted", OK, with_field(b"x", value))
        for value in (b"", b"a", b"a b", b"a\tb", b"caf\xc3\xa9", b"\xff", b'"quoted"', b"a: b, c; d=e")
    ),
    case("RFC 9113 8.2.1", "a control character in :path", MALFORMED, opened(pairs(path=b"/t/echo\n")) + BODY),
    case("RFC 9113 8.2.1", "a null character in :method", MALFORMED, opened(pairs(method=b"PO\0ST")) + BODY),
]

CONNECTION_FIELDS = [
    *(
        case("RFC 9113 8.2.2", f"{name.decode()}: {value.decode()} is malformed", MALFORMED, with_field(name, value))
        for name, value in (
            (b"connection", b"keep-alive"),
            (b"connection", b"close"),
            (b"proxy-connection", b"keep-alive"),
            (b"keep-alive", b"timeout=5"),
            (b"transfer-encoding", b"chunked"),
            (b"upgrade", b"h2c"),
            (b"te", b"gzip"),
            (b"te", b"trailers, gzip"),
            (b"te", b""),
        )
    ),
    case("RFC 9113 8.2.2", "te: trailers is accepted", OK, with_field(b"te", b"trailers")),
    case(
        "RFC 9113 8.2.3",
        "cookies in several fields",
        OK,
        called(ECHO, 1, (b"cookie", b"a=b"), (b"cookie", b"c=d")) + BODY,
    ),
]

PSEUDO = [
    *(
        case(
            "RFC 9113 8.3",
            f"{name.decode()} after a regular field is malformed",
            MALFORMED,
            opened([*((n, v) for n, v in pairs() if n != name), (name, value)]) + BODY,
        )
        for name, value in (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", ECHO),
            (b":authority", b"collector"),
        )
    ),
    *(
        case(
            "RFC 9113 8.3",
            f"{name.decode()} twice is malformed",
            MALFORMED,
            opened([(name, value), (name, value), *(p for p in pairs() if p[0] != name)]) + BODY,
        )
        for name, value in ((b":method", b"POST"), (b":scheme", b"http"), (b":path", ECHO), (b":authority", b"a"))
    ),
    *(
        case(
            "RFC 9113 8.3",
            f"{name.decode()} is malformed in a request",
            MALFORMED,
            opened([(name, b"200"), *pairs()]) + BODY,
        )
        for name in (b":status", b":unknown", b":protocol", b":", b"::path", b":Method")
    ),
    case(
        "RFC 9113 8.3",
        "the order of pseudo-header fields is free",
        OK,
        opened([*reversed(pairs()[:3]), *pairs()[3:]]) + BODY,
    ),
    *(
        case("RFC 9113 8.3.1", f"a request without {name} is malformed", MALFORMED, opened(without(name)) + BODY)
        for name in ("method", "scheme", "path")
    ),
    *(
        case(
            "RFC 9113 8.3.1",
            f"a request with an empty {name} is malformed",
            MALFORMED,
            opened(without(name, b"")) + BODY,
        )
        for name in ("method", "scheme", "path")
    ),
    case("RFC 9113 8.3.1", "a path without a slash is malformed", MALFORMED, opened(pairs(path=b"t/echo")) + BODY),
    case("RFC 9113 8.3.1", "* is malformed as the path of POST", MALFORMED, opened(pairs(path=b"*")) + BODY),
    case(
        "RFC 9113 8.3.1",
        "OPTIONS * is valid",
        answer(status="405"),
        opened(pairs(path=b"*", method=b"OPTIONS"), end=True),
    ),
    case(
        "RFC 9113 8.3.1",
        "a host that differs from :authority is malformed",
        MALFORMED,
        opened([(b":authority", b"a"), *pairs(), (b"host", b"b")]) + BODY,
    ),
    case(
        "RFC 9113 8.3.1",
        "a host that equals :authority",
        OK,
        opened([(b":authority", b"A:1"), *pairs(), (b"host", b"a:1")]) + BODY,
    ),
    case("RFC 9113 8.3.1", "a host without :authority", OK, with_field(b"host", b"b")),
    case("RFC 9113 8.3.1", "an empty block is malformed", MALFORMED, block(b"")),
    case(
        "RFC 9113 8.5",
        "CONNECT is not served",
        answer(status="405"),
        opened([(b":method", b"CONNECT"), (b":authority", b"a:1")], end=True),
    ),
    case("RFC 9113 8.5", "CONNECT with a path is malformed", MALFORMED, opened(pairs(method=b"CONNECT"), end=True)),
    case(
        "RFC 9113 8.5",
        "CONNECT without :authority is malformed",
        MALFORMED,
        opened([(b":method", b"CONNECT")], end=True),
    ),
]

EXCHANGES = [
    *(
        case(
            "RFC 9113 8.1",
            f"{method.decode()} gets an answer",
            answer(status="405"),
            opened(pairs(method=method), end=True),
        )
        for method in (b"GET", b"HEAD", b"PUT", b"flyball")
    ),
    case(
        "RFC 9113 8.1",
        "a message with trailers",
        answer(content=message(b"x"), grpc_status="0"),
        called() + sent(b"x", end=False) + trailers([(b"x", b"y")]),
    ),
    case(
        "RFC 9113 8.1",
        "headers without the end after the first ones are malformed",
        MALFORMED,
        called() + trailers([(b"x", b"y")], end=False),
    ),
    case(
        "RFC 9113 8.1",
        "an empty block after the first one, without the end",
        MALFORMED,
        called() + block(b"", flags=END_HEADERS),
    ),
    case(
        "RFC 9113 8.1",
        "data after trailers",
        stream_error(STREAM_CLOSED),
        called(b"/t/hold") + trailers([(b"x", b"y")]) + sent(b"x"),
    ),
    *(
        case("RFC 9113 8.1", f"{name!r} in trailers is malformed", MALFORMED, called() + trailers([(name, value)]))
        for name, value in (
            (b":method", b"POST"),
            (b":status", b"200"),
            (b":x", b""),
            (b"Upper", b"x"),
            (b"x", b"a\nb"),
            (b"connection", b"close"),
        )
    ),
]


def declared(length: bytes, *frames: bytes) -> bytes:
    """Return a call with a content-length."""
    return called(ECHO, 1, (b"content-length", length)) + b"".join(frames)


FIRST, REST = data(message(b"x")[:2]), data(message(b"x")[2:], end=True)
LENGTHS = [
    case("RFC 9113 8.1.1", "content-length is right", OK, declared(b"%d" % LENGTH, BODY)),
    case("RFC 9113 8.1.1", "content-length is right for several frames", OK, declared(b"%d" % LENGTH, FIRST, REST)),
    case(
        "RFC 9113 8.1.1",
        "padding is not content",
        OK,
        declared(b"%d" % LENGTH, data(b"\x07" + message(b"x") + bytes(7), flags=PADDED, end=True)),
    ),
    case(
        "RFC 9113 8.1.1",
        "content-length is repeated",
        OK,
        called(ECHO, 1, *[(b"content-length", b"%d" % LENGTH)] * 2) + BODY,
    ),
    case(
        "RFC 9113 8.1.1", "content-length 0 without content", OK, called(ECHO, 1, (b"content-length", b"0"), end=True)
    ),
    case("RFC 9113 8.1.1", "content-length is greater", MALFORMED, declared(b"%d" % (LENGTH + 1), BODY)),
    case("RFC 9113 8.1.1", "content-length is less", MALFORMED, declared(b"%d" % (LENGTH - 1), BODY)),
    case("RFC 9113 8.1.1", "content-length is less than the sum", MALFORMED, declared(b"3", FIRST, REST)),
    case("RFC 9113 8.1.1", "content-length is greater than the sum", MALFORMED, declared(b"77", FIRST, REST)),
    case(
        "RFC 9113 8.1.1",
        "content-length without content",
        MALFORMED,
        called(ECHO, 1, (b"content-length", b"1"), end=True),
    ),
    case(
        "RFC 9113 8.1.1",
        "content-length with trailers instead of content",
        MALFORMED,
        declared(b"5", trailers([(b"x", b"y")])),
    ),
    *(
        case("RFC 9113 8.1.1", f"content-length {value!r} is malformed", MALFORMED, declared(value, BODY))
        for value in (b"-1", b"+6", b"6,6", b"x", b"", b"0x6", b"6" * 40)
    ),
    case(
        "RFC 9113 8.1.1",
        "two content-lengths differ",
        MALFORMED,
        called(ECHO, 1, (b"content-length", b"6"), (b"content-length", b"7")) + BODY,
    ),
]

CASES: list[Case] = [
    *NAMES,
    *VALUES,
    *CONNECTION_FIELDS,
    *PSEUDO,
    *EXCHANGES,
    *LENGTHS,
    case(
        "RFC 9113 8.1.1",
        "malformed headers on an even stream end the connection",
        connection_error(PROTOCOL_ERROR),
        block(fields(pairs(path=None)), 2),
    ),
]
