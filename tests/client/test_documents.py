"""What the documents say holds: every link leads somewhere, every command line is one that the program takes."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

import flyball_agent.command as agent_command
import flyball_collector.command as collector_command
from flyball.command import build

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(flyball(?:-agent|-collector)? [^`]*)`")
_COMMAND = re.compile(r"^(?:\.venv/bin/|/opt/flyball/bin/|sudo )*(flyball(?:-agent|-collector)?(?: .*)?)$")


def _anchors(text: str) -> set[str]:
    """The names that a page's headings get where it is shown."""
    headings = _HEADING.findall(_CODE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    """Files and folders exist, and so do the headings that are named behind a `#`."""
    page = ROOT / name
    for link in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name}: {link}"
        assert not anchor or anchor in _anchors(target.read_text(encoding="utf-8")), f"{name}: {link}"


def _commands(text: str) -> Iterator[str]:
    """Command lines of blocks and of the running text; a comment behind one, and what is piped, is not of it."""
    for block in _CODE.findall(text):
        for line in block.splitlines():
            for part in line.split("#")[0].split("&&"):
                if found := _COMMAND.match(part.strip()):
                    yield found[1].split("|")[0].strip()
    yield from _INLINE.findall(_CODE.sub("", text))


def _given(command: str) -> Iterator[list[str]]:
    """The words of a command line; what stands in brackets may be left out, so both ways must be right."""
    cleaned = re.sub(r"\$\([^)]*\)", "x", command).replace("…", "").replace("`", "")
    yield shlex.split(re.sub(r"\[[^\]]*\]", "", cleaned))
    if "[" in cleaned:
        yield shlex.split(re.sub(r"[\[\]]", "", re.sub(r"(\w)(\|\w+)+", r"\1", cleaned)))


_CASES = [(name, command) for name in NAMES for command in _commands((ROOT / name).read_text(encoding="utf-8"))]


def test_the_documents_show_commands() -> None:
    """The pattern finds them: otherwise nothing below would be tested."""
    assert len(_CASES) > 30
    assert {"README.md", "docs/operating.md", "docs/security.md", "docs/http-api.md"} <= {name for name, _ in _CASES}


@pytest.mark.parametrize(("name", "command"), _CASES, ids=[f"{name}:{command}" for name, command in _CASES])
def test_every_command_line_is_one_that_the_program_takes(name: str, command: str) -> None:
    """Commands and options exist, and no argument is missing or one too many."""
    for words in _given(command):
        problem = _problem(words)
        assert problem is None, f"{name}: {command}: {problem}"


def _problem(words: list[str]) -> str | None:
    program, rest = words[0].partition("-")[2] or (words[1] if len(words) > 1 else ""), words[1:]
    daemons = {"agent": agent_command, "collector": collector_command}
    if program in daemons:
        return _daemon_problem(daemons[program]._parser(), rest[1:] if rest[:1] == [program] else rest)
    if not rest or rest == ["--help"]:
        return None
    group = typer.main.get_command(build())
    assert isinstance(group, TyperGroup)
    return _click_problem(group, rest)


def _daemon_problem(parser: argparse.ArgumentParser, words: list[str]) -> str | None:
    try:
        parser.parse_args(words)
    except SystemExit as end:
        return f"status {end.code}" if end.code else None
    return None


def _click_problem(group: TyperGroup, words: list[str]) -> str | None:
    """Parse without running, group after group."""
    name, rest = words[0], words[1:]
    command = group.commands.get(name)
    if command is None:
        return f"there is no command {name}"
    if isinstance(command, TyperGroup):
        return _click_problem(command, rest) if rest else None  # of the group is spoken
    try:
        command.make_context(name, rest)
    except TyperException as error:
        return str(error)
    except typer.Exit:  # --help
        return None
    return None


@pytest.mark.parametrize(
    "wrong",
    [
        "hosts --bogus",
        "agent --bogus",
        "agent spool inspekt",
        "certs issue --collecter x",
        "nothing",
        "config show x y z",
    ],
)
def test_a_wrong_command_line_would_be_found(wrong: str) -> None:
    """Otherwise the test above could not fail."""
    assert _problem(["flyball", *wrong.split()]) is not None
