"""Reports the end of the collector's certificates: always as a metric, and in the log when it is near."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.security.pem import CertificateError, load_certificate
from flyball_collector.settings import CollectorSettings

_log = structlog.get_logger(__name__)

_CHECK_SECONDS = 3600.0
_SOON = timedelta(days=14)


def certificates_of(settings: CollectorSettings) -> dict[str, Path]:
    """Return the certificates in use by their setting."""
    files = {
        "grpc.certificate_file": settings.grpc.certificate_file,
        "grpc.ca_file": settings.grpc.ca_file,
        "http.certificate_file": settings.http.certificate_file,
    }
    return {key: Path(file) for key, file in files.items() if file}


class ExpiryWatch:
    """Checks all certificates once an hour."""

    def __init__(self, files: Mapping[str, Path], metrics: OwnMetrics) -> None:
        self._files = files
        self._metrics = metrics

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await asyncio.to_thread(self.check, datetime.now(UTC))
            await asyncio.sleep(_CHECK_SECONDS)

    def check(self, now: datetime) -> None:
        """Read every certificate. Those that cannot be read are reported where they are used."""
        for key, file in self._files.items():
            try:
                ends = load_certificate(file).not_valid_after_utc
            except CertificateError:
                continue
            self._metrics.certificate_ends.labels(key).set(ends.timestamp())
            if ends - now < _SOON:
                _log.warning("certificate_expires_soon", key=key, file=str(file), ends=ends.isoformat())
