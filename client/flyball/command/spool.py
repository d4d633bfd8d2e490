"""`flyball spool inspect`: the records that wait on a host for the collector."""

from pathlib import Path
from typing import Annotated

import typer

from flyball.command.command_help import add_command, command_group
from flyball.command.errors import CommandError
from flyball.command.output import FormatOption, OutputFormat
from flyball.extras import advice, missing


def build() -> typer.Typer:
    """Return the group of commands."""
    group = command_group("Inspect the records that wait on a host for the collector.")
    add_command(group, "inspect", inspect, ["flyball spool inspect .flyball/agent --format json"])
    return group


def inspect(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]", help="State directory of an agent.  [default: state_directory of the settings]"
        ),
    ] = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """List epochs, files, ranges of records, damage and losses.

    Files are only read, so this is safe while the agent runs.
    """
    if absent := missing("agent"):
        raise CommandError(advice("flyball spool", "agent", absent))
    from flyball_agent.command import main

    words = ["spool", "inspect", *([str(directory)] if directory else []), "--format", format_.value]
    raise typer.Exit(main(words, program="flyball"))
