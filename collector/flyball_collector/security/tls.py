"""TLS of the agents' door; certificates are read again when their files change, without a restart."""

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import grpc
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


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """gRPC credentials that demand a certificate of our authority from every agent."""
    watched = Watched(files)

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        """Asked at each handshake; `None` means as before."""
        return _configuration(files) if watched.changed() else None

    return grpc.dynamic_ssl_server_credentials(
        _configuration(files),
        fetch,  # type: ignore[arg-type]  # the stubs forget that None means unchanged
        require_client_authentication=True,
    )


def _configuration(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    if files.ca is None:
        raise CertificateError("grpc.ca_file is not set: agents could not be told apart")
    return grpc.ssl_server_certificate_configuration(
        [(files.key.read_bytes(), files.certificate.read_bytes())], root_certificates=files.ca.read_bytes()
    )
