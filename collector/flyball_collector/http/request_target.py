"""Refuses requests with an invalid Host header, and serves absolute targets like paths."""

from typing import Any
from urllib.parse import unquote

import msgspec
from litestar.types import ASGIApp, Receive, Scope, Send

from flyball_collector.http.errors import Fault, FaultAnswer
from flyball_collector.http.host_header import parse_host, split_absolute

_WHAT = "the Host header is not HOST or HOST:PORT"
_HINT = "send one Host header with the name and the port of this server, without user information"


def checked_target(application: ASGIApp) -> ASGIApp:
    """Return the application behind a check of the Host header and of absolute targets.

    An absolute target replaces the Host header (RFC 9112 §3.2.2). A request of HTTP/1.0 may have no Host header.
    """

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        if not _accept(scope):
            await refuse(send, 400, Fault("bad_host", _WHAT, _HINT))
        else:
            await application(scope, receive, send)

    return check


async def refuse(send: Send, status: int, fault: Fault, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Answer with an error as the application does, and close the connection."""
    body = msgspec.json.encode(FaultAnswer(fault))
    kind = (b"content-type", b"application/json")
    length = (b"content-length", str(len(body)).encode())
    start: Any = {
        "type": "http.response.start",
        "status": status,
        "headers": [kind, length, (b"connection", b"close"), *headers],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _accept(scope: Any) -> bool:
    """Return False if the request names no valid host. Rewrites an absolute target in place."""
    named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    if len(named) > 1 or (named and named[0] and parse_host(named[0]) is None):
        return False
    target = scope["raw_path"].decode("latin-1")
    absolute = None if target.startswith("/") else split_absolute(target)
    if absolute is None:
        return True  # a path, or another form such as `*`, which no route serves
    authority, path = absolute
    if parse_host(authority) is None:
        return False
    scope["path"], scope["raw_path"] = unquote(path), path.encode("latin-1")
    scope["headers"] = [each for each in scope["headers"] if each[0] != b"host"] + [(b"host", authority.encode())]
    return True
