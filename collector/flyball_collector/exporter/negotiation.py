"""Chooses the format and compression of a page by the Accept headers."""

from enum import Enum


class ExpositionFormat(Enum):
    """The two text formats. The value is the content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def choose_format(accept: str) -> ExpositionFormat:
    """Return OpenMetrics if it is accepted by name at least as well as plain text, otherwise text 0.0.4."""
    wanted = _qualities(accept)
    openmetrics = max((q for media, version, q in wanted if _is_openmetrics(media, version)), default=0.0)
    text = max((q for media, _, q in wanted if media in {"text/plain", "text/*", "*/*"}), default=0.0)
    return ExpositionFormat.OPENMETRICS if openmetrics > 0 and openmetrics >= text else ExpositionFormat.TEXT


def accepts_gzip(accept_encoding: str) -> bool:
    """Return True if gzip is accepted. `*` includes it unless it is refused by name."""
    wanted = {coding: quality for coding, _, quality in _qualities(accept_encoding)}
    return wanted.get("gzip", wanted.get("*", 0.0)) > 0


def _is_openmetrics(media: str, version: str) -> bool:
    return media == "application/openmetrics-text" and version in {"", "0.0.1", "1.0.0"}


def _qualities(header: str) -> list[tuple[str, str, float]]:
    """Return (name, version parameter, quality) of each alternative. An invalid quality counts as 0."""
    result = []
    for alternative in header.lower().split(","):
        name, *parameters = (part.strip() for part in alternative.split(";"))
        values = dict(part.replace(" ", "").partition("=")[::2] for part in parameters)
        if name:
            result.append((name, values.get("version", "").strip('"'), _quality(values.get("q", "1"))))
    return result


def _quality(text: str) -> float:
    try:
        quality = float(text)
    except ValueError:
        return 0.0
    return quality if 0 <= quality <= 1 else 0.0
