"""Output of commands: tables, JSON, Markdown and pages, on the screen or in a file.

Rich is imported only for a terminal: a pipe starts faster without it, and its lines are never wrapped or cut.
"""

import os
import re
import sys
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.specifications import make_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console, RenderableType

    from flyball_reports.section import Chart, Section

UNLIMITED_COLUMNS = 1_000_000
_INTERVAL = re.compile(r"\([^()]+ … [^()]+\)")  # 61 GiB (55 GiB … 68 GiB)


class OutputFormat(StrEnum):
    """A table for people or JSON for programs."""

    TABLE = "table"
    JSON = "json"


class EventFormat(StrEnum):
    """The same for events, which can also be written one JSON object a line."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


class ResultFormat(StrEnum):
    """The formats of a report."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


SUFFIXES = {
    ".md": ResultFormat.MARKDOWN,
    ".json": ResultFormat.JSON,
    ".html": ResultFormat.HTML,
    ".htm": ResultFormat.HTML,
    ".txt": ResultFormat.TABLE,
}

FormatOption = Annotated[OutputFormat, typer.Option("--format", "-f", help="Output format.")]
EventFormatOption = Annotated[
    EventFormat, typer.Option("--format", "-f", help="Output format; jsonl is one JSON object a line.")
]
ResultFormatOption = Annotated[
    ResultFormat | None,
    typer.Option("--format", "-f", help="Output format.  [default: by the suffix of --output, else table]"),
]


def check_writable(option: str, path: Path) -> Path:
    """Return the path if a file can be written there; raise before any work is done if not."""
    try:
        existing = path if path.exists() else path.parent
        if path.is_dir():
            raise WrongArgument(f"{option} {path} is a folder; name a file in it")
        if not path.parent.is_dir():
            raise WrongArgument(f"{option} {path}: there is no folder {path.parent}; create it, or name another")
        writable = os.access(existing, os.W_OK)
    except PermissionError:  # a folder above it may not be searched
        existing, writable = path.parent, False
    if not writable:
        raise WrongArgument(f"{option} {path}: no write permission for {existing}; name another file")
    return path


def _check_writable(parameter: typer.CallbackParam, path: Path | None) -> Path | None:
    return None if path is None else check_writable(parameter.opts[0], path)


OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write to this file, not to the screen.", callback=_check_writable
    ),
]
JournalOption = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        help="Keep results in this file, so that an interrupted command can continue.",
        callback=_check_writable,
    ),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show all details.")]


class CommandResult(Struct, frozen=True):
    """The result of a command, ready for every format."""

    title: str
    sections: "Sequence[Section]"
    document: object  # for JSON
    charts: "Callable[[], Mapping[str, Chart]]" = dict
    footer: str = ""


def console() -> "Console":
    """Return a console as wide as the terminal, or without a limit in a pipe or a file."""
    from rich.console import Console

    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=UNLIMITED_COLUMNS)


def write_view(view: "RenderableType", screen: "Console | None" = None) -> None:
    """Print a table or text; lines that go into a pipe or a file have no trailing spaces."""
    screen = screen or console()
    if screen.is_terminal:
        return screen.print(view)
    with screen.capture() as captured:
        screen.print(view)
    return typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def write_json(document: object) -> None:
    """Write a document to the standard output."""
    import json

    typer.echo(json.dumps(document, indent=2))


def write_result(result: CommandResult, report_format: ResultFormat | None = None, output: Path | None = None) -> None:
    """Write a result to the screen or to a file."""
    report_format = format_of(report_format, output)
    if output is None and report_format is ResultFormat.TABLE and sys.stdout.isatty():
        from flyball.command.sections_view import sections_view

        screen = console()
        return screen.print(sections_view(result.title, _with_note(result.sections), screen.width))
    text = rendered(result, report_format)
    return typer.echo(text, nl=False) if output is None else write_file(output, text)


def format_of(report_format: ResultFormat | None, output: Path | None) -> ResultFormat:
    """Return the requested format, or else the one of the file's suffix. Slow commands call this before they begin."""
    if report_format or output is None:
        return report_format or ResultFormat.TABLE
    suffix = output.suffix.lower()
    if suffix and suffix not in SUFFIXES:
        raise WrongArgument(
            f"--output {output}: {suffix} is not a known format; use {', '.join(SUFFIXES)}, or add --format"
        )
    return SUFFIXES.get(suffix, ResultFormat.MARKDOWN)


def rendered(result: CommandResult, report_format: ResultFormat) -> str:
    """Return the text of a result."""
    if report_format is ResultFormat.JSON:
        import json

        return json.dumps(result.document, indent=2, ensure_ascii=False) + "\n"
    if report_format is ResultFormat.HTML:
        from flyball_reports.page import page

        return page(result.title, result.sections, result.charts(), result.footer)
    if report_format is ResultFormat.MARKDOWN:
        from flyball_reports.markdown import markdown

        return markdown(result.title, _with_note(result.sections))
    from flyball.command.sections_text import sections_text

    return sections_text(result.title, _with_note(result.sections))


def _with_note(sections: "Sequence[Section]") -> "Sequence[Section]":
    """Add what figures in brackets mean, if there are any. Pages have it in their footer."""
    from flyball_reports.figures import INTERVALS
    from flyball_reports.section import Section

    texts = [text for section in sections for text in section.text]
    texts += [cell for section in sections for table in section.tables for row in table.rows for cell in row]
    if not any(_INTERVAL.search(text) for text in texts):
        return sections
    return [*sections, Section("", ("", INTERVALS))]


def write_new(files: "Mapping[Path, str]", option: str = "--write") -> None:
    """Write the files of an option that names a folder; create the folder, and never overwrite a file."""
    for path in files:
        if path.exists():
            raise CommandError(f"{path} exists already and was not changed; name another folder with {option}")
    for path, text in files.items():
        make_folder(path.parent, option)
        write_file(path, text)


def write_file(path: Path, text: str) -> None:
    """Write a file and report its size on the standard error. On a full disk no part of a new file stays."""
    from flyball_reports.errors import write_fault
    from flyball_reports.figures import size

    is_new = not os.path.lexists(path)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        if is_new:
            with suppress(OSError):
                path.unlink()
        raise CommandError(write_fault(path, error)) from None
    typer.echo(f"Wrote {path} ({size(len(text.encode()))}).", err=True)
