"""Every command that a message, a docstring, the page or a document names exists."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import typer
from typer.core import TyperGroup

from flyball.command import SEPARATE, SUMMARIES, build

ROOT = Path(__file__).parents[2]
PACKAGES = ("agent", "audit", "client", "collector", "daemon", "planner", "reports")
TEXTS = ("*.md", "docs/**/*.md", "deploy/**/*", "examples/**/*", "grafana/generator/*.py", "collector/**/page/*.js",
         "collector/**/page/*.html", "Makefile")  # fmt: skip

_NAMED = re.compile(r"(?<![\w./-])(?<!-n )(?<!from )flyball ([a-z]+)(?: ([a-z]+)\b)?")
_NO_COMMANDS = {"command"}
"""Words that follow `flyball` where it is the name of the program."""


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words after `flyball` in a text: a command, and what may be its subcommand."""
    for found in _NAMED.finditer(text):
        if found[1] not in _NO_COMMANDS:
            yield found[1], found[2] or ""


def _strings(source: str) -> Iterator[str]:
    """Yield the texts of a module, with a placeholder for each value in them."""
    tree = ast.parse(source)
    within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]  # texts
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
            yield node.value


def _sources() -> dict[str, list[str]]:
    """Return the texts of all files by name."""
    modules = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    found = {path: list(_strings(path.read_text(encoding="utf-8"))) for path in modules}
    files = [path for pattern in TEXTS for path in ROOT.glob(pattern) if path.is_file() and path not in found]
    for path in files:
        try:
            found[path] = [path.read_text(encoding="utf-8")]
        except UnicodeDecodeError:  # an image
            continue
    return {str(path.relative_to(ROOT)): texts for path, texts in found.items()}


@cache
def _subcommands(name: str) -> frozenset[str]:
    """Return the subcommands of a group; nothing for other commands."""
    program = build()
    command = program.get_command(typer.Context(program), name)
    return frozenset(command.commands) if isinstance(command, TyperGroup) else frozenset()


def _unknown(name: str, second: str) -> bool:
    """Return True if there is no such command. The second word counts only where a group has subcommands."""
    if name not in SUMMARIES:
        return True
    if name in SEPARATE:  # their parsers are tested with the documents
        return False
    return bool(second and _subcommands(name)) and second not in _subcommands(name)


def test_the_pattern_finds_commands() -> None:
    """Commands in sentences, quotes and f-strings are found; paths, options and the program's name are not."""
    source = (
        "f'see `flyball host {name}` or flyball hosts'\n'cd /opt/flyball bin; the flyball command; pip flyball-fleet'"
    )
    assert [pair for text in _strings(source) for pair in _named(text)] == [("host", ""), ("hosts", "")]
    assert _unknown("adjusts", "")
    assert _unknown("token", "ad")
    assert not _unknown("token", "add")


def test_named_commands_exist() -> None:
    """Messages, docstrings, the page and documents name only commands that exist."""
    pairs = {(file, *pair) for file, texts in _sources().items() for text in texts for pair in _named(text)}
    assert len(pairs) > 200
    assert sorted(pair for pair in pairs if _unknown(*pair[1:])) == []
