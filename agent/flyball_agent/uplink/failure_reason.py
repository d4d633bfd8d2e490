"""Replaces gRPC's messages about TLS, which name functions of the library instead of the file that is wrong."""

_COLLECTOR_REFUSED = (
    "the collector refuses this host's certificate; check tls.certificate_file and tls.key_file. "
    "The collector's log has the reason (agent_refused)"
)
_OTHER_AUTHORITY = "the collector's certificate is not signed by the authority in tls.ca_file, or has expired"
_OTHER_NAME = (
    "the collector's certificate is for another name; use a name of the certificate in the setting collector, "
    "or issue the certificate with `--san NAME`"
)
_NOT_TLS = "the collector does not use TLS on this port, but tls.ca_file is set"
_MESSAGES = (
    ("TSI_DATA_CORRUPTED", _COLLECTOR_REFUSED),  # an alert after the client's part of the handshake (TLS 1.3)
    ("CERTIFICATE_VERIFY_FAILED", _OTHER_AUTHORITY),
    ("Hostname Verification Check failed", _OTHER_NAME),
    ("WRONG_VERSION_NUMBER", _NOT_TLS),
)
_DETAIL_CHARACTERS = 200


def failure_reason(code: str, details: str) -> str:
    """Return why a stream failed, from its status."""
    for part, message in _MESSAGES:
        if part in details:
            return f"{code}: {message}"
    return f"{code}: {details}"[:_DETAIL_CHARACTERS]
