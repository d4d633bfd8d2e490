"""Attacks that hold connections, handshakes, calls or memory of the agents' port."""

import struct
import time
from contextlib import ExitStack, suppress

from tests.outside.attack_parts import CALLS, CHECK, CONNECT, TRICKLE_SECONDS, WATCH, hold
from tests.outside.frames import DATA, END_STREAM, PING, PREFACE, call, frame, message, settings
from tests.outside.raw_client import Client, Target, Windows


def stuck_reader(target: Target) -> None:
    """Ask for answers and leave them unread."""
    with target.client() as client:
        while target.goes_on():
            if not client.send_only(frame(PING, 0, 0, b"flyball!") * 250):
                time.sleep(TRICKLE_SECONDS)


def slow_drip(target: Target) -> None:
    """Send one byte of a valid call now and then, on 100 connections."""
    data = PREFACE + settings() + call(1, CHECK) + frame(DATA, END_STREAM, 1, message(b""))
    with ExitStack() as stack:
        clients = [stack.enter_context(target.client(greeted=False)) for _ in range(100)]
        for byte in data * 100:
            for client in clients:
                with suppress(OSError):
                    client.send_only(bytes([byte]))
            time.sleep(TRICKLE_SECONDS)
            if not target.goes_on():
                return


def slow_handshakes(target: Target) -> None:
    """Begin 200 TLS handshakes, a byte at a time."""
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(501)
    with ExitStack() as stack:
        ends = [stack.enter_context(target.tcp()) for _ in range(200)]
        for byte in hello:
            for end in ends:
                with suppress(OSError):
                    end.send(bytes([byte]))
            time.sleep(0.05)
            if not target.goes_on():
                return


def failing_handshakes(target: Target) -> None:
    """Send garbage instead of TLS on one connection after the other."""
    while target.goes_on():
        with suppress(OSError), target.tcp() as end:
            end.sendall(b"\x16\x03\x01\x00\x05garbage" * 20)
            end.settimeout(0.2)
            end.recv(1000)


def half_open(target: Target) -> None:
    """Open connections that never send anything, up to 1,500: more than the collector has room for."""
    hold(target, target.tcp, 1_500, b"")


def handshakes_without_http2(target: Target) -> None:
    """Complete the TLS handshake on 50 connections, then send nothing."""
    hold(target, target.tls, 50, b"")


def streams_without_hello(target: Target) -> None:
    """Hold every call that ten connections of one certificate may open, without a hello."""
    calls = b"".join(call(n, CONNECT) for n in range(1, 400, 2))
    hold(target, target.tls, 10, PREFACE + settings() + calls)


def endless_health_checks(target: Target) -> None:
    """Send health checks of 4 MB that are never complete, on ten connections."""
    _send_incomplete(target, CHECK)


def endless_hellos(target: Target) -> None:
    """Send first messages of 4 MB that are never complete, on ten connections."""
    _send_incomplete(target, CONNECT)


def _send_incomplete(target: Target, path: bytes) -> None:
    """Fill as many incomplete messages as the windows allow, until a byte is missing in each."""
    size = 4_194_000
    head = struct.pack("!BL", 0, size + 1)
    with ExitStack() as stack:
        senders: list[tuple[Client, Windows, dict[int, int]]] = []
        for _ in range(10):
            windows = Windows()
            with suppress(OSError):  # not every connection may be accepted
                client = stack.enter_context(target.client(windows=windows))
                client.send(b"".join(call(n, path) + frame(DATA, 0, n, head) for n in CALLS))
                for stream in CALLS:
                    windows.take(stream, len(head))
                senders.append((client, windows, dict.fromkeys(CALLS, size)))
        while senders and target.goes_on():
            senders = [sender for sender in senders if _sends_more(*sender)]
            time.sleep(TRICKLE_SECONDS / 10)


def _sends_more(client: Client, windows: Windows, missing: dict[int, int]) -> bool:
    """Send a part of each message. Return False if the server has closed the connection."""
    try:
        client.read()
        for stream, size in missing.items():
            part = windows.take(stream, min(16_000, size))
            missing[stream] -= part
            if part:
                client.send(frame(DATA, 0, stream, bytes(part)))
    except OSError:
        return False
    return True


def many_watches(target: Target) -> None:
    """Open as many health watches as 40 connections allow, and hold them."""
    calls = b"".join(call(n, WATCH) + frame(DATA, END_STREAM, n, message(b"")) for n in range(1, 200, 2))
    hold(target, target.tls, 40, PREFACE + settings() + calls)
