"""Answers plain HTTP that reaches the TLS port with a hint: use https://."""

import re
import ssl
from typing import Any

_PLAIN_TEXT = frozenset({"HTTP_REQUEST", "WRONG_VERSION_NUMBER"})
"""OpenSSL's reasons for a first record that is not TLS: it knows GET, HEAD, POST and PUT by name, other methods not."""
_HOST = re.compile(rb"\r\nHost:[ \t]*([A-Za-z0-9.:\[\]_-]{1,255})[ \t]*\r\n", re.IGNORECASE)
_PLACE = b"https://%s"
_UNKNOWN = b"https:// in front of the same address"


class HttpsHintContext(ssl.SSLContext):
    """A TLS context that answers plain HTTP with status 400 instead of closing the connection."""

    def __init__(self, protocol: int) -> None:
        super().__init__()
        del protocol  # ssl.SSLContext takes it in __new__
        self.sslobject_class = _HintingObject

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **named: Any) -> ssl.SSLObject:
        """Return the TLS state of a new connection, which knows where plain text can be written."""
        connection = super().wrap_bio(incoming, outgoing, *args, **named)
        if isinstance(connection, _HintingObject):
            connection.incoming, connection.outgoing = incoming, outgoing
        return connection


class _HintingObject(ssl.SSLObject):
    """The TLS state of one connection."""

    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO
    answered = False

    def do_handshake(self) -> None:
        """Do the handshake. The answer to plain HTTP is sent as the handshake's next message; the client then closes."""
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if self.answered or error.reason not in _PLAIN_TEXT:
                raise
            self.answered = True
            self.outgoing.write(https_hint(self.incoming.read()))
            raise ssl.SSLWantReadError from None


def https_hint(request: bytes) -> bytes:
    """Return the whole answer to a plain HTTP request, which may lack its first bytes."""
    host = _HOST.search(request)
    body = b"this port speaks TLS: use " + (_PLACE % host[1] if host else _UNKNOWN) + b"\n"
    head = (
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
