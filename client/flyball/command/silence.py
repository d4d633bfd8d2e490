"""`flyball silence`: what nobody is to be told of for a while."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, api, segment
from flyball.command.capsule import seconds
from flyball.command.errors import CommandError
from flyball.command.hosts import Format
from flyball.command.readings import DASH
from flyball.command.words import clean

ADD_EXAMPLE = "Example: flyball silence add host=rack-7-* kind=host_lost --for 4h --comment 'moving the rack'"

FormatOption = Annotated[Format, typer.Option("--format", help="A table, or JSON for programs.")]


def build() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(
        help="Hold back notifications for a while. The timeline and the metrics go on.", no_args_is_help=True
    )
    app.command(epilog=ADD_EXAMPLE)(add)
    app.command("list", epilog="Example: flyball silence list")(list_silences)
    app.command(epilog="Example: flyball silence end 3f2a9c0d")(end)
    return app


def add(
    matchers: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=PATTERN…",
            help="All must fit. NAME: kind, severity, host, gpu, run, rank, resource. PATTERN: * and ? are wild.",
        ),
    ],
    for_: Annotated[str, typer.Option("--for", metavar="DURATION", help="Such as 90s, 30m, 4h, 2d.")] = "1h",
    comment: Annotated[str, typer.Option(help="Why; others will want to know.")] = "",
    collector: CollectorOption = DEFAULT_URL,
    format_: FormatOption = Format.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Silence what fits all matchers. What was raised before and ends meanwhile is still told."""
    asked = {"matchers": dict(map(_matcher, matchers)), "seconds": seconds("--for", _hours(for_)), "comment": comment}
    told = api(collector, token_file, ca_file).post("silences", asked)
    if format_ is Format.JSON:
        return typer.echo(json.dumps(told, indent=2))
    return typer.echo(
        f"{told['id']}: silent until {told['until']['rfc3339']}; end it: flyball silence end {told['id']}"
    )


def list_silences(
    collector: CollectorOption = DEFAULT_URL,
    format_: FormatOption = Format.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List the silences in force, the first to end first."""
    found = api(collector, token_file, ca_file).get("silences")
    if format_ is Format.JSON:
        return typer.echo(json.dumps(found, indent=2))
    if not found:
        return typer.echo("Nothing is silenced.")
    table = Table("ID", "UNTIL", "OF", "BY", "COMMENT", box=None, pad_edge=False, header_style="dim")
    for each in found:
        matchers = " ".join(f"{clean(name)}={clean(pattern)}" for name, pattern in each["matchers"].items())
        words = (each["id"], each["until"]["rfc3339"], matchers, each["by"] or DASH, each["comment"] or DASH)
        table.add_row(*(Text(clean(word)) for word in words))
    return Console().print(table)


def end(
    id_: Annotated[str, typer.Argument(metavar="ID", help="As flyball silence list tells it.")],
    collector: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """End a silence: what it held back and still stands is told now."""
    api(collector, token_file, ca_file).delete(f"silences/{segment(id_)}")
    typer.echo(f"{clean(id_)} has ended.")


def _matcher(text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not equals or not name or not pattern:
        raise CommandError(f"{clean(text)}: expected NAME=PATTERN, such as host=node-1 or kind=straggler", 2)
    return name, pattern


def _hours(text: str) -> str:
    """2d → 48h."""
    return f"{float(text[:-1]) * 24:g}h" if text.endswith("d") and text[:-1].replace(".", "", 1).isdigit() else text
