"""Finds entries that cannot wait for others of their group."""

from flyball_collector.timeline.entry import Entry

URGENT_SECONDS = 60.0
"""With less time left than this, the usual delays would take a quarter of it or more."""


def is_urgent(entry: Entry, now_ns: int) -> bool:
    """Return True if less than a minute is left until the failure that the entry predicts."""
    if not entry.is_active or entry.seconds_left is None:
        return False
    return entry.seconds_left - (now_ns - entry.time_ns) / 1e9 < URGENT_SECONDS
