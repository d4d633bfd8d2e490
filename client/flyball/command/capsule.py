"""`flyball capsule`: an incident in one file."""

import re
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, api, segment
from flyball.command.errors import CommandError
from flyball.command.words import clean
from flyball_reports.figures import size

EXAMPLE = (
    "Example: flyball capsule 3f2a9c0d4b1e6f70 --before 1h; then anywhere: flyball replay 3f2a9c0d4b1e6f70.flyball"
)

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}

Duration = Annotated[str, typer.Option(metavar="DURATION", help="Such as 90s, 15m, 6h; at most 24 hours in all.")]


def capsule(
    event: Annotated[str, typer.Argument(help="Id of an event or a condition, as flyball events lists it.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file; by default EVENT.flyball here.")
    ] = None,
    before: Duration = "15m",
    after: Duration = "5m",
    collector: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Write everything around an event into one file, which flyball replay plays again anywhere.

    It holds all readings of the hosts concerned, and with them the names of hosts, users and commands.
    """
    query = {"before": seconds("--before", before), "after": seconds("--after", after)}
    path = output or Path(f"{Path(clean(event)).name}.flyball")
    if path.exists():
        raise CommandError(f"{path} exists; name another file with --output")
    body = api(collector, token_file, ca_file).download(f"capsules/{segment(event)}", query)
    try:
        path.write_bytes(body)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    typer.echo(f"{path}: {size(len(body))}. Play it: flyball replay {path}")


def seconds(option: str, text: str) -> float:
    """15m → 900."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise CommandError(f"{option} {clean(text)}: expected a duration such as 90s, 15m or 6h", 2)
    return float(found[1]) * _SECONDS[found[2] or "s"]
