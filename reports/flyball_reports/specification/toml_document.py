"""Reads TOML into values that know their lines. TOML's own parser knows none, so they are found by the keys."""

import re
import tomllib
from collections.abc import Iterator, Mapping

from flyball_reports.specification.problems import Problem, SpecificationError
from flyball_reports.specification.source_value import SourceValue
from flyball_reports.specification.value_builder import DEEPEST, MOST_VALUES

_TABLE = re.compile(r"\s*\[+([^\[\]=]+)\]+\s*(?:#.*)?")
_KEY = re.compile(r"\s*([\w.\"'-][\w.\"'\t -]*)=")
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")

KeyPath = tuple[str, ...]


def read_toml(text: str, file: str) -> SourceValue:
    """Read a TOML document. Raises `SpecificationError`."""
    try:
        found = tomllib.loads(text)
        return _Values(dict(_lines(text))).of((), found, 1)
    except tomllib.TOMLDecodeError as error:
        raise SpecificationError([_syntax(str(error), text)], file) from None
    except RecursionError:
        raise _fault(f"lists and groups are nested more than {DEEPEST} levels deep", file) from None
    except (ValueError, OverflowError) as error:  # too many values, or an integer of thousands of digits
        raise _fault(str(error), file) from None


def _fault(message: str, file: str) -> SpecificationError:
    return SpecificationError([Problem(0, "", f"not valid TOML: {message}")], file)


def _syntax(message: str, text: str) -> Problem:
    place = _PLACE.search(message)
    line = int(place[1]) if place and place[1] else text.count("\n") + 1
    return Problem(line, "", f"not valid TOML: {_PLACE.sub('', message).lower()}")


def _lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Yield the line of each table and each key at the beginning of a line."""
    table: KeyPath = ()
    for line, words in enumerate(text.splitlines(), 1):
        if head := _TABLE.fullmatch(words):
            table = _path(head[1])
            yield table, line
        elif key := _KEY.match(words):
            yield (*table, *_path(key[1])), line


def _path(dotted: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


class _Values:
    """Adds lines to plain values; a value without a line of its own has that of the value around it."""

    def __init__(self, lines: Mapping[KeyPath, int]) -> None:
        self._lines = lines
        self._values = 0

    def of(self, path: KeyPath, value: object, line: int) -> SourceValue:
        """Return a value with its lines."""
        self._values += 1
        if self._values > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES:,} values")
        if len(path) > DEEPEST:
            raise RecursionError
        line = self._lines.get(path, line)
        if isinstance(value, dict):
            return SourceValue({name: self.of((*path, name), each, line) for name, each in value.items()}, line)
        if isinstance(value, list):
            return SourceValue([self.of((*path, ""), each, line) for each in value], line)
        return SourceValue(value if isinstance(value, str | int | float) else str(value), line)
