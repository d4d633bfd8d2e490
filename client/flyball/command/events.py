"""`flyball events`: what was raised, changed and cleared, lately or as it happens."""

import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, Api, CaFileOption, CollectorOption, TokenFileOption, api, segment
from flyball.command.errors import CommandError
from flyball.command.gpu import gpu_words
from flyball.command.readings import DASH, duration
from flyball.command.words import clean

EXAMPLE = (
    "Examples: flyball events --host node-1 --since 2d; flyball events --severity critical --follow; "
    "flyball events --format jsonl | jq .kind"
)
FOLLOW_SECONDS = 1.0
PAGE = 500
NOW = "now"
WIDE = 150  # columns of a terminal in which an event fits one line
SEVERITIES = {"critical": "bold red", "warning": "yellow", "info": ""}
STATES = {"raised": "", "changed": "dim", "cleared": "green", "noted": "dim"}


class Format(StrEnum):
    """How it is written."""

    TABLE = "table"
    JSON = "json"
    LINES = "jsonl"


class Severity(StrEnum):
    """At least so bad."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class State(StrEnum):
    """What an entry of the timeline tells of its condition; noted: it has none."""

    RAISED = "raised"
    CHANGED = "changed"
    CLEARED = "cleared"
    NOTED = "noted"


def events(
    host: Annotated[str, typer.Option(help="Only of this host.")] = "",
    run: Annotated[str, typer.Option(help="Only of this run.")] = "",
    kind: Annotated[list[str] | None, typer.Option(help="Only of this kind; may be repeated.")] = None,
    state: Annotated[list[State] | None, typer.Option(help="Only these; may be repeated.")] = None,
    severity: Annotated[Severity, typer.Option(help="Only what is at least so bad.")] = Severity.INFO,
    since: Annotated[str, typer.Option(help="30m, 12h, 7d; or a time: 2030-01-31T12:00:00Z.")] = "1d",
    until: Annotated[str, typer.Option(help="The same; by default now.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The newest so many.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    format_: Annotated[
        Format, typer.Option("--format", help="A table, one JSON array, or a JSON object a line.")
    ] = Format.TABLE,
    collector: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List events, the newest last: what diagnosis raised, changed and cleared, and what happened on hosts."""
    asked = api(collector, token_file, ca_file)
    wanted: dict[str, Any] = {"severity": severity.value, "kind": kind or [], "state": [*(state or [])]}
    wanted |= {name: value for name, value in (("host", host), ("run", run), ("end", until and moment(until))) if value}
    found = latest(asked, wanted | {"start": moment(since)}, limit)
    if host and not (found or follow):
        asked.get(f"hosts/{segment(host)}")  # one that nobody knows is an error, not silence
    if format_ is Format.JSON and not follow:
        return typer.echo(json.dumps(found, indent=2))
    if format_ is Format.TABLE and not follow:
        if not found:
            span = f"since {clean(since)}" if moment(since) == since else f"in the last {clean(since)}"
            return typer.echo(f"Nothing was raised, changed or cleared {span}.")
        console = Console()
        return console.print(events_table(found) if console.width >= WIDE else events_list(found))
    write = _line if format_ is Format.TABLE else _json_line
    for event in found:
        write(event)
    if follow:
        _follow(asked, wanted, found[-1]["id"] if found else "", write)
    return None


def latest(collector: Api, wanted: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    """The newest `limit` events, oldest first."""
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None and len(found) < limit:
        told = collector.get("events", wanted | {"limit": min(PAGE, limit - len(found)), "cursor": cursor})
        found += told["events"]
        cursor = told["next"]
        if not told["complete"]:
            typer.echo("the collector's store does not answer: only the newest events are told", err=True)
    return found[::-1]


def newer(collector: Api, wanted: dict[str, Any], cursor: str) -> Iterator[dict[str, Any]]:
    """What came after that event, in its order."""
    start = {} if cursor else {"start": "-5s"}
    following: str | None = cursor
    while following is not None:
        told = collector.get("events", wanted | start | {"order": "oldest", "limit": PAGE, "cursor": following})
        yield from told["events"]
        following = told["next"]


def _follow(collector: Api, wanted: dict[str, Any], cursor: str, write: Callable[[dict[str, Any]], None]) -> None:
    """A collector that goes away is waited for; what happened meanwhile is told then. Ctrl-C ends it."""
    away = False
    ended = _interruption()
    while not ended.is_set():
        due = time.monotonic() + FOLLOW_SECONDS
        try:
            for event in newer(collector, wanted, cursor):
                cursor = event["id"]
                write(event)
            away = False
        except CommandError as error:
            if not away:
                typer.echo(f"flyball: {error}", err=True)
            away = True
        ended.wait(max(0.0, due - time.monotonic()))


def _interruption() -> threading.Event:
    """Set by the first Ctrl-C; the second one ends at once, whatever is being waited for."""
    ended = threading.Event()

    def end(_number: int, _frame: object) -> None:
        ended.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, end)
    return ended


def events_table(found: list[dict[str, Any]]) -> Table:
    """What hosts say goes in as text, never as markup."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("TIME", "STATE", "SEVERITY", "KIND", "OF", "LEFT", "SURE"):
        table.add_column(title, no_wrap=title in {"TIME", "STATE", "KIND"})
    table.add_column("BECAUSE", overflow="fold")
    table.add_column("ID", no_wrap=True)
    for event in found:
        table.add_row(*cells(event), Text(event["condition"] or DASH, style="dim"))
    return table


def events_list(found: list[dict[str, Any]]) -> Table:
    """The same for narrow terminals: some lines an event."""
    table = Table("TIME", "STATE", "WHAT", box=None, pad_edge=False, header_style="dim")
    for event in found:
        when, state, severity, *_ = cells(event)
        what = told(event)
        if event["condition"]:
            what.append(f"\n{event['condition']}", style="dim")
        table.add_row(when, Text.assemble(state, "\n", severity), what)
    return table


def gathered(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same of several GPUs of a host is one entry: that with the least time left speaks for all."""
    groups: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for each in found:
        about = (each["id"],) if each["gpu"] is None else (each["host"], each["run"], each["rank"], each["resource"])
        groups.setdefault((each["kind"], each["severity"], *about), []).append(each)
    result = []
    for group in groups.values():
        first = min(group, key=lambda each: math.inf if each["seconds_left"] is None else each["seconds_left"])
        result.append(first if len(group) == 1 else first | {"gpus": len(group)})
    return result


def told(event: dict[str, Any]) -> Text:
    """Kind, whom it is about, the time left and how sure; below it the reason."""
    text = Text(clean(event["kind"]), style="bold")
    facts = [where(event), time_left(event), "" if event["confidence"] is None else f"{event['confidence']:.0%} sure"]
    text.append("  " + "  ".join(fact for fact in facts if fact), style="not bold")
    if event["because"]:
        text.append(f"\n{clean(event['because'])}", style="not bold")
    return text


def time_left(event: dict[str, Any]) -> str:
    """The median, and its interval where there is one; what goes on already has no time left."""
    if event["seconds_left"] is None:
        return ""
    if event["seconds_left"] <= 0:
        return NOW
    low, high = event["seconds_left_low"], event["seconds_left_high"]
    bounds = [duration(low), duration(high)] if low is not None and high is not None else []
    interval = f" ({' … '.join(bounds)})" if len(set(bounds)) > 1 else ""
    return f"{duration(event['seconds_left'])}{interval} left"


def _left(seconds: float | None) -> str:
    """The same in a column."""
    if seconds is None:
        return DASH
    return duration(seconds) if seconds > 0 else NOW


def cells(event: dict[str, Any]) -> list[Text]:
    """One event's words; the end of a condition is no alarm any more."""
    over = event["state"] in {"cleared", "noted"}
    return [
        Text(f"{event['time'][:10]} {event['time'][11:19]}"),
        Text(event["state"], style=STATES.get(event["state"], "")),
        Text(clean(event["severity"]), style="dim" if over else SEVERITIES.get(event["severity"], "")),
        Text(clean(event["kind"])),
        Text(where(event)),
        Text(_left(event["seconds_left"])),
        Text(DASH if event["confidence"] is None else f"{event['confidence']:.0%}"),
        Text(clean(event["because"])),
    ]


def where(event: dict[str, Any]) -> str:
    """Host, GPU, resource, run and rank, as far as they apply."""
    rank = "" if event["rank"] is None else f"rank {event['rank']}"
    parts = (event["host"], _gpus(event), event["resource"], event["run"], rank)
    return " ".join(clean(part) for part in parts if part) or DASH


def _gpus(event: dict[str, Any]) -> str:
    """The GPU, or how many were gathered."""
    if "gpus" in event:
        return f"{event['gpus']} GPUs"
    return gpu_words(event["gpu"], event.get("gpu_index"))  # collectors of before do not tell the index


def moment(text: str) -> str:
    """12h is twelve hours ago; everything else is the collector's to understand."""
    return (
        f"-{text}" if text[:1].isdigit() and text[-1:] in "smhdw" and text[:-1].replace(".", "", 1).isdigit() else text
    )


def _line(event: dict[str, Any]) -> None:
    words = [cell.plain for cell in cells(event)]
    typer.echo("  ".join(word for word in words if word != DASH))


def _json_line(event: dict[str, Any]) -> None:
    typer.echo(json.dumps(event))
