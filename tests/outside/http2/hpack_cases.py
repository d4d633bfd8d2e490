"""Cases of header compression: RFC 7541, and section 4.3.1 of RFC 9113 for the size of the server's table."""

from tests.outside.frames import END_HEADERS, HEADER_TABLE_SIZE, HEADERS, field, fields, integer, settings, text
from tests.outside.http2.case import (
    COMPRESSION_ERROR,
    ENHANCE_YOUR_CALM,
    Case,
    Ended,
    Expected,
    answer,
    case,
    connection_error,
    frames,
)
from tests.outside.http2.parts import DENIED, UNARY, block, called, pairs, sent, whole

OK = answer(grpc_status="0")
BAD = connection_error(COMPRESSION_ERROR)
BLOCK = fields(pairs())
TYPE = (b"content-type", b"application/grpc")
NO_TYPE = fields(pairs(kind=None))
NEWEST = b"\xbe"  # index 62, the newest entry of the dynamic table


def request(payload: bytes, stream: int = 1) -> bytes:
    """Return a call with this block, and its message."""
    return block(payload, stream, END_HEADERS) + sent(b"x", stream=stream)


def size_update(size: int) -> bytes:
    """Return a dynamic table size update."""
    return integer(size, 5, 0x20)


def filling(size: int) -> bytes:
    """Return a field that takes so many bytes of the table (section 4.1)."""
    return field(b"f", bytes([0x61]) * (size - 33), indexed=True)


REPRESENTATIONS = [
    case("RFC 7541 6.1", "indexed fields of the static table", answer(status="405"), block(b"\x82\x86\x84")),
    case("RFC 7541 6.1", "index 0", BAD, block(BLOCK + b"\x80")),
    case(
        "RFC 7541 6.2.1",
        "a literal that is indexed, with an indexed name",
        OK,
        request(NO_TYPE + integer(31, 6, 0x40) + text(TYPE[1])),
    ),
    case(
        "RFC 7541 6.2.1",
        "a literal that is indexed, with a new name",
        OK,
        request(NO_TYPE + field(*TYPE, indexed=True)),
    ),
    case(
        "RFC 7541 6.2.2",
        "a literal that is not indexed, with an indexed name",
        OK,
        request(NO_TYPE + integer(31, 4, 0x00) + text(TYPE[1])),
    ),
    case(
        "RFC 7541 6.2.2",
        "a literal that is not indexed is not in the table",
        BAD,
        request(BLOCK + field(b"a", b"b") + NEWEST),
    ),
    case(
        "RFC 7541 6.2.3",
        "a literal that is never indexed, with an indexed name",
        OK,
        request(NO_TYPE + integer(31, 4, 0x10) + text(TYPE[1])),
    ),
    case(
        "RFC 7541 6.2.3",
        "a literal that is never indexed, with a new name",
        OK,
        request(NO_TYPE + b"\x10" + text(TYPE[0]) + text(TYPE[1])),
    ),
    case(
        "RFC 7541 6.2.3",
        "a literal that is never indexed is not in the table",
        BAD,
        request(BLOCK + b"\x10" + text(b"a") + text(b"b") + NEWEST),
    ),
    case("RFC 7541 2.3.3", "an index beyond both tables", BAD, block(BLOCK + NEWEST)),
    case("RFC 7541 2.3.3", "a very large index", BAD, block(BLOCK + integer(1 << 30, 7, 0x80))),
    case(
        "RFC 7541 2.3.3",
        "a literal whose name is beyond both tables",
        BAD,
        block(BLOCK + integer(62, 6, 0x40) + text(b"v")),
    ),
    case(
        "RFC 7541 2.3.3",
        "a literal that is never indexed, whose name is beyond both tables",
        BAD,
        block(BLOCK + integer(62, 4, 0x10) + text(b"v")),
    ),
]

TABLE = [
    case(
        "RFC 7541 2.3.2",
        "an entry is used by the next call",
        answer(3, grpc_status="0"),
        request(NO_TYPE + field(*TYPE, indexed=True)) + request(NO_TYPE + NEWEST, 3),
    ),
    case(
        "RFC 7541 2.3.2",
        "the newest entry has the lowest index",
        OK,
        request(NO_TYPE + field(b"a", b"b", indexed=True) + field(*TYPE, indexed=True) + NEWEST),
    ),
    case(
        "RFC 7541 2.3.2",
        "the name of an entry is used",
        OK,
        request(NO_TYPE + field(TYPE[0], b"application/grpc+x", indexed=True) + integer(62, 4, 0) + text(TYPE[1])),
    ),
    case("RFC 7541 2.3.2", "an entry twice", OK, request(BLOCK + field(b"a", b"b", indexed=True) * 2 + b"\xbe\xbf")),
    case(
        "RFC 7541 4.3",
        "entries of a malformed request remain",
        Expected("3 is served", lambda s: s.ended(3), lambda s: s.headers(3).get(b"grpc-status") == b"0"),
        block(NO_TYPE + field(b"UPPER", b"x") + field(*TYPE, indexed=True)) + request(NO_TYPE + NEWEST, 3),
    ),
    case("RFC 7541 4.1", "an entry of 4,096 bytes fits", OK, request(BLOCK + filling(4096) + NEWEST)),
    case(
        "RFC 7541 4.4",
        "an entry of 4,097 bytes empties the table",
        BAD,
        request(BLOCK + field(b"a", b"b", indexed=True) + filling(4097) + NEWEST),
    ),
    case("RFC 7541 4.4", "an entry of 4,097 bytes is allowed", OK, request(BLOCK + filling(4097))),
    case(
        "RFC 7541 4.4",
        "entries that fill the table exactly remain",
        OK,
        request(BLOCK + field(b"a", b"b", indexed=True) + filling(4096 - 34) + b"\xbf"),
    ),
    case(
        "RFC 7541 4.4",
        "one byte more evicts the oldest entry",
        BAD,
        request(BLOCK + field(b"a", b"b", indexed=True) + filling(4097 - 34) + b"\xbf"),
    ),
    case(
        "RFC 7541 4.4",
        "an entry may use the name of one that it evicts",
        OK,
        request(BLOCK + filling(4096) + integer(62, 6, 0x40) + text(b"v") + NEWEST),
    ),
]

UPDATES = [
    case("RFC 7541 6.3", "a size update to 0", OK, request(size_update(0) + BLOCK)),
    case("RFC 7541 6.3", "a size update to 4,096", OK, request(size_update(4096) + BLOCK)),
    case("RFC 7541 6.3", "a size update to 4,097", BAD, request(size_update(4097) + BLOCK)),
    case("RFC 7541 6.3", "a size update to 2^31", BAD, request(size_update(1 << 31) + BLOCK)),
    case("RFC 7541 4.2", "two size updates", OK, request(size_update(0) + size_update(4096) + BLOCK)),
    case("RFC 7541 4.2", "three size updates", BAD, request(size_update(0) * 3 + BLOCK)),
    case("RFC 7541 4.2", "a size update at the end", BAD, request(BLOCK + size_update(4096))),
    case("RFC 7541 4.2", "a size update between fields", BAD, request(BLOCK + size_update(100) + field(b"a", b"b"))),
    case(
        "RFC 7541 4.3",
        "a smaller size evicts entries",
        BAD,
        request(BLOCK + field(b"a", b"b", indexed=True)) + request(size_update(33) + BLOCK + NEWEST, 3),
    ),
    case(
        "RFC 7541 4.3",
        "a size that is just enough keeps an entry",
        answer(3, grpc_status="0"),
        request(BLOCK + field(b"a", b"b", indexed=True)) + request(size_update(34) + BLOCK + NEWEST, 3),
    ),
    case(
        "RFC 7541 4.3",
        "0 and 4,096 empty the table",
        BAD,
        request(BLOCK + field(b"a", b"b", indexed=True))
        + request(size_update(0) + size_update(4096) + BLOCK + NEWEST, 3),
    ),
    case(
        "RFC 7541 4.2",
        "a smaller size applies to later entries",
        BAD,
        request(size_update(33) + BLOCK + field(b"a", b"b", indexed=True) + NEWEST),
    ),
]

INTEGERS = [
    case(
        "RFC 7541 5.1",
        "an integer that ends with zeros",
        answer(status="405"),
        block(b"\x82\x86\x84" + b"\x1f\x00" + text(b"v")),
    ),
    case("RFC 7541 5.1", "an integer above 2^31", BAD, block(b"\xff\xff\xff\xff\xff\x7f")),
    case("RFC 7541 5.1", "an integer of many zero bytes", BAD, block(b"\xff\x80\x80\x80\x80\x80\x80\x00")),
    case("RFC 7541 5.1", "a truncated index", BAD, block(b"\xff")),
    case("RFC 7541 5.1", "a truncated index of two bytes", BAD, block(b"\xff\x80")),
    case("RFC 7541 5.1", "a truncated length", BAD, block(BLOCK + b"\x00\x7f")),
    case("RFC 7541 5.1", "a length of 2^32", BAD, block(b"\x00\x7f\x81\xff\xff\xff\x0f")),
]

EXAMPLE = bytes.fromhex("828684418cf1e3c2e5f23a6ba0ab90f4ff")  # appendix C.4.1
SEVEN_BITS = (0b00011_00011_00011_00011_00011 << 7 | 0x7F).to_bytes(4)  # five times "a", and padding
STRINGS = [
    case("RFC 7541 C.4", "a request with Huffman codes", answer(status="405"), block(EXAMPLE)),
    case(
        "RFC 7541 C.4",
        "three requests with Huffman codes",
        Expected(
            "three answers",
            lambda s: s.ended(5),
            lambda s: all(s.headers(n)[b":status"] == b"405" for n in (1, 3, 5)) and not s.faults,
        ),
        block(EXAMPLE)
        + block(bytes.fromhex("828684be5886a8eb10649cbf"), 3)
        + block(bytes.fromhex("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"), 5),
    ),
    case("RFC 7541 5.2", "a name that is truncated", BAD, block(BLOCK + b"\x00\x05abc")),
    case("RFC 7541 5.2", "a value that is missing", BAD, block(BLOCK + b"\x00" + text(b"a"))),
    case("RFC 7541 5.2", "a value that is truncated", BAD, block(BLOCK + b"\x00" + text(b"a") + b"\x03bc")),
    case("RFC 7541 5.2", "an empty Huffman string", OK, request(BLOCK + b"\x00" + text(b"a") + b"\x80")),
    case(
        "RFC 7541 5.2", "three bits of padding", OK, request(BLOCK + b"\x00" + text(b"a") + text(b"\x1f", huffman=True))
    ),
    case(
        "RFC 7541 5.2",
        "seven bits of padding",
        OK,
        request(BLOCK + b"\x00" + text(b"a") + text(SEVEN_BITS, huffman=True)),
    ),
    case(
        "RFC 7541 5.2",
        "eight bits of padding",
        BAD,
        block(BLOCK + b"\x00" + text(b"a") + text(b"\x1f\xff", huffman=True)),
    ),
    case(
        "RFC 7541 5.2",
        "a byte of padding alone",
        BAD,
        block(BLOCK + b"\x00" + text(b"a") + text(b"\xff", huffman=True)),
    ),
    case("RFC 7541 5.2", "padding with zeros", BAD, block(BLOCK + b"\x00" + text(b"a") + text(b"\x18", huffman=True))),
    case(
        "RFC 7541 5.2",
        "an end-of-string symbol",
        BAD,
        block(BLOCK + b"\x00" + text(b"a") + text(b"\xff\xff\xff\xff", huffman=True)),
    ),
    case(
        "RFC 7541 5.2",
        "an end-of-string symbol after a character",
        BAD,
        block(BLOCK + b"\x00" + text(b"a") + text(b"\x1f\xff\xff\xff\xff", huffman=True)),
    ),
    case(
        "RFC 7541 7.3",
        "a small block that expands",
        connection_error(ENHANCE_YOUR_CALM),
        block(BLOCK + filling(4000) + NEWEST * 100),
    ),
]

OWN_TABLE = [
    *(
        case(
            "RFC 9113 4.3.1",
            f"a table of {size} bytes is signalled in the next block",
            frames(lambda seen: seen.of(HEADERS)[0][3][:1] == b"\x20", "a size update", 1, HEADERS),
            settings((HEADER_TABLE_SIZE, size)) + whole(),
        )
        for size in (0, 1, 2048, 4095)
    ),
    *(
        case(
            "RFC 9113 4.3.1",
            f"a table of {size} bytes needs no signal",
            frames(lambda seen: seen.of(HEADERS)[0][3][0] & 0xE0 != 0x20, "no size update", 1, HEADERS),
            settings((HEADER_TABLE_SIZE, size)) + whole(),
        )
        for size in (4096, 8192)
    ),
    case(
        "RFC 9113 4.3.1",
        "a size is signalled once",
        Expected(
            "one size update",
            lambda seen: len(seen.of(HEADERS)) >= 4,
            lambda seen: (
                [block[:1] == b"\x20" for _, _, _, block in seen.of(HEADERS)[:4]] == [True, False, False, False]
            ),
        ),
        settings((HEADER_TABLE_SIZE, 0)) + whole(path=UNARY),
        Ended(1),
        whole(stream=3, path=UNARY),
    ),
    case(
        "RFC 7541 4.2",
        "the smallest of several sizes is signalled",
        frames(lambda seen: seen.of(HEADERS)[0][3][:1] == b"\x20", "a size update", 1, HEADERS),
        settings((HEADER_TABLE_SIZE, 0), (HEADER_TABLE_SIZE, 4096)) + settings((HEADER_TABLE_SIZE, 8192)) + whole(),
    ),
    case(
        "RFC 9113 4.3.1",
        "a size that changes during a call",
        Expected(
            "a size update in the second call",
            lambda seen: seen.ended(3),
            lambda seen: (
                [block[:1] == b"\x20" for _, _, stream, block in seen.of(HEADERS) if stream <= 3][:3]
                == [False, False, True]
            ),
        ),
        whole(path=UNARY),
        Ended(1),
        settings((HEADER_TABLE_SIZE, 100)) + whole(stream=3, path=UNARY),
    ),
    case(
        "RFC 9113 4.3.1",
        "an answer of one block signals the size",
        Expected("a size update", lambda s: s.ended(1), lambda s: s.of(HEADERS, 1)[0][3][:1] == b"\x20"),
        settings((HEADER_TABLE_SIZE, 0)) + called(DENIED, end=True),
    ),
]

CASES: list[Case] = [*REPRESENTATIONS, *TABLE, *UPDATES, *INTEGERS, *STRINGS, *OWN_TABLE]
