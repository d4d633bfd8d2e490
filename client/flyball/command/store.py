"""`flyball store`: the collector's embedded store, while it is in use."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from flyball.command.command_help import add_command, command_group
from flyball.command.config import load_settings
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.output import FormatOption, OutputFormat, write_json
from flyball.extras import advice, missing

Result = TypeVar("Result")

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", metavar="FILE", help="The collector's settings.  [default: /etc/flyball/collector.toml]"
    ),
]
UrlOption = Annotated[
    str, typer.Option("--url", metavar="URL", help="The store.  [default: store.url of the settings]")
]


def build() -> typer.Typer:
    """Return the group of commands."""
    group = command_group("Back up or measure the collector's store, also while the collector runs.")
    add_command(group, "backup", backup, ["flyball store backup /backup/flyball-$(date +%F).db"])
    add_command(group, "size", size, ["flyball store size --url sqlite:///.flyball/flyball.db"])
    return group


def backup(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A new file; an existing one is never overwritten.")],
    config: ConfigOption = None,
    url: UrlOption = "",
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Write a consistent copy of the store."""
    store = _store_url("backup", config, url)
    from flyball_collector.store_command import back_up

    written = _with_hint(lambda: back_up(store, path), url)
    if format_ is OutputFormat.JSON:
        return write_json({"path": str(path), "bytes": written})
    return typer.echo(f"Wrote {path} ({written:,} bytes).")


def size(config: ConfigOption = None, url: UrlOption = "", format_: FormatOption = OutputFormat.TABLE) -> None:
    """Print the size of the store on disk."""
    store = _store_url("size", config, url)
    from flyball_collector.store_command import size_bytes

    total = _with_hint(lambda: size_bytes(store), url)
    if format_ is OutputFormat.JSON:
        return write_json({"url": store, "bytes": total})
    return typer.echo(f"{total:,} bytes")


def _store_url(action: str, config: Path | None, url: str) -> str:
    if absent := missing("collector"):
        raise CommandError(advice(f"flyball store {action}", "collector", absent))
    return url or str(load_settings("collector", config).settings.store.url)


def _with_hint(action: Callable[[], Result], url: str) -> Result:
    """Run an action. If the configured store does not exist, name the store of `flyball up` in this folder."""
    from flyball_collector.store_command import NoStore, StoreCommandError

    try:
        return action()
    except NoStore as error:
        if url:
            raise WrongArgument(f"--url: {error}") from None
        local = Path(".flyball/flyball.db")
        hint = f". For the store of `flyball up` here: --url sqlite:///{local}" if local.exists() else ""
        raise CommandError(f"{error}{hint}") from None
    except StoreCommandError as error:
        raise CommandError(str(error)) from None
