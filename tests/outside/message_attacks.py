"""Attacks by a host that is welcomed, then sends valid messages in excess."""

import hashlib
from collections.abc import Callable
from itertools import count

from flyball_proto import PROTOCOL_VERSION
from tests.outside.attack_parts import ADJUST, CONNECT
from tests.outside.frames import DATA, call, frame, message
from tests.outside.raw_client import ATTACKER, Client, Target, Windows

_EPOCH = bytes(16)
_FRAME_BYTES = 16_000


def hello_flood(target: Target) -> None:
    """Greet again and again on one stream; the collector asks its store each time."""
    _flood(target, lambda _: HELLO)


def inventory_flood(target: Target) -> None:
    """Report an inventory of 200 KB, different each time."""
    _flood(target, lambda number: part(2, part(1, b"%d" % number) + part(2, bytes(200_000))))


def definition_flood(target: Target) -> None:
    """Define one layout of 2,000 columns after the other."""

    def definition(number: int) -> bytes:
        metric = (
            part(1, b"metric_%d_total" % number) + b"\x10\x01" + part(3, b"bytes") + part(5, b"label") + b"\x30\x02"
        )
        body = part(1, metric) + b"".join(part(2, part(2, b"%d" % n)) for n in range(2_000))
        return part(3, b"\x08\x01\x11" + hashlib.sha256(body).digest()[:8] + part(3, body))

    _flood(target, definition)


def record_flood(target: Target) -> None:
    """Send live records of no layout as fast as possible."""
    records = b"".join(part(2, b"\x08" + bytes([n % 128]) + b"\x21" + bytes(8)) for n in range(500))
    _flood(target, lambda _: part(4, part(1, _EPOCH) + records))


def adjustment_flood(target: Target) -> None:
    """Declare 40,000 adjustable values in each message, on the stream for adjustments."""
    body = part(2, part(1, b"run") + part(12, b"") * 40_000)
    _flood(target, lambda _: body, ADJUST, ADJUST_HELLO)


def reconnect_flood(target: Target) -> None:
    """Connect, greet, and disconnect; each stream replaces the one before."""
    while target.goes_on():
        with target.client() as client:
            client.send(call(1, CONNECT) + _data(HELLO))
            client.wait()


def _flood(target: Target, body: Callable[[int], bytes], path: bytes = CONNECT, hello: bytes = b"") -> None:
    windows = Windows()
    with target.client(windows=windows) as client:
        client.send(call(1, path))
        _send(client, windows, hello or HELLO)
        for number in count():
            if not target.goes_on():
                return
            _send(client, windows, body(number))


def _send(client: Client, windows: Windows, body: bytes) -> None:
    """Send a message within the window; wait for more room if it is used up."""
    data = message(body)
    while data:
        size = windows.take(1, min(len(data), _FRAME_BYTES))
        if size:
            client.send(frame(DATA, 0, 1, data[:size]))
            data = data[size:]
        else:
            client.wait()


def _data(body: bytes) -> bytes:
    return frame(DATA, 0, 1, message(body))


def part(number: int, body: bytes) -> bytes:
    """Return a field of a protobuf message: bytes, text or another message."""
    size, length = len(body), bytearray()
    while size > 127:
        length.append(size % 128 + 128)
        size //= 128
    return bytes([number << 3 | 2, *length, size]) + body


_SPOOLED = part(1, part(1, _EPOCH) + b"\x20\xe8\x07")  # an epoch with an interval of 1,000 ms
HELLO = part(1, part(1, ATTACKER.encode()) + part(2, b"1") + b"\x18" + bytes([PROTOCOL_VERSION]) + part(4, _SPOOLED))
ADJUST_HELLO = part(1, part(1, ATTACKER.encode()))
