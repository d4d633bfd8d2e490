"""Health checks, and the settings in force."""

from typing import Any

import msgspec
from litestar import Response, get

from flyball_collector.http.collector_parts import PartsDependency
from flyball_collector.security.tokens import Role

_HIDDEN = "(hidden)"
_SECRET_WORDS = ("password", "secret", "token")


class HealthAnswer(msgspec.Struct, frozen=True):
    """The result of a health check, with the reasons of a failure."""

    ok: bool
    reasons: list[str]


class SettingAnswer(msgspec.Struct, frozen=True):
    """One setting with its value and origin."""

    key: str
    value: Any
    origin: str


@get("/healthz", summary="Alive", tags=["health"])
async def alive() -> HealthAnswer:
    """Report that the event loop answers. Nothing else is checked."""
    return HealthAnswer(True, [])


@get("/readyz", summary="Ready", tags=["health"])
async def ready(parts: PartsDependency) -> Response[HealthAnswer]:
    """Report whether the store works and the windows are loaded; 503 with reasons otherwise."""
    reasons = list(parts.not_ready())
    if parts.timeline.journal.failing:
        reasons.append("store: no writes of events and adjustments; the log has the reason (timeline_write_failed)")
    if parts.warming():
        reasons.append("warming: loading the last minutes from the store")
    return Response(HealthAnswer(not reasons, reasons), status_code=503 if reasons else 200)


@get("/config", summary="Settings in force", opt={"role": Role.OPERATOR})
async def config(parts: PartsDependency) -> list[SettingAnswer]:
    """Return every setting. Values that may be secret are hidden."""
    values = _flat("", msgspec.to_builtins(parts.settings))
    return [SettingAnswer(key, _redacted(key, value), parts.origins.get(key, "unknown")) for key, value in values]


def _flat(prefix: str, value: object) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(prefix, value)]
    return [each for key, inner in value.items() for each in _flat(f"{prefix}.{key}" if prefix else key, inner)]


def _redacted(key: str, value: object) -> object:
    """Return a value for display. Paths of secret files are shown; passwords in URLs are hidden."""
    if not isinstance(value, str):
        return value
    if any(word in key for word in _SECRET_WORDS) and not key.endswith("_file"):
        return _HIDDEN
    scheme, found, rest = value.partition("://")
    credentials, at, place = rest.rpartition("@")
    return f"{scheme}://{_HIDDEN}@{place}" if found and at and credentials else value
