"""When the next tick is due: near the multiples of the interval in wall time, whatever that clock does."""

import hashlib

NANOSECONDS = 1_000_000_000


def due_ns(wall_ns: int, since_last_ns: int, interval_ns: int, offset_ns: int = 0) -> int:
    """How long from now until the next tick.

    Only the phase of the wall clock counts, so a step of an hour moves a tick by less than one interval. A multiple
    that follows the last tick by less than half an interval is that tick's own (it was woken early, or the clock
    stepped back a little): the one after it is meant. Missed multiples are skipped.
    """
    remaining = interval_ns - (wall_ns - offset_ns) % interval_ns
    if since_last_ns + remaining < interval_ns // 2:
        remaining += interval_ns
    return remaining


def spread_ns(host: str, interval_ns: int) -> int:
    """Where in each interval this host sends, so that a fleet's messages do not arrive all at once."""
    fraction = int.from_bytes(hashlib.sha256(host.encode()).digest()[:4], "little") / 2**32
    return round(fraction * 0.9 * interval_ns)
