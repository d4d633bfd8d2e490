"""Parses times of requests, and formats times of answers."""

import re
from datetime import UTC, datetime

import msgspec

_RELATIVE = re.compile(r"-(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_UNITS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9, "w": 7 * 86400 * 10**9}
_NUMBER = re.compile(r"\d{1,12}(\.\d{1,9})?")
_EXPECTED = "expected RFC 3339 (2030-01-31T12:00:00Z), unix seconds, now, or relative such as -15m"


class Moment(msgspec.Struct, frozen=True):
    """One time in both formats."""

    unix: float
    rfc3339: str


def moment(time_ns: int) -> Moment:
    """Return a time for an answer."""
    whole, rest = divmod(time_ns, 10**9)
    text = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return Moment(round(time_ns / 1e9, 3), f"{text}.{rest // 10**6:03d}Z")


def parse_time(text: str, now_ns: int) -> int:
    """Parse a time of a request into nanoseconds. Raises `ValueError` with the expected formats."""
    if text == "now":
        return now_ns
    if relative := _RELATIVE.fullmatch(text):
        return now_ns - int(float(relative[1]) * _UNITS[relative[2]])
    if _NUMBER.fullmatch(text):
        whole, _, fraction = text.partition(".")
        return int(whole) * 10**9 + int(fraction.ljust(9, "0") or 0)
    # A "+" in a query string arrives as a space: 2030-01-31T12:00:00+01:00 is meant.
    try:
        parsed = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        if parsed.tzinfo is None:
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(f"invalid time {text[:60]!r}; {_EXPECTED}") from None
    return int(parsed.timestamp()) * 10**9 + parsed.microsecond * 1000
