"""Readings with their units, as people read them."""

from typing import Any

from flyball_reports.figures import size

DASH = "–"
_BAR = 20  # letters
_PREFIXES = ("", "k", "M", "G", "T", "P")


def amount(value: float | None, unit: str) -> str:
    """A value with its unit; a dash is unknown."""
    if value is None:
        return DASH
    match unit:
        case "ratio":
            return f"{value * 100:.0f} %" if value >= 0.0995 or not value else f"{value * 100:.1f} %"
        case "bytes":
            return size(value)
        case "bytes/s":
            return f"{size(value)}/s"
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


def reading(told: dict[str, Any]) -> str:
    """One reading of the API; what is unknown says why."""
    if told["value"] is None:
        why = told.get("why")
        return f"unknown: {why['reason'].replace('_', ' ')}" if why else "unknown"
    return str(told.get("state") or amount(told["value"], told["unit"]))


def bar(ratio: float | None) -> str:
    """A share as a bar; what is unknown is empty."""
    full = round(_BAR * min(1.0, max(0.0, ratio or 0.0)))
    return "█" * full + "·" * (_BAR - full)


def duration(seconds: float) -> str:
    """An age in its largest sensible unit."""
    for unit_seconds, unit, from_seconds in ((86400, "d", 172800), (3600, "h", 7200), (60, "min", 120)):
        if seconds >= from_seconds:
            return f"{seconds // unit_seconds:.0f} {unit}"
    return f"{seconds:.0f} s"


def _seconds(value: float) -> str:
    magnitude = abs(value)
    if magnitude >= 120:
        return f"{value:,.0f} s"
    if magnitude >= 1:
        return f"{value:.2f} s"
    return f"{value * 1000:.1f} ms" if magnitude >= 0.0005 else f"{value * 1e6:.0f} µs" if magnitude else "0 s"


def _prefixed(value: float) -> str:
    index = 0
    while abs(value) >= 1000 and index < len(_PREFIXES) - 1:
        value, index = value / 1000, index + 1
    return f"{value:.3g} {_PREFIXES[index]}"
