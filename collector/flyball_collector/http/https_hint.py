"""Answers plain HTTP that reaches the TLS port with a hint: use https://."""

import re
import ssl
from typing import Any

_NOT_TLS = frozenset({"HTTP_REQUEST", "WRONG_VERSION_NUMBER"})
"""OpenSSL's reasons for a first record that is not TLS: the first for GET, HEAD, POST and PUT, the second otherwise."""
_HOST = re.compile(rb"\r\nHost:[ \t]*([A-Za-z0-9.:\[\]_-]{1,255})[ \t]*\r\n", re.IGNORECASE)


class HttpsHintContext(ssl.SSLContext):
    """A server's TLS context that answers plain HTTP with status 400 instead of closing the connection."""

    sslobject_class: type[ssl.SSLObject]

    def __new__(cls) -> "HttpsHintContext":
        """Create a context for a server."""
        context = super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)
        context.sslobject_class = _HintingObject
        return context

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **named: Any) -> ssl.SSLObject:
        """Return the TLS state of a new connection, with access to the bytes below it."""
        connection = super().wrap_bio(incoming, outgoing, *args, **named)
        assert isinstance(connection, _HintingObject)  # noqa: S101  sslobject_class
        connection.incoming, connection.outgoing = incoming, outgoing
        return connection


class _HintingObject(ssl.SSLObject):
    """The TLS state of one connection."""

    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO
    answered = False

    def do_handshake(self) -> None:
        """Continue the handshake; if the other side speaks plain HTTP, send it an answer and wait until it closes."""
        if self.answered:
            raise ssl.SSLError("plain HTTP on a TLS port")
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if error.reason not in _NOT_TLS:
                raise
            self.answered = True
            self.outgoing.write(https_hint(self.incoming.read()))
            raise ssl.SSLWantReadError from None  # asyncio then sends what is outgoing


def https_hint(request: bytes) -> bytes:
    """Return the answer to a plain HTTP request. OpenSSL has taken the first bytes of the request already."""
    host = _HOST.search(request)
    place = f"https://{host[1].decode()}" if host else "https:// with the same address"
    body = f"this port speaks TLS: use {place}\n".encode()
    head = (
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
