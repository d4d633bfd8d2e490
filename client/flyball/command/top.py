"""`flyball top`: the fleet or one host, live."""

from typing import Annotated

import typer

from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, api
from flyball.command.host import live_view
from flyball.command.hosts import Sort, fleet_view
from flyball.command.watching import watch

EXAMPLE = "Examples: flyball top; flyball top --sort heat; flyball top node-1"


def top(
    host: Annotated[str, typer.Argument(metavar="[HOST]", help="One host instead of all.")] = "",
    sort: Annotated[Sort, typer.Option(help="Order of the hosts.")] = Sort.NAME,
    collector: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Watch the fleet, or one host, in the terminal: anew each second until Ctrl-C."""
    asked = api(collector, token_file, ca_file)
    watch(live_view(asked, host) if host else lambda: fleet_view(asked.get("overview"), sort))
