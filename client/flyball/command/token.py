"""`flyball token`: access tokens of people and scrapers."""

import os
import shlex
import stat
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.command_help import add_command, command_group
from flyball.command.config import load_settings
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.output import FormatOption, OutputFormat, write_json
from flyball.command.printable import printable
from flyball.extras import advice, missing

if TYPE_CHECKING:
    from flyball_collector.security.tokens import Token

_SYSTEM_FILE = Path("/etc/flyball/tokens")
_CREDENTIALS = Path("/run/credentials")


class TokenRole(StrEnum):
    """The rights of a token."""

    VIEWER = "viewer"
    OPERATOR = "operator"


FileOption = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Tokens file.  [default: http.tokens_file of the settings]"),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", metavar="FILE", help="The collector's settings.  [default: /etc/flyball/collector.toml]"
    ),
]


def build() -> typer.Typer:
    """Return the group of commands."""
    group = command_group("Add, list and revoke access tokens. The tokens file holds their hashes.")
    examples = [
        "flyball token add viewer prometheus --file /etc/flyball/tokens",
        "flyball token add operator 'Ada Lovelace' --file /etc/flyball/tokens > ada.token",
    ]
    add_command(group, "add", add, examples)
    add_command(group, "list", list_tokens, ["flyball token list --file /etc/flyball/tokens"])
    add_command(group, "revoke", revoke, ["flyball token revoke prometheus --file /etc/flyball/tokens"])
    return group


def add(
    role: Annotated[
        TokenRole,
        typer.Argument(metavar="ROLE", help="viewer or operator. A viewer reads; an operator can also change things."),
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The owner: a person, or prometheus.")],
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Add the token to this tokens file.")
    ] = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Create a token and print it. It cannot be printed again: the collector keeps only its hash."""
    _check_packages()
    from flyball_collector.security import tokens

    if not name.strip() or not name.isprintable():
        raise WrongArgument("NAME: expected printable text, such as prometheus")
    if file is not None and os.path.exists(file):  # noqa: PTH110  unlike that of a path, it never raises an error
        _read(file)
    secret, line = tokens.new_token(tokens.Role[role.name], name)
    if file is None:
        notes = [f"Add this line to the collector's tokens file: {line}"]
    else:
        _write(lambda: tokens.add_token_line(file, line))
        notes = [f"Added {role.value} {printable(name)} to {file}.", *_instructions(file)]
    if format_ is OutputFormat.JSON:
        (token,) = tokens.parse_tokens(line)
        return write_json({"id": token.id, "role": role.value, "name": name, "token": secret, "line": line})
    typer.echo("\n".join([*notes, "The token, which cannot be printed again:"]), err=True)
    return typer.echo(secret)


def list_tokens(
    file: FileOption = None, config: ConfigOption = None, format_: FormatOption = OutputFormat.TABLE
) -> None:
    """List the tokens with their ids. The tokens themselves are not stored, so they cannot be listed."""
    tokens = _read(_path(file, config))
    if format_ is OutputFormat.JSON:
        return write_json([_row(token) for token in tokens])
    if not tokens:
        return typer.echo("There are no tokens.")
    typer.echo(f"{'ID':12}  {'ROLE':8}  NAME")
    for token in tokens:
        typer.echo(f"{token.id:12}  {token.role.name.lower():8}  {printable(token.name)}")
    return None


def revoke(
    token: Annotated[str, typer.Argument(metavar="ID|NAME", help="As `flyball token list` shows them.")],
    file: FileOption = None,
    config: ConfigOption = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Remove a token from the tokens file. A collector that uses this file rejects it from the next request on."""
    _check_packages()
    from flyball_collector.security.tokens import revoke_tokens

    path = _path(file, config)
    revoked = _matching(_read(path), token, path)
    _write(lambda: revoke_tokens(path, revoked))
    copied = _is_copied(config)
    if format_ is OutputFormat.JSON:
        return write_json([_row(each) | {"restart_needed": copied} for each in revoked])
    for each in revoked:
        typer.echo(f"Revoked {each.role.name.lower()} {printable(each.name)} ({each.id}).")
    if copied:
        return typer.echo("The collector uses a copy of this file. Restart it: systemctl restart flyball-collector")
    return typer.echo("A collector that uses this file rejects the token from the next request on, without a restart.")


def _matching(tokens: Sequence["Token"], wanted: str, path: Path) -> list["Token"]:
    """Return the one token of this id or name."""
    found = [each for each in tokens if each.id == wanted] or [each for each in tokens if each.name == wanted]
    if not found:
        from flyball_daemon.suggestion import suggestion

        hint = suggestion(wanted, [each.name for each in tokens]) or f"; `flyball token list --file {path}` lists all"
        raise WrongArgument(f"{path} has no token with the id or name {printable(wanted)!r}{hint}")
    if len(found) > 1:
        ids = ", ".join(each.id for each in found)
        raise WrongArgument(f"{len(found)} tokens have the name {printable(wanted)!r}; revoke one by its id: {ids}")
    return found


def _path(file: Path | None, config: Path | None) -> Path:
    _check_packages()
    if file is not None:
        return file
    configured = load_settings("collector", config).settings.http.tokens_file
    if not configured:
        raise WrongArgument("name the tokens file with --file; http.tokens_file is not set in the collector's settings")
    return Path(configured)


def _is_copied(config: Path | None) -> bool:
    """Return True if systemd gives the collector a copy of its tokens file, made at its start."""
    configured = load_settings("collector", config).settings.http.tokens_file
    return bool(configured) and _CREDENTIALS in Path(configured).parents


def _instructions(file: Path) -> Iterator[str]:
    """Yield what is left to do so that the unit of the collector, which has a user of its own, can read the file."""
    path = file.absolute()
    if path.parent == _SYSTEM_FILE.parent:
        if not path.stat().st_mode & stat.S_IROTH:
            yield (
                "The collector's unit runs as another user. The file holds only hashes, so let it be read:\n"
                f"  chmod 0644 {path}"
            )
    else:
        yield (
            "The collector's unit can read /etc/flyball, but not home folders. Install the file there:\n"
            f"  install -D -m 0644 {shlex.quote(os.fspath(path))} {_SYSTEM_FILE}"
        )
        path = _SYSTEM_FILE
    yield f'Set in /etc/flyball/collector.toml:\n  [http]\n  tokens_file = "{path}"'


def _read(path: Path) -> "tuple[Token, ...]":
    from flyball_collector.security.tokens import TokensError, read_tokens

    try:
        return read_tokens(path)
    except TokensError as error:
        absent = str(error) == f"there is no file {path}"
        hint = f". Name the tokens file with --file, or create it: flyball token add ROLE NAME --file {path}"
        raise WrongArgument(f"{error}{hint if absent else ''}") from None


def _write(action: Callable[[], None]) -> None:
    from flyball_collector.security.tokens import TokensError

    try:
        action()
    except TokensError as error:
        raise CommandError(str(error)) from None


def _check_packages() -> None:
    if absent := missing("collector"):
        raise CommandError(advice("flyball token", "collector", absent))


def _row(token: "Token") -> dict[str, str]:
    return {"id": token.id, "role": token.role.name.lower(), "name": token.name}
