"""`flyball capsule`: an incident in one file."""

import re
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, open_api, segment
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.output import FormatOption, OutputFormat, check_writable, write_json
from flyball.command.printable import printable
from flyball_reports.errors import write_fault
from flyball_reports.figures import size

EXAMPLES = (
    "flyball capsule 3f2a9c0d4b1e6f70 --before 1h",
    "flyball replay 3f2a9c0d4b1e6f70.flyball  # on any machine",
)

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_MOST_HOURS = 24
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

Before = Annotated[str, typer.Option(metavar="DURATION", help="Time before the event, such as 90s, 15m or 6h.")]
After = Annotated[str, typer.Option(metavar="DURATION", help="Time after the event; 24h in all.")]


def capsule(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="Id of an event or a condition, as `flyball events` lists it.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A new file.  [default: EVENT.flyball]")
    ] = None,
    before: Before = "15m",
    after: After = "5m",
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Save all data around an event to one file, which `flyball replay` can diagnose again on any machine.

    The file holds all readings of the affected hosts, with the names of hosts, users and commands.
    """
    query = {"before": seconds("--before", before), "after": seconds("--after", after)}
    if sum(query.values()) > _MOST_HOURS * 3600:
        raise WrongArgument(f"--before {before} and --after {after}: expected at most {_MOST_HOURS}h in all")
    path = output or Path(f"{Path(printable(event)).name}.flyball")
    check_writable("--output", path)
    if path.exists():
        raise CommandError(f"{path} exists already; name another file with --output")
    body = open_api(url, token_file, ca_file).download(f"capsules/{segment(event)}", query)
    try:
        path.write_bytes(body)
    except OSError as error:
        raise CommandError(write_fault(path, error)) from None
    if format_ is OutputFormat.JSON:
        return write_json({"path": str(path), "bytes": len(body)})
    return typer.echo(f"Wrote {path} ({size(len(body))}). To diagnose it again: flyball replay {path}")


def seconds(option: str, text: str) -> float:
    """Return a duration in seconds: 15m is 900."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise WrongArgument(f"{option} {printable(text)}: expected a duration with a unit, such as 90s, 15m, 6h or 2d")
    return float(found[1]) * _SECONDS[found[2]]
