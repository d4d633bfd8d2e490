"""`flyball profile -- COMMAND`: run a command and report what it used."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.limits import finite
from flyball.command.output import (
    CommandResult,
    OutputOption,
    ResultFormat,
    ResultFormatOption,
    check_writable,
    format_of,
    rendered,
    write_file,
)

EXAMPLES = (
    "flyball profile -- python train.py",
    "flyball profile --page profile.html --output profile.json -- make -j8",
    "flyball profile --api http://127.0.0.1:8000/health -- python client.py",
)


class _NotStarted(CommandError):
    """A command that cannot be started, with the exit status of a shell."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def _page_path(path: Path | None) -> Path | None:
    return None if path is None else check_writable("--page", path)


def profile(
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND…", help="The command with its arguments, after --. It runs unchanged."),
    ],
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.01, max=3600, callback=finite, help="Time between two samples.")
    ] = 1.0,
    output: OutputOption = None,
    format_: ResultFormatOption = None,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", callback=_page_path, help="Also write a page with plots to this file."),
    ] = None,
    api: Annotated[str, typer.Option(metavar="URL", help="Also measure round trips to this URL or host:port.")] = "",
) -> None:
    """Run a command and report what it and its child processes used, and which resource was closest to its limit.

    Its input, output, signals and exit status pass through. The report goes to the standard error or to --output.
    """
    from flyball.command.profile_report import report_of
    from flyball.profiling.command_process import NotStarted
    from flyball.profiling.command_profile import profile_command

    report_format = format_of(format_, output)
    _check(api)
    try:
        found = profile_command(command, interval, api or None)
    except NotStarted as error:
        raise _NotStarted(str(error), error.status) from None
    try:
        _write(report_of(found), report_format, output, page)
    except CommandError as error:
        typer.echo(f"flyball: {error}", err=True)
        raise typer.Exit(found.status or error.status) from None
    except OSError:  # nobody reads the standard error any more
        pass
    raise typer.Exit(found.status)


def _check(api: str) -> None:
    """Raise an error for what cannot work, before the command runs."""
    from flyball.profiling.engine import has_proc
    from flyball_agent.probes.round_trip import BadTarget, parse_target

    if not (has_proc() and hasattr(os, "posix_spawnp")):
        raise CommandError("`flyball profile` needs Linux: it reads /proc. In Python, use flyball.ProfilingEngine")
    try:
        parse_target(api or "localhost:1")
    except BadTarget as error:
        raise WrongArgument(f"--api: {str(error).removeprefix('latency target ')}") from None


def _write(result: CommandResult, report_format: ResultFormat, output: Path | None, page: Path | None) -> None:
    if page is not None:
        write_file(page, rendered(result, ResultFormat.HTML))
    if output is not None:
        write_file(output, rendered(result, report_format))
    elif report_format is ResultFormat.TABLE and sys.stderr.isatty():
        from rich.console import Console

        from flyball.command.sections_view import sections_view

        screen = Console(stderr=True)
        screen.print(sections_view(result.title, result.sections, screen.width))
    else:
        typer.echo(rendered(result, report_format), nl=False, err=True)
