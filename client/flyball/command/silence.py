"""`flyball silence`: mute notifications for a while."""

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, open_api, segment
from flyball.command.capsule import seconds
from flyball.command.command_help import add_command, command_group
from flyball.command.errors import WrongArgument
from flyball.command.output import FormatOption, OutputFormat, write_json, write_view
from flyball.command.printable import printable
from flyball.command.readings import DASH, utc_time

_MOST_DAYS = 365


def build() -> typer.Typer:
    """Return the group of commands."""
    group = command_group("Mute notifications for a while. Events and metrics are recorded as before.")
    add_command(
        group, "add", add, ["flyball silence add host=rack-7-* kind=host_lost --for 4h --comment 'moving the rack'"]
    )
    add_command(group, "list", list_silences, ["flyball silence list"])
    add_command(group, "end", end, ["flyball silence end 3f2a9c0d"])
    return group


def add(
    matchers: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=PATTERN…",
            help=(
                "All must match. NAME: kind, severity, host, gpu, run, rank, resource or alertname. "
                "PATTERN may contain * and ?."
            ),
        ),
    ],
    for_: Annotated[str, typer.Option("--for", metavar="DURATION", help="Such as 90s, 30m, 4h or 2d.")] = "1h",
    comment: Annotated[str, typer.Option(metavar="TEXT", help="The reason, for other people.")] = "",
    url: CollectorOption = DEFAULT_URL,
    format_: FormatOption = OutputFormat.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Mute notifications about everything that matches. If a condition was notified already, its end is too."""
    body = {"matchers": dict(map(_matcher, matchers)), "seconds": _length(for_), "comment": comment}
    silence: dict[str, Any] = open_api(url, token_file, ca_file).post("silences", body)
    if format_ is OutputFormat.JSON:
        return write_json(silence)
    until = utc_time(silence["until"]["rfc3339"])
    return typer.echo(f"Muted until {until}. To end the silence now: flyball silence end {silence['id']}")


def list_silences(
    url: CollectorOption = DEFAULT_URL,
    format_: FormatOption = OutputFormat.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List the active silences, the first to end first."""
    found = open_api(url, token_file, ca_file).get("silences")
    if format_ is OutputFormat.JSON:
        return write_json(found)
    if not found:
        return typer.echo("No notifications are muted.")
    table = Table("ID", "UNTIL", "MATCHERS", "BY", "COMMENT", box=None, pad_edge=False, header_style="dim")
    for each in found:
        matchers = " ".join(f"{printable(name)}={printable(pattern)}" for name, pattern in each["matchers"].items())
        row = (each["id"], utc_time(each["until"]["rfc3339"]), matchers, each["by"] or DASH, each["comment"] or DASH)
        table.add_row(*(Text(printable(cell)) for cell in row))
    return write_view(table)


def end(
    id_: Annotated[str, typer.Argument(metavar="ID", help="As `flyball silence list` shows it.")],
    url: CollectorOption = DEFAULT_URL,
    format_: FormatOption = OutputFormat.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """End a silence. Muted conditions that are still active are notified now."""
    open_api(url, token_file, ca_file).delete(f"silences/{segment(id_)}")
    if format_ is OutputFormat.JSON:
        return write_json({"id": id_, "ended": True})
    return typer.echo(f"The silence {printable(id_)} has ended.")


def _length(text: str) -> float:
    length = seconds("--for", text)
    if not 1 <= length <= _MOST_DAYS * 86400:
        raise WrongArgument(f"--for {text}: expected 1s to {_MOST_DAYS}d")
    return length


def _matcher(text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not equals or not name or not pattern:
        raise WrongArgument(f"{printable(text)}: expected NAME=PATTERN, such as host=node-1 or kind=straggler")
    return name, pattern
