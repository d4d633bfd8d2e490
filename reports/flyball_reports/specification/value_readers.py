"""How values of a specification are read: what is expected of each, in words, and what it becomes."""

import math
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from msgspec import Struct

from flyball_reports.errors import nearest
from flyball_reports.specification.entry import Entry

_SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_NUMBER = re.compile(r"([-+]?(?:\d[\d_]*)?\.?\d*(?:e[-+]?\d+)?)\s*([kmbgt]?)", re.IGNORECASE)


class Unfit(Exception):
    """A value that is not what its key expects; the message says what is expected, `found` what of it is wrong."""

    def __init__(self, expected: str, found: str = "") -> None:
        super().__init__(expected)
        self.found = found


class Reader(Struct, frozen=True):
    """What a key expects, and the function that reads it."""

    expected: str
    read: Callable[[Entry], Any]


def whole(at_least: int = 1, at_most: float = 1e15) -> Reader:
    """A whole number; 8k and 1e9 are whole numbers too."""
    expected = f"a whole number of at least {at_least}" + (f" and at most {at_most:g}" if at_most < 1e15 else "")

    def read(entry: Entry) -> int:
        value = _number(entry)
        if value is None or value != int(value) or not at_least <= value <= at_most:
            raise Unfit(expected)
        return int(value)

    return Reader(expected, read)


def number(above: float | None = None, at_least: float | None = None, at_most: float = 1e30) -> Reader:
    """A number that may have a fraction."""
    bounds = (
        [f"above {above:g}"] if above is not None else [f"of at least {at_least:g}"] if at_least is not None else []
    )
    bounds += [f"at most {at_most:g}"] if at_most < 1e30 else []
    expected = "a number" + (" " + " and ".join(bounds) if bounds else "")

    def read(entry: Entry) -> float:
        value = _number(entry)
        too_low = value is None or (above is not None and value <= above) or (at_least is not None and value < at_least)
        if value is None or too_low or value > at_most:
            raise Unfit(expected)
        return value

    return Reader(expected, read)


def choice(options: Iterable[str]) -> Reader:
    """One of a few words, in any case."""
    words = [str(each) for each in options]
    expected = "one of " + ", ".join(words)

    def read(entry: Entry) -> str:
        asked = str(entry.value).casefold().replace("_", "-")
        for word in words:
            if asked == word.casefold().replace("_", "-"):
                return word
        near = nearest(str(entry.value), words)
        raise Unfit(f"{expected} (did you mean {near}?)" if near else expected)

    return Reader(expected, read)


def member(kind: type[StrEnum]) -> Reader:
    """One of an enumeration."""
    words = choice(each.value for each in kind)
    return Reader(words.expected, lambda entry: kind(words.read(entry)))


def text() -> Reader:
    """Any words."""

    def read(entry: Entry) -> str:
        if entry.value is None or isinstance(entry.value, dict | list):
            raise Unfit("text")
        return str(entry.value)

    return Reader("text", read)


def flag() -> Reader:
    """Yes or no."""

    def read(entry: Entry) -> bool:
        if not isinstance(entry.value, bool):
            raise Unfit("true or false")
        return entry.value

    return Reader("true or false", read)


def many(reader: Reader, most: int = 64) -> Reader:
    """A list; a single value is a list of one."""
    expected = f"a list, each {reader.expected}"

    def one(item: Entry) -> Any:
        try:
            return reader.read(item)
        except Unfit as fault:
            raise Unfit(f"a list, each {fault}", item.told()) from None

    def read(entry: Entry) -> tuple[Any, ...]:
        items = entry.value if isinstance(entry.value, list) else [entry]
        if not items or len(items) > most:
            raise Unfit(f"{expected}; 1 to {most} of them", f"{len(items)}")
        return tuple(map(one, items))

    return Reader(expected, read)


def anything() -> Reader:
    """Whatever stands there, without its lines: whoever uses it checks it."""
    return Reader("any value", lambda entry: entry.plain)


def _number(entry: Entry) -> float | None:
    """What YAML took for a number, and what people write for one: 1e9, 350M, 8k."""
    value = entry.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value.strip())
        try:
            value = float(found[1].replace("_", "")) * _SUFFIXES[found[2].lower()] if found else math.nan
        except ValueError:  # only a suffix
            return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an int of hundreds of digits
        return None
