"""Health for whoever restarts or routes, and the settings in force for whoever operates."""

from typing import Any

import msgspec
from litestar import Response, get

from flyball_collector.http.parts import Here
from flyball_collector.security.tokens import Role

_HIDDEN = "(hidden)"
_SECRET_WORDS = ("password", "secret", "token")


class Health(msgspec.Struct, frozen=True):
    """Whether, and if not, why."""

    ok: bool
    reasons: list[str]


class Setting(msgspec.Struct, frozen=True):
    """One key with the value in force, and where that came from."""

    key: str
    value: Any
    origin: str


@get("/healthz", summary="Alive", tags=["health"])
async def alive() -> Health:
    """The event loop answers; nothing else is asked."""
    return Health(True, [])


@get("/readyz", summary="Ready", tags=["health"])
async def ready(parts: Here) -> Response[Health]:
    """The store is up and the windows are loaded; 503 with reasons otherwise."""
    reasons = list(parts.not_ready())
    if parts.warming():
        reasons.append("warming: the last minutes are being loaded from the store")
    return Response(Health(not reasons, reasons), status_code=503 if reasons else 200)


@get("/config", summary="Settings in force", opt={"role": Role.OPERATOR})
async def config(parts: Here) -> list[Setting]:
    """Every setting; what could be a secret is hidden."""
    values = _flat("", msgspec.to_builtins(parts.settings))
    return [Setting(key, _shown(key, value), parts.origins.get(key, "unknown")) for key, value in values]


def _flat(prefix: str, value: object) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(prefix, value)]
    return [each for key, inner in value.items() for each in _flat(f"{prefix}.{key}" if prefix else key, inner)]


def _shown(key: str, value: object) -> object:
    """Paths of secret files are no secrets; passwords inside of URLs are."""
    if not isinstance(value, str):
        return value
    if any(word in key for word in _SECRET_WORDS) and not key.endswith("_file"):
        return _HIDDEN
    scheme, found, rest = value.partition("://")
    credentials, at, place = rest.rpartition("@")
    return f"{scheme}://{_HIDDEN}@{place}" if found and at and credentials else value
