"""Who is at the other end of a stream: the name a host gives itself, and the names its certificate allows."""

import re

from flyball_collector.ingest.rejection import Rejection
from flyball_collector.wire.status import StatusCode

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")


def check_host(name: str) -> str:
    """A host name that is safe in metrics, paths and HTML."""
    if not _HOST.fullmatch(name):
        raise Rejection(
            StatusCode.INVALID_ARGUMENT,
            "host_name",
            f"host name {name[:80]!r}: expected 1 to 253 letters, digits, '.', '_' or '-', "
            "beginning and ending with a letter or digit; set `host` in the agent's settings",
        )
    return name


def check_certificate(host: str, names: frozenset[str]) -> None:
    """The certificate must name this very host."""
    if host not in names:
        allowed = ", ".join(sorted(names)) or "no host"
        raise Rejection(
            StatusCode.PERMISSION_DENIED,
            "certificate",
            f"host {host!r} came with a certificate for {allowed}; issue one with `flyball certs issue {host}`",
        )
