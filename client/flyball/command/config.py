"""`flyball config show`: which settings are in force, and where each came from."""

import json
import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flyball.command.errors import CommandError

if TYPE_CHECKING:
    import msgspec

    from flyball_daemon.settings import Loaded


class Daemon(StrEnum):
    """Whose settings."""

    AGENT = "agent"
    COLLECTOR = "collector"


class Format(StrEnum):
    """How they are shown."""

    TOML = "toml"
    JSON = "json"


def build() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(help="Look at settings.", no_args_is_help=True)
    app.command(epilog="Example: flyball config show collector --config ./collector.toml --format json")(show)
    app.callback()(_group)
    return app


def _group() -> None:
    """Look at settings."""


def show(
    daemon: Annotated[Daemon, typer.Argument(help="Whose settings.")] = Daemon.AGENT,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Instead of /etc/flyball/DAEMON.toml.")] = None,
    assign: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE, as the daemon takes it.")] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not the default.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="toml or json.")] = Format.TOML,
) -> None:
    """Show the effective settings, each with its origin; the environment is this shell's, not a service's."""
    loaded = load_settings(daemon.value, config, assign or ())
    rows = [row for row in loaded.effective() if not changed or row[2] != "default"]
    if format_ is Format.JSON:
        typer.echo(json.dumps([{"key": k, "value": v, "origin": o} for k, v, o in rows], indent=2))
    else:
        typer.echo(as_toml(rows))


def load_settings(daemon: str, config: Path | None, assignments: Iterable[str] = ()) -> "Loaded[Any]":
    """Settings as a daemon would have them here."""
    from flyball_daemon.settings import SettingsError, load

    kind, file, prefix = _of(daemon)
    try:
        return load(
            kind,
            file=config or Path(file),
            required=config is not None,
            prefix=prefix,
            environment=os.environ,
            assignments=list(assignments),
        )
    except SettingsError as error:
        raise CommandError("these settings cannot be used:\n  " + "\n  ".join(error.problems), status=2) from None


def _of(daemon: str) -> "tuple[type[msgspec.Struct], str, str]":
    if daemon == "agent":
        from flyball_agent import settings as agent

        return agent.AgentSettings, agent.FILE, agent.ENVIRONMENT_PREFIX
    from flyball_collector import settings as collector

    return collector.CollectorSettings, collector.FILE, collector.ENVIRONMENT_PREFIX


def as_toml(rows: Iterable[tuple[str, Any, str]]) -> str:
    """Settings as a file could say them, each with its origin as a comment."""
    from flyball_daemon.reference import toml_value

    lines: list[tuple[str, str]] = []
    table = ""
    for key, value, origin in rows:
        group, _, name = key.rpartition(".")
        if group != table:
            table = group
            lines += [("", ""), (f"[{group}]", "")]
        lines.append((f"{name} = {toml_value(value)}", origin))
    width = min(60, max((len(text) for text, _ in lines), default=0))
    return "\n".join(f"{text:{width}}  # {origin}" if origin else text for text, origin in lines)
