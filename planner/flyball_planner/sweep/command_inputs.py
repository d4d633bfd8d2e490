"""Finds values that a command cannot receive: neither an argument nor a file of its program contains their name."""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from flyball_planner.sweep.commands import VARIABLE

PREFIX = re.compile(rb"FLYBALL_(?![A-Z0-9])")  # a name that a program puts together itself
LARGEST_BYTES = 16_000_000  # larger files may contain the name
SOURCES = frozenset({".py", ".sh", ".bash", ".jl", ".r", ".pl", ".rb", ".js", ".ts", ".lua"})
MOST_FILES = 300  # beside the program


def unused_names(command: Sequence[str], names: Iterable[str], folder: Path | None = None) -> list[str]:
    """Return the names whose values cannot reach the command: without `{name}` and without `FLYBALL_NAME` anywhere.

    The variable may be in an argument (`sh -c`, `python -c`), in the program, or in a source file beside it.
    """
    missing = [name for name in names if not any(f"{{{name}}}" in word for word in command)]
    if not missing:
        return []
    contents = [word.encode() for word in command]
    for path in _files(command, folder or Path()):
        content = _content(path)
        if content is None:
            return []  # an unreadable or very large file may read every variable
        contents.append(content)
    return [name for name in missing if not any(_mentions(content, name) for content in contents)]


def _mentions(content: bytes, name: str) -> bool:
    exact = re.escape(VARIABLE.format(name.upper()).encode())
    return bool(re.search(exact + rb"(?![A-Z0-9_])", content) or PREFIX.search(content))


def _files(command: Sequence[str], folder: Path) -> Iterator[Path]:
    """Yield the program, the files among its arguments, its modules, and the sources beside these."""
    program = shutil.which(command[0], path=None) if command else None
    if program:
        yield Path(program).resolve()
    for path in _named(command, folder):
        yield path
        if path.suffix.lower() in SOURCES:
            yield from _beside(path)


def _named(command: Sequence[str], folder: Path) -> Iterator[Path]:
    for before, word in zip(("", *command), command, strict=False):
        module = folder / Path(*word.split(".")) if before == "-m" and word.replace(".", "").isidentifier() else None
        candidates = [module.with_suffix(".py"), module / "__main__.py"] if module else [folder / word]
        for path in candidates:
            if len(word) < MOST_FILES and path.is_file():
                yield path


def _beside(path: Path) -> Iterator[Path]:
    found = (each for each in path.parent.rglob("*") if each.suffix.lower() in SOURCES and each.is_file())
    for number, each in enumerate(found):
        if number >= MOST_FILES:
            return
        if each != path:
            yield each


def _content(path: Path) -> bytes | None:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None
