"""Checks a host's name, and that its certificate contains that name."""

import re

from flyball_collector.ingest.rejection import Rejection
from flyball_collector.wire.status import StatusCode

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")


def check_host(name: str) -> str:
    """Return the name if it is safe in metrics, paths and HTML. Raises `Rejection`."""
    if not _HOST.fullmatch(name):
        raise Rejection(
            StatusCode.INVALID_ARGUMENT,
            "host_name",
            f"host name {name[:80]!r}: expected 1 to 253 letters, digits, '.', '_' or '-', "
            "beginning and ending with a letter or digit; set `host` in the agent's settings",
        )
    return name


def check_certificate(host: str, names: frozenset[str]) -> None:
    """Raise `Rejection` unless the certificate names this host."""
    if host not in names:
        allowed = ", ".join(sorted(names)) or "no host"
        raise Rejection(
            StatusCode.PERMISSION_DENIED,
            "certificate",
            f"host {host!r} presented a certificate for {allowed}; "
            f"issue the right one with `flyball certs issue {host}`",
        )
