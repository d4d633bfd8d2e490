"""Sends one POST request with a hard time limit, also against receivers that respond byte by byte. Blocks."""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from flyball_collector.foreign_text import one_line

_MAX_ANSWER_BYTES = 4096
_LONGEST_LINE = 300


class PostError(Exception):
    """The request failed. The message names the address and the fault."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of a receiver."""

    status: int
    text: str  # the beginning, in one line


@dataclass(frozen=True, slots=True)
class Target:
    """The address of a receiver, and its credentials. Files are read for each request, so that they may be renewed."""

    url: str
    ca_file: str = ""
    authorization_file: str = ""
    time_limit_seconds: float = 10.0


def post(target: Target, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send a request. Redirects are not followed, and proxies of the environment are not used."""
    parts = urlsplit(target.url)
    sent = {"Content-Type": "application/json", "User-Agent": "flyball-collector", "Connection": "close", **headers}
    if target.authorization_file:
        sent["Authorization"] = secret(target.authorization_file)
    connection = _connection(target, parts.hostname or "", parts.port)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    limit = _TimeLimit(connection, target.time_limit_seconds)
    try:
        connection.request("POST", path, body, sent)
        with connection.getresponse() as response:
            text = response.read(_MAX_ANSWER_BYTES).decode(errors="replace")
        limit.check()  # a response cut off in its headers looks complete
        return Answer(response.status, one_line(text, _LONGEST_LINE))
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = one_line(str(error), _LONGEST_LINE) or type(error).__name__
        raise PostError(f"{origin(target.url)}: {reason}") from None
    finally:
        limit.cancel()
        connection.close()


def secret(path: str) -> str:
    """Return the first line of a file that contains a secret."""
    try:
        lines = Path(path).read_text(encoding="utf-8").strip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PostError(f"cannot read {path}: {error}") from None
    if not lines or not lines[0].isprintable():
        raise PostError(f"{path}: the first line must be a secret")
    return lines[0]


def origin(url: str) -> str:
    """Return the address without user and path, which may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _connection(target: Target, host: str, port: int | None) -> http.client.HTTPConnection:
    limit = target.time_limit_seconds
    if urlsplit(target.url).scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=limit)
    try:
        context = ssl.create_default_context(cafile=target.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise PostError(f"{target.ca_file}: {error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return http.client.HTTPSConnection(host, port, timeout=limit, context=context)


class _TimeLimit:
    """Closes a connection when its time is over."""

    def __init__(self, connection: http.client.HTTPConnection, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self._was_cut = False
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        self._timer.cancel()

    def check(self) -> None:
        """Raise `TimeoutError` if the connection was closed."""
        if self._was_cut:
            raise TimeoutError(f"no complete response within {self._seconds:g} s")

    def _end(self) -> None:
        self._was_cut = True
        with contextlib.suppress(OSError, AttributeError):  # it has ended already, or has not begun
            self._connection.sock.shutdown(socket.SHUT_RDWR)
