"""TLS of the agents' door; certificates are read again when their files change, without a restart."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import structlog

from flyball_collector.security.pem import CertificateError, belong_together, load_certificate, load_key

_log = structlog.get_logger(__name__)

Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """A certificate, its private key, and the authority that the other side must come from."""

    certificate: Path
    key: Path
    ca: Path | None = None

    def check(self) -> None:
        """Raise `CertificateError` unless the files can be used together."""
        if not belong_together(load_certificate(self.certificate), load_key(self.key)):
            raise CertificateError(f"{self.key} is not the private key of {self.certificate}")
        if self.ca is not None:
            load_certificate(self.ca)

    def stamp(self) -> Stamp:
        """Changes when a file does."""
        stats = (file.stat() for file in (self.certificate, self.key, self.ca) if file is not None)
        return tuple((stat.st_mtime_ns, stat.st_ino, stat.st_size) for stat in stats)


class Watched:
    """Tells when the files have changed *and* are good; bad ones leave the last good ones in force."""

    def __init__(self, files: TlsFiles) -> None:
        files.check()
        self.files = files
        self._stamp: Stamp | None = files.stamp()
        self._lock = Lock()

    def changed(self) -> bool:
        """True once for each good change."""
        with self._lock:
            try:
                stamp = self.files.stamp()
                if stamp == self._stamp:
                    return False
                self.files.check()
            except (OSError, CertificateError) as error:
                _log.warning("certificate_not_reloaded", file=str(self.files.certificate), reason=str(error))
                return False
            self._stamp = stamp
            _log.info("certificate_reloaded", file=str(self.files.certificate))
            return True


class ServerContexts:
    """TLS that demands a certificate of our authority from every agent; called for each connection."""

    def __init__(self, files: TlsFiles) -> None:
        self._watched = Watched(files)
        self._context = _context(files)

    def __call__(self) -> ssl.SSLContext:
        """What the files say now, or said when they were last good."""
        if self._watched.changed():
            try:
                self._context = _context(self._watched.files)
            except CertificateError as error:
                _log.warning("certificate_not_taken", reason=str(error))
        return self._context


def _context(files: TlsFiles) -> ssl.SSLContext:
    if files.ca is None:
        raise CertificateError("grpc.ca_file is not set: agents could not be told apart")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # TLS 1.2 at least
    try:
        context.load_cert_chain(files.certificate, files.key)
        context.load_verify_locations(files.ca)
    except OSError as error:  # ssl.SSLError is one, too
        raise CertificateError(f"{files.certificate}, {files.key}, {files.ca}: {error}") from None
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the authority may itself be signed by another
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET  # each connection shows its certificate anew
    context.num_tickets = 0
    context.set_alpn_protocols(["h2"])
    return context
