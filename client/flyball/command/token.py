"""`flyball token`: a bearer token for a person or a scraper."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.errors import CommandError
from flyball.extras import advice, missing

EXAMPLE = "Example: flyball token viewer prometheus --file /etc/flyball/tokens"


class Role(StrEnum):
    """What its owner may do."""

    VIEWER = "viewer"
    OPERATOR = "operator"


def token(
    role: Annotated[Role, typer.Argument(help="viewer looks; operator also changes.")],
    name: Annotated[str, typer.Argument(help="Whose it is: a person, or prometheus.")],
    file: Annotated[
        Path | None, typer.Option("--file", help="Add its line to this tokens file (http.tokens_file).")
    ] = None,
) -> None:
    """Make a token; the collector keeps only its hash."""
    if absent := missing("collector"):
        raise CommandError(advice("flyball token", "collector", absent))
    from flyball_collector.security import tokens

    if not name.strip() or not name.isprintable():
        raise CommandError("NAME: expected a printable word or more, such as prometheus", 2)
    secret, line = tokens.new_token(tokens.Role[role.name], name)
    if file is None:
        typer.echo(f"add to the tokens file: {line}", err=True)
    else:
        _append(file, line)
        typer.echo(f"added {name} to {file}", err=True)
    typer.echo(secret)


def _append(file: Path, line: str) -> None:
    """A whole line at the end; a new file is its owner's alone."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "r+b") as out:
            whole = out.read()[-1:] in {b"", b"\n"}
            out.write(f"{line}\n".encode() if whole else f"\n{line}\n".encode())
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}") from None
