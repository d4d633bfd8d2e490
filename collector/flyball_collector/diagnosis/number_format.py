"""Formats durations and shares for people."""

import math


def duration(seconds: float) -> str:
    """Format a time with 2 or 3 significant digits."""
    if not math.isfinite(seconds):
        return "unknown time"
    for unit, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * unit:
            return f"{seconds / unit:.3g} {name}" if seconds < 100 * unit else f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def time_left(left: float, low: float, high: float) -> str:
    """Format a time with its interval, or without it if both bounds look the same."""
    within = "" if duration(low) == duration(high) else f" ({duration(low)} to {duration(high)})"
    return f"{duration(left)}{within}"


def share(ratio: float, digits: int = 1) -> str:
    """Format a ratio as per cent."""
    return f"{100 * ratio:.{digits}f} %"
