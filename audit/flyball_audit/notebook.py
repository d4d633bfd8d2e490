"""Notebooks as Python text: the code cells joined, their magics blanked, lines kept."""

import re
import warnings
from collections.abc import Iterator, Mapping

import msgspec

from flyball_audit.newer import tree_of
from flyball_audit.source import LARGEST_BYTES, Source, Unreadable

_LINE_MAGIC = re.compile(r"^(\s*)(?:[%!?].*|.*[^?=\s]\s*\?{1,2}\s*)$")
_ASSIGNED_MAGIC = re.compile(r"^(\s*[\w.,\s\[\]]+=\s*)[%!].*$")
_PYTHON_CELLS = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "ipytest", "memit", "lprun"})
"""Cell magics below which stands Python of this interpreter."""


def read_notebook(path: str, data: bytes) -> Source | Unreadable:
    """The code of a notebook."""
    if len(data) > LARGEST_BYTES:
        return Unreadable(
            path, 1, f"larger than {LARGEST_BYTES / 1e6:.0f} MB", "clear its outputs and run the audit again"
        )
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Unreadable(path, 1, f"not a valid notebook: {error}", "save it again from the notebook's editor")
    if not isinstance(document, Mapping) or not isinstance(_cells(document), list):
        return Unreadable(
            path, 1, "not a valid notebook: it has no list of cells", "save it again from the notebook's editor"
        )
    return _joined(path, list(_code(_cells(document))))


def _cells(document: Mapping[str, object]) -> object:
    """The list of cells; before format 4 it stood in the first worksheet."""
    sheets = document.get("worksheets")
    if isinstance(sheets, list) and sheets and isinstance(sheets[0], Mapping):
        return sheets[0].get("cells")
    return document.get("cells")


def _code(cells: object) -> Iterator[str]:
    for cell in cells if isinstance(cells, list) else ():
        if isinstance(cell, Mapping) and cell.get("cell_type") == "code":
            lines = cell.get("source", cell.get("input", ""))
            yield "".join(map(str, lines)) if isinstance(lines, list) else str(lines)


def _joined(path: str, codes: list[str]) -> Source:
    text, starts, left_out = [], [], []
    line = 1
    for number, code in enumerate(codes, 1):
        starts.append(line)
        plain, fault = plain_python(code.replace("\r\n", "\n").replace("\r", "\n"))
        if fault is not None:
            left_out.append(Unreadable(path, *fault, "fix the syntax of this cell and run the audit again", number))
        text.append(plain)
        line += plain.count("\n") + 1
    return Source(path, "\n".join(text) + "\n", tuple(starts), tuple(left_out))


def plain_python(code: str) -> tuple[str, tuple[int, str] | None]:
    """A cell without its magics, as many lines as before, and where it fails to parse: then it is blank."""
    if _parses(code) is None:
        return code, None
    plain = _without_magics(code)
    fault = _parses(plain)
    if fault is None:
        return plain, None
    return "\n" * code.count("\n"), fault


def _without_magics(code: str) -> str:
    lines = code.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        words = lines[first][2:].split()
        if not words or words[0] not in _PYTHON_CELLS:
            return "\n" * (len(lines) - 1)
        lines[first] = ""
    return "\n".join(_without_magic(line) for line in lines)


def _without_magic(line: str) -> str:
    if assigned := _ASSIGNED_MAGIC.match(line):
        return f"{assigned[1]}None"
    if magic := _LINE_MAGIC.match(line):
        return f"{magic[1]}pass"
    return line


def _parses(code: str) -> tuple[int, str] | None:
    """None, or the line and the word of the parser."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree_of(code)
    except SyntaxError as error:
        return error.lineno or 1, f"syntax error: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return 1, f"syntax error: {error}"
    return None
