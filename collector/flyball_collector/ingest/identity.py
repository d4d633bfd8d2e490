"""Who is at the other end of a stream: the name a host gives itself, and the names its certificate allows."""

import re
from collections.abc import Iterable, Mapping

from grpc import StatusCode

from flyball_collector.ingest.rejection import Rejection

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_SAN_KEY = "x509_subject_alternative_name"


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


def certificate_names(auth_context: Mapping[str, Iterable[bytes]]) -> frozenset[str]:
    """The names that a verified client certificate stands for."""
    return frozenset(name.decode("utf-8", "replace") for name in auth_context.get(_SAN_KEY, ()))


def check_certificate(host: str, names: frozenset[str]) -> None:
    """The certificate must name this very host."""
    if host not in names:
        allowed = ", ".join(sorted(names)) or "no host"
        raise Rejection(
            StatusCode.PERMISSION_DENIED,
            "certificate",
            f"host {host!r} came with a certificate for {allowed}; issue one with `flyball certs issue {host}`",
        )
