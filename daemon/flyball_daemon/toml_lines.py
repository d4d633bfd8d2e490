"""Finds the line of each key in a TOML text, which the parser of the standard library does not report."""

import re
from collections.abc import Iterator

_HEADER = re.compile(r"^\s*\[{1,2}\s*([^\[\]#]+?)\s*\]{1,2}\s*(#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'))*)\s*="""
)
_TRIPLE = re.compile(r'"""|\'\'\'')


def key_lines(source: str) -> dict[str, int]:
    """Return the first line of each dotted key and table. For unusual formatting it may be that of the table."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in _outside_long_strings(source):
        header = _HEADER.match(line)
        if header:
            table = _plain(header[1])
            lines.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            name = _plain(key[1])
            lines.setdefault(f"{table}.{name}" if table else name, number)
    return lines


def _outside_long_strings(source: str) -> Iterator[tuple[int, str]]:
    closing = ""
    for number, line in enumerate(source.splitlines(), start=1):
        if not closing:
            yield number, line
        for mark in _TRIPLE.findall(line):
            if not closing:
                closing = mark
            elif mark == closing:
                closing = ""


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))
