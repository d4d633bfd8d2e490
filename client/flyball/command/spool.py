"""`flyball spool inspect`: what an agent keeps until its collector has it safe."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.errors import CommandError
from flyball.extras import advice, missing


class Format(StrEnum):
    """How it is shown."""

    TEXT = "text"
    JSON = "json"


def build() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(help="Look into an agent's spool.", no_args_is_help=True)
    app.command(epilog="Example: flyball spool inspect .flyball/agent --format json")(inspect)
    app.callback()(_group)
    return app


def _group() -> None:
    """Look into an agent's spool."""


def inspect(
    directory: Annotated[Path | None, typer.Argument(help="The agent's state_directory; else of its settings.")] = None,
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
) -> None:
    """Show epochs, files, ranges, damage and losses; only reads, also beside a running agent."""
    if absent := missing("agent"):
        raise CommandError(advice("flyball spool", "agent", absent))
    from flyball_agent.command import main

    raise typer.Exit(main(["spool", "inspect", *([str(directory)] if directory else []), "--format", format_.value]))
