"""Attacks on the HTTP port."""

import socket
import time
from contextlib import ExitStack, suppress

from tests.outside.attack_parts import TRICKLE_SECONDS, hold
from tests.outside.notification_route import NOTIFICATION_ROUTE
from tests.outside.raw_client import Target


def half_requests(target: Target) -> None:
    """Hold 1,000 HTTP requests that never end."""
    hold(target, target.tcp, 1_000, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: ")


def half_bodies(target: Target) -> None:
    """Hold 600 HTTP requests whose bodies never come."""
    head = b"POST " + NOTIFICATION_ROUTE + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    hold(target, target.tcp, 600, head + b"Content-Length: 1000000\r\n\r\n{")


def large_headers(target: Target) -> None:
    """Send HTTP headers of a megabyte."""
    while target.goes_on():
        with suppress(OSError), target.tcp() as end:
            end.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Large: y\r\n" * 90_000)


def large_bodies(target: Target) -> None:
    """Send HTTP bodies in chunks that never end."""
    while target.goes_on():
        with suppress(OSError), target.tcp() as end:
            end.sendall(
                b"POST " + NOTIFICATION_ROUTE + b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for _ in range(64):
                end.sendall(b"10000\r\n" + b"[" * 65_536 + b"\r\n")


def expensive_pages(target: Target) -> None:
    """Ask for all metrics again and again, and leave the answers unread."""
    with ExitStack() as stack:
        while target.goes_on():
            with suppress(OSError):
                end = stack.enter_context(target.tcp())
                end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
                end.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
            time.sleep(TRICKLE_SECONDS)
