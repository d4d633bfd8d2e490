"""Files as text: Python and notebooks in any encoding, read and parsed, never run; what cannot be read says why."""

import ast
import io
import os
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from flyball_audit.newer import tree_of

LARGEST_BYTES = 8_000_000
"""No one writes longer files by hand: a generated table, which has no loops to look at (notebooks carry pictures)."""

SKIPPED = frozenset({
    "__pycache__", "__pypackages__", "build", "dist", "node_modules", "site-packages", "venv", "wandb", "mlruns",
})  # fmt: skip
"""Folders of what others wrote or machines made; so are those whose name begins with a dot."""


@dataclass(frozen=True)
class Unreadable:
    """A file, or a cell of a notebook, that was left out."""

    path: str
    line: int
    why: str
    what_to_do: str
    cell: int | None = None

    def __str__(self) -> str:
        cell = f":cell {self.cell}" if self.cell is not None else ""
        return f"{self.path}{cell}:{self.line}: {self.why}; {self.what_to_do}"


@dataclass(frozen=True)
class Source:
    """The text of one file; of a notebook, that of its code cells, one after the other."""

    path: str
    text: str
    cells: tuple[int, ...] = ()
    """Of a notebook: the line of the text at which each code cell begins, from 1."""
    left_out: tuple[Unreadable, ...] = ()
    """Cells of a notebook that do not parse."""

    def place(self, line: int) -> tuple[int | None, int]:
        """The cell (None outside notebooks) and the line in it, both from 1, of a line of the text."""
        if not self.cells:
            return None, line
        cell = bisect_right(self.cells, line)
        return cell, line - self.cells[cell - 1] + 1


def python_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files to read: those named, and all Python files and notebooks in the folders named, in order, once each."""
    seen = set()
    for path in paths:
        for each in _inside(path) if path.is_dir() else (path,):
            if (real := os.path.realpath(each)) not in seen:  # a loop of links is no error here: reading it is
                seen.add(real)
                yield each


def _inside(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        yield folder  # reading it will say that it cannot be
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in SKIPPED:
            continue
        if entry.is_dir():
            if not entry.is_symlink():
                yield from _inside(entry)
        elif entry.suffix in {".py", ".ipynb"} and entry.is_file():
            yield entry


def decode(data: bytes) -> str:
    """The text of a Python file: by its mark or coding line, else UTF-8, else Latin-1, which reads anything."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        text = data.decode("latin-1")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def read_python(path: str, data: bytes) -> Source | Unreadable:
    """A Python file's text."""
    if len(data) > LARGEST_BYTES:
        return Unreadable(
            path, 1, f"larger than {LARGEST_BYTES / 1e6:.0f} MB", "audit the source it was generated from"
        )
    if b"\0" in data:
        return Unreadable(path, 1, "contains null bytes, so it is not Python source", "exclude it, or save it as UTF-8")
    return Source(path, decode(data))


def parse(source: Source) -> ast.Module | Unreadable:
    """The syntax tree of a text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes are for a linter to say
            return tree_of(source.text)
    except SyntaxError as error:
        return _syntax_fault(source, error)
    except (ValueError, RecursionError, MemoryError) as error:
        return Unreadable(source.path, 1, f"too deeply nested to parse ({error})", "split its deepest expression")


def _syntax_fault(source: Source, error: SyntaxError) -> Unreadable:
    cell, line = source.place(max(1, error.lineno or 1))
    message = error.msg or "syntax error"
    if "Missing parentheses in call to 'print'" in message or "Missing parentheses in call to 'exec'" in message:
        return Unreadable(source.path, line, "Python 2 code (a print statement)", "convert it to Python 3 first", cell)
    return Unreadable(source.path, line, f"syntax error: {message}", "fix the syntax and run the audit again", cell)
