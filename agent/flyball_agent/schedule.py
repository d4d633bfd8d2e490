"""Computes when ticks are due: at the multiples of the interval in wall time, even if the wall clock jumps."""

import hashlib

NANOSECONDS = 1_000_000_000


def due_ns(wall_ns: int, since_last_ns: int, interval_ns: int, offset_ns: int = 0) -> int:
    """Return the nanoseconds until the next tick.

    Only the phase of the wall clock is used, so a jump of an hour moves a tick by less than one interval. If the next
    multiple follows the last tick by less than half an interval, it belongs to that tick (the thread woke early, or the
    clock was set back a little), and the multiple after it is used. Missed multiples are skipped.
    """
    remaining = interval_ns - (wall_ns - offset_ns) % interval_ns
    if since_last_ns + remaining < interval_ns // 2:
        remaining += interval_ns
    return remaining


def spread_ns(host: str, interval_ns: int) -> int:
    """Return the offset within each interval at which this host sends, so that hosts do not all send at once."""
    fraction = int.from_bytes(hashlib.sha256(host.encode()).digest()[:4], "little") / 2**32
    return round(fraction * 0.9 * interval_ns)
