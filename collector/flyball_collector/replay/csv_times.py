"""Instants as cells of CSV files tell them: seconds, parts of seconds by their size, or dates and times by ISO 8601."""

from datetime import UTC, datetime

LATEST_SECONDS = 7_000_000_000
"""Late in the year 2191: what is added to series from zero on still fits into nanoseconds of 64 bits."""

_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)  # a second has so many milliseconds, microseconds, nanoseconds
_EARLIEST_SECONDS = 100_000_000  # in 1973; what is smaller in one unit is too late in the one before

_EXPECTED = "expected seconds since any beginning, or a date and time by ISO 8601 such as 2026-01-31T12:00:00Z"


def seconds_of(text: str) -> float:
    """Seconds since 1970, or since the series' own zero; raises `ValueError` that says what was expected."""
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
