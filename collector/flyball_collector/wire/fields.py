"""Validity of the header fields of a request (RFC 9113, section 8): a request that violates it is malformed."""

import re
from collections.abc import Mapping, Sequence

from flyball_collector.wire.frames import ErrorCode, StreamFault
from flyball_collector.wire.hpack import Header

_valid_name = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+").fullmatch  # RFC 9110, section 5.1, in lower case
_valid_value = re.compile(rb"(?![ \t])[\t\x20-\x7e\x80-\xff]*(?<![ \t])").fullmatch  # section 5.5
_PSEUDO = frozenset({b":method", b":scheme", b":path", b":authority"})
_MANDATORY = (b":method", b":scheme", b":path")
_OF_CONNECTION = frozenset({b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"})


def check_request(headers: Sequence[Header]) -> dict[bytes, bytes]:
    """Return the fields of a request by name; of repeated ones the last. Raises `StreamFault`."""
    pseudo = _pseudo_fields(headers)
    _check_regular(headers[len(pseudo) :])
    _check_target(pseudo)
    fields = dict(headers)
    if fields.get(b"te", b"trailers").lower() != b"trailers":
        raise _malformed("te is not trailers")
    authority = pseudo.get(b":authority")
    if authority is not None and fields.get(b"host", authority).lower() != authority.lower():
        raise _malformed("host differs from :authority")
    return fields


def check_trailers(headers: Sequence[Header]) -> None:
    """Check the fields after the last message. Raises `StreamFault`."""
    _check_regular(headers)


def content_length(headers: Sequence[Header]) -> int | None:
    """Return the declared length of the content, or `None` if there is none. Raises `StreamFault`."""
    declared = {value for name, value in headers if name == b"content-length"}
    if not declared:
        return None
    (value, *others) = declared
    if others or not value.isdigit() or len(value) > 18:
        raise _malformed("content-length is not a number")
    return int(value)


def _pseudo_fields(headers: Sequence[Header]) -> Mapping[bytes, bytes]:
    """Return the pseudo-header fields, which come first (section 8.3)."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if not name.startswith(b":"):
            break
        if name not in _PSEUDO or name in found:
            raise _malformed(f"{name!r} is not a field of a request, or is repeated")
        if not _valid_value(value):
            raise _malformed(f"{name!r} has an invalid value")
        found[name] = value
    return found


def _check_regular(headers: Sequence[Header]) -> None:
    """Check names and values (sections 8.2.1 and 8.2.2); the name of a pseudo-header field is not valid here."""
    for name, value in headers:
        if not _valid_name(name):
            raise _malformed(f"{name!r} is not a valid name, or too late")
        if not _valid_value(value):
            raise _malformed(f"{name!r} has an invalid value")
        if name in _OF_CONNECTION:
            raise _malformed(f"{name!r} is not a field of HTTP/2")


def _check_target(pseudo: Mapping[bytes, bytes]) -> None:
    """Check that the mandatory fields are there (sections 8.3.1 and 8.5)."""
    if pseudo.get(b":method") == b"CONNECT":
        if pseudo.keys() != {b":method", b":authority"}:
            raise _malformed("CONNECT needs :authority, and neither :scheme nor :path")
        return
    for name in _MANDATORY:
        if not pseudo.get(name):
            raise _malformed(f"{name!r} is missing")
    path = pseudo[b":path"]
    if not path.startswith(b"/") and (pseudo[b":method"], path) != (b"OPTIONS", b"*"):
        raise _malformed(":path does not begin with /")


def _malformed(reason: str) -> StreamFault:
    return StreamFault(ErrorCode.PROTOCOL_ERROR, reason)
