"""TLS of the agents' port. Certificates are read again when their files change."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import structlog

from flyball_collector.security.pem import CertificateError, is_key_of, load_certificate, load_key

_log = structlog.get_logger(__name__)

Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """A certificate, its private key, and the authority of the other side's certificate."""

    certificate: Path
    key: Path
    ca: Path | None = None

    def check(self) -> None:
        """Raise `CertificateError` unless the files can be used together."""
        if not is_key_of(load_certificate(self.certificate), load_key(self.key)):
            raise CertificateError(f"{self.key} is not the private key of {self.certificate}")
        if self.ca is not None:
            load_certificate(self.ca)

    def stamp(self) -> Stamp:
        """Return a value that changes when a file does."""
        stats = (file.stat() for file in (self.certificate, self.key, self.ca) if file is not None)
        return tuple((stat.st_mtime_ns, stat.st_ino, stat.st_size) for stat in stats)


class WatchedFiles:
    """Detects changes of the files. Invalid ones are ignored, so that the last valid ones stay in use."""

    def __init__(self, files: TlsFiles) -> None:
        files.check()
        self.files = files
        self._stamp: Stamp | None = files.stamp()
        self._lock = Lock()

    def changed(self) -> bool:
        """Return True once for each valid change."""
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
    """TLS contexts that require a certificate of our authority from every agent. Called for each connection."""

    def __init__(self, files: TlsFiles) -> None:
        self._watched = WatchedFiles(files)
        self._context = _context(files)

    def __call__(self) -> ssl.SSLContext:
        """Return the context of the current files, or of the last valid ones."""
        if self._watched.changed():
            try:
                self._context = _context(self._watched.files)
            except CertificateError as error:
                _log.warning("certificate_not_reloaded", reason=str(error))
        return self._context


def _context(files: TlsFiles) -> ssl.SSLContext:
    if files.ca is None:
        raise CertificateError("grpc.ca_file is not set: agents could not be authenticated")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3  # every agent has it, and it encrypts the client's certificate
    try:
        context.load_cert_chain(files.certificate, files.key)
        context.load_verify_locations(files.ca)
    except OSError as error:  # including ssl.SSLError
        raise CertificateError(f"{files.certificate}, {files.key}, {files.ca}: {error}") from None
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the authority may be an intermediate one
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET  # each connection presents its certificate
    context.num_tickets = 0
    context.set_alpn_protocols(["h2"])
    return context
