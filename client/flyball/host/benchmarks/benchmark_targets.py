"""The services that are measured. Without a choice these are on this machine: no other one is contacted."""

from collections.abc import Mapping
from dataclasses import dataclass

MONGODB = "FLYBALL_MONGODB"
DEFAULT_MONGODB = "mongodb://127.0.0.1:27017"
DEFAULT_SERVICE = "http://127.0.0.1:3591/healthz"
"""The collector of this machine."""


@dataclass(frozen=True, slots=True)
class BenchmarkTargets:
    """Addresses of a MongoDB, of a service that trainings call, and of a file to download."""

    mongodb_url: str = DEFAULT_MONGODB
    service_url: str = DEFAULT_SERVICE
    download_url: str | None = None

    @classmethod
    def chosen(
        cls, mongodb_url: str | None, service_url: str | None, download_url: str | None, environment: Mapping[str, str]
    ) -> "BenchmarkTargets":
        """Return what was chosen, or set in the environment, or the defaults."""
        return cls(
            mongodb_url or environment.get(MONGODB) or DEFAULT_MONGODB, service_url or DEFAULT_SERVICE, download_url
        )
