"""`flyball top`: the fleet or one host, live."""

from typing import Annotated

import typer

from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, open_api
from flyball.command.host import live_view
from flyball.command.hosts import HostOrder, fleet_view
from flyball.command.live_screen import show_live

EXAMPLES = ("flyball top", "flyball top --sort heat", "flyball top node-1")


def top(
    host: Annotated[str, typer.Argument(metavar="[HOST]", help="Show only this host.")] = "",
    sort: Annotated[HostOrder, typer.Option(help="Order of the hosts.")] = HostOrder.NAME,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Show the fleet or one host in the terminal, and refresh it every second until Ctrl-C."""
    api = open_api(url, token_file, ca_file)
    show_live(live_view(api, host) if host else lambda: fleet_view(api.get("overview"), sort), "flyball top")
