"""Parses times in CSV files: seconds, milliseconds to nanoseconds by their size, or ISO 8601."""

from datetime import UTC, datetime

LATEST_SECONDS = 7_000_000_000
"""Late in the year 2191, so that offsets from zero still fit into 64 bits of nanoseconds."""

_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)  # units per second: milliseconds, microseconds, nanoseconds
_EARLIEST_SECONDS = 100_000_000  # in 1973; smaller numbers in one unit are too late in the previous one

_EXPECTED = "expected seconds, or an ISO 8601 time such as 2026-01-31T12:00:00Z"


def seconds_of(text: str) -> float:
    """Return seconds since 1970, or since the series' own zero. Raises `ValueError` with the expected formats."""
    try:
        number = float(text)
    except ValueError:
        return _instant(text)
    for unit in _UNITS:
        if (0 if unit == 1 else _EARLIEST_SECONDS) <= number / unit < LATEST_SECONDS:
            return number / unit
    raise ValueError(f"timestamp {text} is out of range; {_EXPECTED}")


def _instant(text: str) -> float:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"timestamp {text!r}: {_EXPECTED}") from None
    seconds = (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
    if 0 <= seconds < LATEST_SECONDS:
        return seconds
    raise ValueError(f"timestamp {text} is out of range; expected a time from 1970 to 2190")
