"""Measure how long it takes to decode headers, which a client can make expensive with few bytes."""

import time
from collections.abc import Callable

from flyball_collector.wire import frames
from flyball_collector.wire.connection import Connection
from flyball_collector.wire.events import Limits
from flyball_collector.wire.hpack import Decoder, encode
from flyball_collector.wire.hpack_tables import CODE_BITS
from flyball_collector.wire.messages import framed
from tests.benchmarks.figure import Figure, at_most, plain, report

ROUNDS = 40
HEADER_BYTES = 16 * 1024
_TEXT = b"/flyball.v1.Telemetry/Connect?abcdefghijklmnop=0123456789&Q;" * 217
_CALL = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/t/m"),
    (b"te", b"trailers"),
    (b"content-type", b"application/grpc"),
]


def main() -> None:
    """Measure and report."""
    report([*_decoding(), *_receiving()])


def _decoding() -> list[Figure]:
    coded, few = _block(_huffman(_TEXT)), _block(_huffman(b"grpc-python/1.80 grpc-c/53.0 (linux; chttp2)"))
    micros = _lowest(lambda: Decoder(HEADER_BYTES).decode(coded))
    note = f"{len(_TEXT):,} characters; the lowest of {ROUNDS}"
    return [
        at_most(f"decode {len(coded):,} bytes of Huffman-coded headers", micros / 1000, 0.55, "ms", note),
        plain("decode one usual header", _lowest(lambda: Decoder(HEADER_BYTES).decode(few)), "µs"),
    ]


def _receiving() -> list[Figure]:
    """Messages as agents send them, one frame each, in a connection without I/O."""
    connection = Connection(Limits(message_bytes=1 << 22))
    opening = frames.frame(frames.HEADERS, frames.END_HEADERS, 1, encode(_CALL))
    connection.receive(frames.PREFACE + frames.settings({}) + opening)
    message = frames.frame(frames.DATA, 0, 1, framed(bytes(1500)))

    def hundred() -> None:
        for _ in range(100):
            connection.receive(message)
            connection.consumed(1, 1500)
        connection.outgoing.clear()

    return [plain("receive a message of 1.5 KB, without I/O", _lowest(hundred) / 100, "µs")]


def _lowest(action: Callable[[], object]) -> float:
    """Return the shortest CPU time in microseconds."""
    times = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        action()
        times.append(time.thread_time() - started)
    return min(times) * 1e6


def _block(coded: bytes) -> bytes:
    """Return a block with one header: a name of one letter, and this Huffman-coded value."""
    size = len(coded)
    length = bytes((0x80 | size,)) if size < 127 else bytes((0xFF, (size - 127) & 0x7F | 0x80, (size - 127) >> 7))
    return b"\x00\x01x" + length + coded


def _huffman(text: bytes) -> bytes:
    """Encode text: codes of one length are consecutive, in the order of bytes (RFC 7541, section 5.2)."""
    codes, code, before = {}, 0, 0
    for bits, symbol in sorted((bits, symbol) for symbol, bits in enumerate(CODE_BITS)):
        code <<= bits - before
        codes[symbol], before = f"{code:0{bits}b}", bits
        code += 1
    digits = "".join(codes[byte] for byte in text)
    digits += "1" * (-len(digits) % 8)
    return int(digits, 2).to_bytes(len(digits) // 8)


if __name__ == "__main__":
    main()
