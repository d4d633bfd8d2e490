"""Reads the header Host and absolute request targets strictly: HOST[:PORT], nothing else (RFC 9110 §7.2, RFC 3986)."""

import ipaddress
import re
from dataclasses import dataclass

_AUTHORITY = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._~-]{1,255})(?::(?P<port>[0-9]{0,5}))?")
"""RFC 3986 also allows percent-encoding and other characters in names; no name of a machine needs them."""
_ABSOLUTE = re.compile(r"https?://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?", re.IGNORECASE)
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class HostHeader:
    """The host that a request names, in lower case and without brackets, and its port if there is one."""

    name: str
    port: int | None = None


def parse_host(text: str) -> HostHeader | None:
    """Return the host and port of an authority without user information; None if it is invalid or empty."""
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    name, digits = found["name"].lower(), found["port"]
    if name.startswith("["):
        name = name[1:-1]
        if not _is_ipv6(name):
            return None
    port = int(digits) if digits else None
    return HostHeader(name, port) if port is None or port <= _MAX_PORT else None


def split_absolute(target: str) -> tuple[str, str] | None:
    """Return authority and path of a target such as http://host/path (RFC 9112 §3.2.2); None if it has another form."""
    found = _ABSOLUTE.fullmatch(target)
    return (found["authority"], found["path"] or "/") if found else None


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
