"""Readers of single values: what a key expects in words, and how its value is converted."""

import math
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from msgspec import Struct

from flyball_reports.errors import nearest
from flyball_reports.specification.source_value import SourceValue

ANY_VALUE = "any value"
_SUFFIXES = {
    "": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12,
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
}  # fmt: skip
_LONGEST_NUMBER = 100  # characters
_LONGEST_TEXT = 1000
_NUMBER = re.compile(
    r"([-+]?(?:\d[\d_]*)?\.?\d*(?:e[-+]?\d+)?)\s*([kmbgt]?|thousand|[mb]illion|trillion)", re.IGNORECASE
)
_SIZE = re.compile(r"(.*\d)\s*([mgt])i?b", re.IGNORECASE)
_GIGABYTES = {"m": 1 / 1024, "g": 1.0, "t": 1024.0}


class Unfit(Exception):
    """A value that its key does not accept.

    The message names what is expected, `found` the part that is wrong, `hint` a similar word that would be accepted.
    """

    def __init__(self, expected: str, found: str = "", hint: str = "") -> None:
        super().__init__(expected)
        self.found = found
        self.hint = hint


class Reader(Struct, frozen=True):
    """The expected values in words, and the function that converts a value."""

    expected: str
    read: Callable[[SourceValue], Any]


def integer(at_least: int = 1, at_most: float = 1e15) -> Reader:
    """Read an integer; 8k and 1e9 are integers too."""
    expected = f"an integer of at least {at_least}" + (f" and at most {limit_text(at_most)}" if at_most < 1e15 else "")

    def read(entry: SourceValue) -> int:
        value = _number(entry)
        if value is None or value != int(value) or not at_least <= value <= at_most:
            raise Unfit(expected)
        return int(value)

    return Reader(expected, read)


def number(above: float | None = None, at_least: float | None = None, at_most: float = 1e30) -> Reader:
    """Read a number."""
    bounds = (
        [f"above {limit_text(above)}"]
        if above is not None
        else [f"of at least {limit_text(at_least)}"]
        if at_least is not None
        else []
    )
    bounds += [f"at most {limit_text(at_most)}"] if at_most < 1e30 else []
    expected = "a number" + (" " + " and ".join(bounds) if bounds else "")

    def read(entry: SourceValue) -> float:
        value = _number(entry)
        too_low = value is None or (above is not None and value <= above) or (at_least is not None and value < at_least)
        if value is None or too_low or value > at_most:
            raise Unfit(expected)
        return value

    return Reader(expected, read)


def gigabytes() -> Reader:
    """Read a size of memory in GB; 512GB, 512 GiB and 0.5TB are sizes too."""
    plain = number(above=0)
    expected = f"{plain.expected}, in GB"

    def read(entry: SourceValue) -> float:
        size = _SIZE.fullmatch(entry.value.strip()[:_LONGEST_NUMBER]) if isinstance(entry.value, str) else None
        try:
            value = plain.read(SourceValue(size[1], entry.line) if size else entry)
        except Unfit:
            raise Unfit(expected) from None
        return float(value) * (_GIGABYTES[size[2].lower()] if size else 1.0)

    return Reader(expected, read)


def choice(options: Iterable[str]) -> Reader:
    """Read one of several words, in upper or lower case."""
    words = [str(each) for each in options]
    expected = "one of " + ", ".join(words)

    def read(entry: SourceValue) -> str:
        written = str(entry.value)[:_LONGEST_TEXT]  # all options are shorter
        asked = written.casefold().replace("_", "-")
        for word in words:
            if asked == word.casefold().replace("_", "-"):
                return word
        near = nearest(written, words)
        raise Unfit(expected, hint=f"did you mean {near!r}?" if near else "")

    return Reader(expected, read)


def member(kind: type[StrEnum]) -> Reader:
    """Read a member of an enumeration."""
    words = choice(each.value for each in kind)
    return Reader(words.expected, lambda entry: kind(words.read(entry)))


def text() -> Reader:
    """Read a text."""

    def read(entry: SourceValue) -> str:
        if entry.value is None or isinstance(entry.value, dict | list):
            raise Unfit("text")
        if len(written := str(entry.value)) > _LONGEST_TEXT:
            raise Unfit("text", f"{len(written):,} characters", f"the limit is {_LONGEST_TEXT:,}")
        return written

    return Reader("text", read)


def flag() -> Reader:
    """Read true or false."""

    def read(entry: SourceValue) -> bool:
        if not isinstance(entry.value, bool):
            raise Unfit("true or false")
        return entry.value

    return Reader("true or false", read)


def many(reader: Reader, most: int = 64) -> Reader:
    """Read a list; a single value is a list with one item."""
    expected = f"a list, each {reader.expected}"

    def one(item: SourceValue) -> Any:
        try:
            return reader.read(item)
        except Unfit as fault:
            raise Unfit(f"a list, each {fault}", item.description(), fault.hint) from None

    def read(entry: SourceValue) -> tuple[Any, ...]:
        items = entry.value if isinstance(entry.value, list) else [entry]
        if not items or len(items) > most:
            raise Unfit(f"{expected}; 1 to {most} of them", f"{len(items)}")
        return tuple(map(one, items))

    return Reader(expected, read)


def anything() -> Reader:
    """Accept any value and return it without lines; the caller checks it."""
    return Reader(ANY_VALUE, lambda entry: entry.plain)


def limit_text(limit: float) -> str:
    """Return a limit of a number as people write it: 0.5, 4096, 1,000,000."""
    return f"{limit:,.0f}" if limit >= 10_000 else f"{limit:g}"


def _number(entry: SourceValue) -> float | None:
    """Return a number from YAML, or from common notations such as 1e9, 350M and 8k; nothing for anything else."""
    value = entry.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str):
        if len(value) > _LONGEST_NUMBER:  # the pattern takes quadratic time
            return None
        found = _NUMBER.fullmatch(value.strip())
        try:
            value = float(found[1].replace("_", "")) * _SUFFIXES[found[2].lower()] if found else math.nan
        except ValueError:  # only a suffix
            return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an int of hundreds of digits
        return None
