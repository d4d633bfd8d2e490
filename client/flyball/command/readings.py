"""Readings, times and durations as people read them."""

from typing import Any

from flyball_reports import figures

DASH = "–"
REASONS = {
    "absent": "not present",
    "denied": "no permission",
    "unsupported": "not supported",
    "failed": "failed",
    "timed_out": "timed out",
    "stale": "does not change",
    "unknown": "unknown reason",
}
"""Why a reading is unavailable."""
_BAR_LENGTH = 20
_PREFIXES = ("", "k", "M", "G", "T", "P")


def amount(value: float | None, unit: str) -> str:
    """Return a value with its unit, or a dash for an unknown one."""
    if value is None:
        return DASH
    match unit:
        case "ratio":
            return f"{value * 100:.0f} %" if value >= 0.0995 or not value else f"{value * 100:.1f} %"
        case "bytes":
            return figures.size(value)
        case "bytes/s":
            return f"{figures.size(value)}/s"
        case "celsius":
            return f"{value:.0f} °C"
        case "hertz":
            return f"{_prefixed(value)}Hz"
        case "watts":
            return f"{value:.0f} W"
        case "joules":
            return f"{_prefixed(value)}J"
        case "seconds":
            return _seconds(value)
        case "boolean" | "flag":
            return "yes" if value else "no"
        case _:
            return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3g}"


def reading_text(reading: dict[str, Any]) -> str:
    """Return a reading of the API, with the reason if it is unavailable."""
    if reading["value"] is None:
        why = reading.get("why")
        return f"unavailable: {REASONS.get(why['reason'], why['reason'])}" if why else "unavailable"
    return str(reading.get("state") or amount(reading["value"], reading["unit"]))


def bar(ratio: float | None) -> str:
    """Return a ratio as a bar; the bar of an unknown ratio is empty."""
    full = round(_BAR_LENGTH * min(1.0, max(0.0, ratio or 0.0)))
    return "█" * full + "·" * (_BAR_LENGTH - full)


def duration(seconds: float) -> str:
    """Return whole seconds in at most two units: 12 s, 1 min 50 s, 3 days 4 h."""
    return figures.duration(round(seconds)) if seconds >= 0.5 else "0 s"


def utc_time(rfc3339: str) -> str:
    """Return a time of the API with date and zone: 2026-11-26 14:03:11 UTC."""
    return f"{rfc3339[:10]} {rfc3339[11:19]} UTC"


def clock_text(skew_seconds: float) -> str:
    """Return how far a host's clock is ahead of the collector's, or behind it."""
    return f"{amount(abs(skew_seconds), 'seconds')} {'ahead' if skew_seconds >= 0 else 'behind'}"


def _seconds(value: float) -> str:
    magnitude = abs(value)
    if magnitude >= 60:
        return ("-" if value < 0 else "") + duration(magnitude)
    if magnitude >= 1:
        return f"{value:.2f} s"
    return f"{value * 1000:.1f} ms" if magnitude >= 0.0005 else f"{value * 1e6:.0f} µs" if magnitude else "0 s"


def _prefixed(value: float) -> str:
    index = 0
    while abs(value) >= 1000 and index < len(_PREFIXES) - 1:
        value, index = value / 1000, index + 1
    return f"{value:.3g} {_PREFIXES[index]}"
