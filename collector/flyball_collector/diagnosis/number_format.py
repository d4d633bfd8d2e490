"""Formats durations and shares for people."""

import math


def duration(seconds: float) -> str:
    """Format a time in whole seconds and at most two units: 12 s, 1 min 50 s, 5 h 12 min, 3 days 4 h."""
    if not math.isfinite(seconds):
        return "unknown time"
    for large, small, names in ((86_400, 3_600, ("day", "h")), (3_600, 60, ("h", "min")), (60, 1, ("min", "s"))):
        whole, rest = divmod(round(seconds / small), large // small)
        if whole:
            name = "days" if names[0] == "day" and whole != 1 else names[0]
            return f"{whole} {name}" + (f" {rest} {names[1]}" if rest else "")
    return f"{seconds:.0f} s"


def time_left(left: float, low: float, high: float) -> str:
    """Format a time with its interval, or without it if both bounds look the same."""
    within = "" if duration(low) == duration(high) else f" ({duration(low)} … {duration(high)})"
    return f"{duration(left)}{within}"


def share(ratio: float, digits: int = 1) -> str:
    """Format a ratio as per cent."""
    return f"{100 * ratio:.{digits}f} %"


def clauses(*found: tuple[str, *tuple[float, ...]], separator: str = "; ") -> str:
    """Join the clauses whose numbers are all known. Each is a template for `str.format` with its numbers."""
    known = (clause for clause in found if all(map(math.isfinite, clause[1:])))
    return separator.join(template.format(*numbers) for template, *numbers in known)
