"""`flyball store`: the collector's embedded store, while it is in use."""

from pathlib import Path
from typing import Annotated

import typer

from flyball.command.config import load_settings
from flyball.command.errors import CommandError
from flyball.extras import advice, missing

Config = Annotated[Path | None, typer.Option("--config", "-c", help="Instead of /etc/flyball/collector.toml.")]
Url = Annotated[str, typer.Option("--url", help="Instead of store.url of the settings.")]


def build() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(help="Back up and measure the collector's store.", no_args_is_help=True)
    app.command(epilog="Example: flyball store backup /backup/flyball-$(date +%F).db")(backup)
    app.command(epilog="Example: flyball store size --url sqlite:///.flyball/flyball.db")(size)
    return app


def backup(
    path: Annotated[Path, typer.Argument(help="A new file; an existing one is never overwritten.")],
    config: Config = None,
    url: Url = "",
) -> None:
    """Write a consistent copy while the collector runs."""
    typer.echo(_store_command("backup", [str(path)], config, url))


def size(config: Config = None, url: Url = "") -> None:
    """Say what the store takes on disk."""
    typer.echo(_store_command("size", [], config, url))


def _store_command(action: str, arguments: list[str], config: Path | None, url: str) -> str:
    absent = missing("collector")
    if absent:
        raise CommandError(advice(f"flyball store {action}", "collector", absent))
    from flyball_collector.store_command import StoreCommandError, run

    where = url or load_settings("collector", config).settings.store.url
    try:
        return run(where, action, arguments)
    except StoreCommandError as error:
        local = Path(".flyball/flyball.db")
        hint = f"; the store of `flyball up` here: --url sqlite:///{local}" if not url and local.exists() else ""
        raise CommandError(f"{error}{hint}") from None
