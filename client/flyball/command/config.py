"""`flyball config show`: the settings of a daemon, with their origins."""

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flyball.command.command_help import add_command, command_group
from flyball.command.errors import WrongArgument
from flyball.command.output import write_json

if TYPE_CHECKING:
    import msgspec

    from flyball_daemon.settings import Loaded


class DaemonName(StrEnum):
    """A daemon with settings."""

    AGENT = "agent"
    COLLECTOR = "collector"


class SettingsFormat(StrEnum):
    """The formats of settings."""

    TOML = "toml"
    JSON = "json"


def build() -> typer.Typer:
    """Return the group of commands."""
    group = command_group("Show the settings of a daemon.")
    examples = ["flyball config show", "flyball config show collector --config ./collector.toml --format json"]
    add_command(group, "show", show, examples)
    return group


def show(
    daemon: Annotated[DaemonName, typer.Argument(metavar="[DAEMON]", help="agent or collector.")] = DaemonName.AGENT,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="Settings file.  [default: /etc/flyball/DAEMON.toml]"),
    ] = None,
    assign: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a setting; may be repeated.")
    ] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only settings that differ from their defaults.")] = False,
    format_: Annotated[SettingsFormat, typer.Option("--format", "-f", help="Output format.")] = SettingsFormat.TOML,
) -> None:
    """Show the settings that a daemon would use, each with its origin.

    The environment is that of this shell, not that of a service.
    """
    loaded = load_settings(daemon.value, config, assign or ())
    rows = [row for row in loaded.effective() if not changed or row[2] != "default"]
    if format_ is SettingsFormat.JSON:
        return write_json([{"key": key, "value": value, "origin": origin} for key, value, origin in rows])
    return typer.echo(as_toml(rows) or "# all settings have their defaults")


def load_settings(daemon: str, config: Path | None, assignments: Iterable[str] = ()) -> "Loaded[Any]":
    """Load settings as the daemon does."""
    from flyball_daemon.settings import SettingsError, load

    kind, file, prefix = _settings_of(daemon)
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
        raise WrongArgument("\n".join(error.problems)) from None


def _settings_of(daemon: str) -> "tuple[type[msgspec.Struct], str, str]":
    if daemon == "agent":
        from flyball_agent import settings as agent

        return agent.AgentSettings, agent.FILE, agent.ENVIRONMENT_PREFIX
    from flyball_collector import settings as collector

    return collector.CollectorSettings, collector.FILE, collector.ENVIRONMENT_PREFIX


def as_toml(rows: Iterable[tuple[str, Any, str]]) -> str:
    """Return settings as TOML, with their origins as comments."""
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
