"""Test the documents: links work, every page can be reached, command lines and settings are valid."""

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
from flyball.command import SUMMARIES, build
from flyball.hooks import run_command
from flyball_agent.settings import AgentSettings
from flyball_collector.settings import CollectorSettings
from flyball_daemon.settings import load

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
FOLDERS = ("docs", "deploy", "examples", "grafana")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_IMAGE_SOURCE = re.compile(r"(?:src|href)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_TOML = re.compile(r"^ *```toml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(flyball(?:-agent|-collector)? [^`]*)`")
_COMMAND = re.compile(
    r"^(?:- run: |\$ |# |sudo |\.venv/bin/|/opt/flyball(?:-[0-9.]+)?/bin/)*(flyball(?:-agent|-collector)?(?: .*)?)$"
)


def _links(page: Path) -> Iterator[str]:
    """Yield the targets of a page's links and images, without links to other sites."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    for link in [*_LINK.findall(text), *_IMAGE_SOURCE.findall(text)]:
        if not re.match(r"[a-z]+:", link):
            yield link


def _anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = _HEADING.findall(_CODE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def _broken(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(anchor and anchor not in _anchors(target.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_relative_links_work(name: str) -> None:
    """The file or folder of each relative link exists, and so does the heading after a `#`."""
    page = ROOT / name
    assert [link for link in _links(page) if _broken(page, link)] == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    """A missing file, a missing heading and a missing image are reported; other sites and code are not."""
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](missing.md) [b](#there) [c](#here) [d](https://flyball.example/x)\n```\n[e](missing.md)\n```\n"
        '<img src="missing.svg">\n'
    )
    assert [link for link in _links(page) if _broken(page, link)] == ["missing.md", "#there", "missing.svg"]


def _reachable(page: Path) -> set[Path]:
    """Return the files that can be reached from a page by following links."""
    found, waiting = {page}, [page]
    while waiting:
        current = waiting.pop()
        for link in _links(current) if current.suffix == ".md" else ():
            target = (current.parent / link.partition("#")[0]).resolve()
            if target.is_file() and target not in found:
                found.add(target)
                waiting.append(target)
    return found


def test_every_file_in_docs_can_be_reached_from_the_index() -> None:
    """No page, drawing or schema is hidden from a reader who begins at docs/README.md."""
    files = {path for path in DOCS.rglob("*") if path.is_file() and not {"generator", "__pycache__"} & {*path.parts}}
    assert sorted(str(path.relative_to(ROOT)) for path in files - _reachable(INDEX)) == []


def test_the_readme_leads_to_the_index() -> None:
    """A reader of the README finds the index."""
    assert INDEX in _reachable(ROOT / "README.md")


def _commands(text: str) -> Iterator[str]:
    """Yield the command lines of code blocks and inline code, without comments and what they are piped into.

    Inline code that only names a command needs no arguments; `--help` after it checks that the command exists.
    """
    for block in _CODE.findall(text):
        for line in block.splitlines():
            for part in line.strip().split("  #")[0].split(" && "):
                if found := _COMMAND.match(part.strip()):
                    yield re.split(r" [|>] ", found[1])[0].strip()
    for inline in _INLINE.findall(_CODE.sub("", text)):
        yield f"{inline} --help" if re.fullmatch(r"flyball [a-z]+( [a-z]+)?", inline) else inline


def _variants(command: str) -> Iterator[list[str]]:
    """Yield the words of a command line without the parts in brackets, and with them."""
    cleaned = re.sub(r"\$\([^)]*\)", "x", command).replace("…", "").replace("`", "")
    yield shlex.split(re.sub(r"\[[^\]]*\]", "", cleaned))
    if "[" in cleaned:
        yield shlex.split(re.sub(r"[\[\]]", "", re.sub(r"(\w)(\|\w+)+", r"\1", cleaned)))


_CASES = [(name, command) for name in NAMES for command in _commands((ROOT / name).read_text(encoding="utf-8"))]


def test_the_documents_contain_commands() -> None:
    """The pattern finds command lines in the pages that have some."""
    assert len(_CASES) > 60
    assert {"README.md", "docs/tutorial/README.md", "docs/how-to/fleet.md"} <= {name for name, _ in _CASES}


@pytest.mark.parametrize(("name", "command"), _CASES, ids=[f"{name}:{command}" for name, command in _CASES])
def test_command_lines_are_valid(name: str, command: str) -> None:
    """Commands and options exist, and the number of arguments is right."""
    for words in _variants(command):
        problem = _problem(words)
        assert problem is None, f"{name}: {command}: {problem}"


def _problem(words: list[str]) -> str | None:
    program, rest = words[0].partition("-")[2] or (words[1] if len(words) > 1 else ""), words[1:]
    daemons = {"agent": agent_command, "collector": collector_command}
    if program == "run":
        own, command = run_command.split(rest[1:])
        return _daemon_problem(run_command.build_parser(), [*own, "--", *command[:1]])
    if program in daemons:
        return _daemon_problem(daemons[program]._parser(), rest[1:] if rest[:1] == [program] else rest)
    if not rest or rest in (["--help"], ["--version"]):
        return None
    return _command_problem(build(), rest)


def _daemon_problem(parser: argparse.ArgumentParser, words: list[str]) -> str | None:
    try:
        parser.parse_args(words)
    except SystemExit as end:
        return f"status {end.code}" if end.code else None
    return None


def _command_problem(group: TyperGroup, words: list[str]) -> str | None:
    """Parse a command line without running it, group after group."""
    name, rest = words[0], words[1:]
    try:
        command = group.get_command(typer.Context(group), name)
    except ModuleNotFoundError:
        command = None
    if command is None:
        return f"there is no command {name}"
    if isinstance(command, TyperGroup):
        return _command_problem(command, rest) if rest and rest != ["--help"] else None
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
def test_a_wrong_command_line_is_found(wrong: str) -> None:
    """An unknown command, an unknown option and a surplus argument are reported."""
    assert _problem(["flyball", *wrong.split()]) is not None


def test_the_reference_of_commands_lists_them_all() -> None:
    """docs/commands.md has a row for each command of the command line."""
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert [name for name in SUMMARIES if f"| `flyball {name}" not in page] == []


_SETTINGS = [
    (name, text) for name in NAMES for text in _TOML.findall((ROOT / name).read_text(encoding="utf-8"))
    if re.search(r"^ *\[(grpc|http|notify|tls)", text, re.MULTILINE)
]  # fmt: skip


@pytest.mark.parametrize("text", [text for _, text in _SETTINGS], ids=[name for name, _ in _SETTINGS])
def test_settings_in_documents_are_valid(text: str, tmp_path: Path) -> None:
    """Keys of a daemon's settings exist and have values of the right type."""
    file = tmp_path / "settings.toml"
    file.write_text(text)
    if "[tls]" in text:
        load(AgentSettings, file=file)
    else:
        load(CollectorSettings, file=file)


def test_the_alerts_are_those_of_the_runbooks() -> None:
    """docs/alerts.md lists each runbook with the summary and the severities that the runbook opens with."""
    row = re.compile(r"^\| \[(\w+)\]\(runbooks/\1\.md\) \| (.*) \| (.*) \|$", re.MULTILINE)
    rows = row.findall((DOCS / "alerts.md").read_text(encoding="utf-8"))
    listed = {alert: f"{summary} Severity: {severity}." for alert, severity, summary in rows}
    assert listed == {path.stem: path.read_text().splitlines()[2] for path in (DOCS / "runbooks").glob("*.md")}


def test_the_tutorial_shows_lines_of_its_scripts() -> None:
    """Every Python line on the page of the tutorial is a line of a script beside it."""
    page = (DOCS / "tutorial/README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    scripts = (path.read_text(encoding="utf-8") for path in (DOCS / "tutorial").glob("*.py"))
    lines = {line.strip() for script in scripts for line in script.splitlines()}
    assert blocks
    assert [line for block in blocks for line in block.splitlines() if line.strip() not in lines] == []
