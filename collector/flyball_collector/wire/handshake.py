"""One TLS handshake in progress, and the reasons for which handshakes fail in words."""

import socket
import ssl
from contextlib import suppress

from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.client_certificate import read_names
from flyball_collector.wire.transport import READ_BYTES, TlsTransport

_REASONS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "no client certificate; set tls.certificate_file and tls.key_file",
    "HTTP_REQUEST": "not TLS but HTTP",
    "WRONG_VERSION_NUMBER": "not TLS; set tls.ca_file in the agent's settings",
    "HTTPS_PROXY_REQUEST": "not TLS but a request to a proxy",
    "UNSUPPORTED_PROTOCOL": "TLS older than 1.3",
    "NO_APPLICATION_PROTOCOL": "no HTTP/2: the client did not negotiate it (ALPN h2)",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust this collector's certificate; check tls.ca_file",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the client refuses this collector's certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the client refuses this collector's certificate: it has expired",
}
"""By OpenSSL's names of its errors. Others are reported as OpenSSL words them."""


class HandshakeFailed(Exception):
    """The connection ends. The reason is empty if there is nothing to report: nobody sent anything."""


class Handshake:
    """A handshake on a socket that does not block."""

    def __init__(self, connected: socket.socket, context: ssl.SSLContext, address: str, since: float) -> None:
        self.socket = connected
        self.fileno = connected.fileno()
        self.address = address
        self.since = since
        self._context = context
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None  # made when the first bytes come: connections without any cost little
        self._encrypted = bytearray()

    @property
    def began(self) -> bool:
        """Return True if the client has sent anything."""
        return self._tls is not None

    @property
    def sending(self) -> bool:
        """Return True while the kernel has not accepted everything."""
        return bool(self._encrypted)

    def proceed(self) -> tuple[TlsTransport, ConnectedClient] | None:
        """Do what the bytes that have arrived allow. Return the connection once it is secured.

        Raises `HandshakeFailed`. An alert that names the reason is sent then.
        """
        try:
            if not self._receive():
                return None
            return self._secured() if self._shake() else None
        except ssl.SSLError as error:
            raise HandshakeFailed(_reason(error)) from None
        except OSError as error:
            raise HandshakeFailed(f"the connection was lost: {error.strerror or error}" if self.began else "") from None
        finally:
            with suppress(OSError):
                self._send()

    def _receive(self) -> bool:
        """Return True if something is there to proceed with."""
        try:
            raw = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return False
        if not raw:
            raise HandshakeFailed("the client closed the connection during the TLS handshake" if self.began else "")
        self._incoming.write(raw)
        return True

    def _shake(self) -> bool:
        if self._tls is None:
            self._tls = self._context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def _secured(self) -> tuple[TlsTransport, ConnectedClient] | None:
        tls = self._tls
        if tls is None:
            return None
        if tls.selected_alpn_protocol() != "h2":
            raise HandshakeFailed(_REASONS["NO_APPLICATION_PROTOCOL"])
        names, refusal = read_names(tls.getpeercert(binary_form=True) or b"")
        self._send()
        transport = TlsTransport(self.socket, tls, self._incoming, self._outgoing, self._encrypted)
        return transport, ConnectedClient(self.address, names, refusal)

    def _send(self) -> None:
        if self._outgoing.pending:
            self._encrypted += self._outgoing.read()
        with suppress(BlockingIOError):
            while self._encrypted:
                del self._encrypted[: self.socket.send(self._encrypted)]


def _reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client certificate is not valid: {error.verify_message}"
    name = error.reason or ""
    return _REASONS.get(name) or f"the TLS handshake failed: {name.replace('_', ' ').lower() or error}"
