"""Numbers as people say them."""

import math


def duration(seconds: float) -> str:
    """Some 2–3 significant digits of a time."""
    if not math.isfinite(seconds):
        return "unknown time"
    for unit, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * unit:
            return f"{seconds / unit:.3g} {name}" if seconds < 100 * unit else f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def time_left(left: float, low: float, high: float) -> str:
    """A time with its interval; one figure where it is sure, or where the bounds read alike."""
    within = "" if duration(low) == duration(high) else f" ({duration(low)} to {duration(high)})"
    return f"{duration(left)}{within}"


def share(ratio: float, digits: int = 1) -> str:
    """A ratio in per cent."""
    return f"{100 * ratio:.{digits}f} %"
