"""One POST with a hard end: a receiver that drips bytes is cut off like one that is silent. Blocks."""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

_MAX_ANSWER_BYTES = 4096


class PostError(Exception):
    """Nothing was answered, or nothing could be sent; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    text: str  # its beginning, in one line


@dataclass(frozen=True, slots=True)
class Target:
    """Where to, and how to be known there. Files are read at each POST, so that they may be renewed."""

    url: str
    ca_file: str = ""
    authorization_file: str = ""
    time_limit_seconds: float = 10.0


def post(target: Target, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send; redirects are not followed, proxies of the environment not used."""
    parts = urlsplit(target.url)
    sent = {"Content-Type": "application/json", "User-Agent": "flyball-collector", "Connection": "close", **headers}
    if target.authorization_file:
        sent["Authorization"] = secret(target.authorization_file)
    connection = _connection(target, parts.hostname or "", parts.port)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    cut = _Cut(connection, target.time_limit_seconds)
    try:
        connection.request("POST", path, body, sent)
        with connection.getresponse() as response:
            text = response.read(_MAX_ANSWER_BYTES).decode(errors="replace")
        cut.check()  # cut off in its headers, an answer looks whole
        return Answer(response.status, one_line(text))
    except (OSError, http.client.HTTPException, ValueError) as error:
        what = one_line(str(error)) or type(error).__name__
        raise PostError(f"{place(target.url)}: {what}") from None
    finally:
        cut.cancel()
        connection.close()


def secret(path: str) -> str:
    """The first line of a file that holds a secret."""
    try:
        lines = Path(path).read_text(encoding="utf-8").strip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PostError(f"{path} cannot be read: {error}") from None
    if not lines or not lines[0].isprintable():
        raise PostError(f"{path} holds no secret in its first line")
    return lines[0]


def place(url: str) -> str:
    """Where it goes, without what may be secret in a path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def one_line(text: str) -> str:
    """Strange text, cut and without control characters."""
    return "".join(character if character.isprintable() else " " for character in text[:300]).strip()


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


class _Cut:
    """Ends a connection at its time."""

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
        """Raise when it was."""
        if self._was_cut:
            raise TimeoutError(f"no whole answer within {self._seconds:g} s")

    def _end(self) -> None:
        self._was_cut = True
        with contextlib.suppress(OSError, AttributeError):  # it is over already, or has not begun
            self._connection.sock.shutdown(socket.SHUT_RDWR)
