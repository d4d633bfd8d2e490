"""How planning commands tell what they found: a table, Markdown, JSON or a page, to the screen or into a file.

Rich is imported for a terminal alone: a pipe starts sooner without it, and gets text that no width has cut.
"""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from flyball.command.errors import CommandError
from flyball.command.specifications import WRONG, make_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from flyball_reports.section import Chart, Section


class Form(StrEnum):
    """How it is written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


class PlainForm(StrEnum):
    """The same where the answer is a few lines, of which no page is made."""

    TABLE = "table"
    JSON = "json"


SUFFIXES = {".md": Form.MARKDOWN, ".json": Form.JSON, ".html": Form.HTML, ".htm": Form.HTML, ".txt": Form.TABLE}

FormOption = Annotated[
    Form | None,
    typer.Option("--format", "-f", help="A table for the terminal, or a format for files; else by --output's suffix."),
]
PlainFormOption = Annotated[PlainForm, typer.Option("--format", "-f", help="Lines for the terminal, or JSON.")]


def writable(what: str, path: Path) -> Path:
    """A file that can be written, or what stands in the way: told before anything is run."""
    stands = path if path.exists() else path.parent
    if path.is_dir():
        raise CommandError(f"{what} {path} is a folder; name a file in it", WRONG)
    if not path.parent.is_dir():
        raise CommandError(f"{what} {path}: there is no folder {path.parent}; make it, or name another", WRONG)
    if not os.access(stands, os.W_OK):
        raise CommandError(f"{what} {path} cannot be written: {stands} is not yours to write", WRONG)
    return path


def _writable(parameter: typer.CallbackParam, path: Path | None) -> Path | None:
    return None if path is None else writable(parameter.opts[0], path)


OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="A file instead of the screen.", callback=_writable)
]
JournalOption = Annotated[
    Path | None,
    typer.Option("--journal", help="A file that keeps results: what was stopped goes on.", callback=_writable),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Leave nothing out.")]


class CommandResult(Struct, frozen=True):
    """What a command found, ready for every format."""

    title: str
    sections: "Sequence[Section]"
    document: object  # what JSON says
    charts: "Callable[[], Mapping[str, Chart]]" = dict
    footer: str = ""


def tell(told: CommandResult, form: Form | None = None, output: Path | None = None) -> None:
    """Write it where it was asked for."""
    form = form_of(form, output)
    if output is None and form is Form.TABLE and sys.stdout.isatty():
        from rich.console import Console

        from flyball.command.sections_view import sections_view

        return Console().print(sections_view(told.title, told.sections))
    text = rendered(told, form)
    return typer.echo(text, nl=False) if output is None else write_file(output, text)


def form_of(form: Form | None, output: Path | None) -> Form:
    """The format that is asked for, or else that the file's suffix means. What takes long asks before it begins."""
    if form or output is None:
        return form or Form.TABLE
    suffix = output.suffix.lower()
    if suffix and suffix not in SUFFIXES:
        raise CommandError(
            f"--output {output}: no format is known by {suffix}; end it with {', '.join(SUFFIXES)}, or name a --format",
            WRONG,
        )
    return SUFFIXES.get(suffix, Form.MARKDOWN)


def rendered(told: CommandResult, form: Form) -> str:
    """The whole text of a format."""
    if form is Form.JSON:
        import json

        return json.dumps(told.document, indent=2, ensure_ascii=False) + "\n"
    if form is Form.HTML:
        from flyball_reports.page import page

        return page(told.title, told.sections, told.charts(), told.footer)
    if form is Form.MARKDOWN:
        from flyball_reports.markdown import markdown

        return markdown(told.title, told.sections)
    from flyball.command.sections_text import sections_text

    return sections_text(told.title, told.sections)


def write_new(files: "Mapping[Path, str]") -> None:
    """Files of `--write`, in a folder that is made where there is none; what is there already is left as it is."""
    for path in files:
        if path.exists():
            raise CommandError(f"{path} is there already, and is left as it is; name another folder with --write")
    for path, text in files.items():
        make_folder(path.parent)
        write_file(path, text)


def write_file(path: Path, text: str) -> None:
    """Write a file and say so; what stands in the way is said in words."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}") from None
    typer.echo(f"{path}: {len(text.encode()):,} bytes", err=True)
