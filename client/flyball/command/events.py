"""`flyball events`: what was raised, changed and cleared, in the past or as it happens."""

import json
import math
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, Api, CaFileOption, CollectorOption, TokenFileOption, open_api, segment
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.gpu_name import gpu_name
from flyball.command.output import EventFormat, EventFormatOption, console, write_json, write_view
from flyball.command.printable import printable
from flyball.command.readings import DASH, duration, utc_time

EXAMPLES = (
    "flyball events --host node-1 --since 2d",
    "flyball events --severity critical --follow",
    "flyball events --format jsonl | jq .kind",
)
FOLLOW_SECONDS = 1.0
PAGE = 500
NOW = "now"
WIDE = 150  # columns of a terminal in which an event fits on one line
SEVERITIES = {"critical": "bold red", "warning": "yellow", "info": ""}
STATES = {"raised": "", "changed": "dim", "cleared": "green", "noted": "dim"}


class MinimumSeverity(StrEnum):
    """The least severity that is listed."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class EventState(StrEnum):
    """The state of a condition that an event reports; noted: the event has no condition."""

    RAISED = "raised"
    CHANGED = "changed"
    CLEARED = "cleared"
    NOTED = "noted"


def events(
    host: Annotated[str, typer.Option(metavar="HOST", help="Only events of this host.")] = "",
    run: Annotated[str, typer.Option(metavar="RUN", help="Only events of this run.")] = "",
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Only events of this kind; may be repeated.")
    ] = None,
    state: Annotated[list[EventState] | None, typer.Option(help="Only this state; may be repeated.")] = None,
    severity: Annotated[MinimumSeverity, typer.Option(help="Minimum severity.")] = MinimumSeverity.INFO,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="Start: an age such as 30m, 12h or 7d, or a time: 2030-01-31T12:00:00Z.")
    ] = "1d",
    until: Annotated[str, typer.Option(metavar="TIME", help="End, in the same form.  [default: now]")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="NUMBER", min=1, help="Only the newest events.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for new events until Ctrl-C.")] = False,
    format_: EventFormatOption = EventFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List what was raised, changed and cleared, and what happened on hosts; the newest event is last."""
    api = open_api(url, token_file, ca_file)
    query: dict[str, Any] = {"severity": severity.value, "kind": kind or [], "state": [*(state or [])]}
    start, end = time_of("--since", since), time_of("--until", until) if until else ""
    _check_order(since, until)
    query |= {key: value for key, value in (("host", host), ("run", run), ("end", end)) if value}
    found = latest(api, query | {"start": start}, limit)
    if not (found or follow):
        _check_known(api, host, run)
    if format_ is EventFormat.JSON and not follow:
        return write_json(found)
    if format_ is EventFormat.TABLE and not follow:
        if not found:
            return typer.echo(f"No events {_period(since, until)}.")
        return write_view(events_table(found) if console().width >= WIDE else events_list(found))
    write = _write_line if format_ is EventFormat.TABLE else _write_json_line
    for event in found:
        write(event)
    if follow:
        _follow(api, query, found[-1]["id"] if found else "", write)
    return None


def _check_known(api: Api, host: str, run: str) -> None:
    """Raise an error for an unknown host or run, instead of an empty list. A run of the past has older events."""
    if host:
        api.get(f"hosts/{segment(host)}")
    if run and not latest(api, {"run": run}, 1):
        api.get(f"runs/{segment(run)}/diagnosis")


def latest(api: Api, query: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    """Return the newest `limit` events, oldest first."""
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None and len(found) < limit:
        page = api.get("events", query | {"limit": min(PAGE, limit - len(found)), "cursor": cursor})
        found += page["events"]
        cursor = page["next"]
        if not page["complete"]:
            typer.echo("flyball: the collector's store does not answer; only the newest events are listed", err=True)
    return found[::-1]


def newer(api: Api, query: dict[str, Any], cursor: str) -> Iterator[dict[str, Any]]:
    """Yield the events after that of the cursor, oldest first."""
    start = {} if cursor else {"start": "-5s"}
    following: str | None = cursor
    while following is not None:
        page = api.get("events", query | start | {"order": "oldest", "limit": PAGE, "cursor": following})
        yield from page["events"]
        following = page["next"]


def _follow(api: Api, query: dict[str, Any], cursor: str, write: Callable[[dict[str, Any]], None]) -> None:
    """Write new events until Ctrl-C. While the collector does not answer, wait; then continue after the last event."""
    away = False
    interrupted = _interruption()
    while not interrupted.is_set():
        due = time.monotonic() + FOLLOW_SECONDS
        try:
            for event in newer(api, query, cursor):
                cursor = event["id"]
                write(event)
            away = False
        except CommandError as error:
            if not away:
                typer.echo(f"flyball: {error}", err=True)
            away = True
        interrupted.wait(max(0.0, due - time.monotonic()))


def _interruption() -> threading.Event:
    """Return an event that the first Ctrl-C sets; the second one ends the command at once."""
    interrupted = threading.Event()

    def interrupt(_number: int, _frame: object) -> None:
        interrupted.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, interrupt)
    return interrupted


def events_table(found: list[dict[str, Any]]) -> Table:
    """Return a table with one line an event. Text of hosts is never parsed as markup."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("TIME", "STATE", "SEVERITY", "KIND", "SUBJECT", "LEFT", "CONFIDENCE"):
        table.add_column(title, no_wrap=title in {"TIME", "STATE", "KIND"})
    table.add_column("REASON", overflow="fold")
    table.add_column("ID", no_wrap=True)
    for event in found:
        table.add_row(*cells(event), Text(event["condition"] or DASH, style="dim"))
    return table


def events_list(found: list[dict[str, Any]]) -> Table:
    """Return a table for narrow terminals, with several lines an event."""
    table = Table("TIME", "STATE", "EVENT", box=None, pad_edge=False, header_style="dim")
    for event in found:
        when, state, severity, *_ = cells(event)
        date, clock_time = when.plain.split(" ", 1)
        text = event_text(event)
        if event["condition"]:
            text.append(f"\n{event['condition']}", style="dim")
        table.add_row(Text(f"{date}\n{clock_time}"), Text.assemble(state, "\n", severity), text)
    return table


def grouped(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge equal entries of several GPUs of a host into the one with the least time left."""
    groups: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for each in found:
        subject = (each["id"],) if each["gpu"] is None else (each["host"], each["run"], each["rank"], each["resource"])
        groups.setdefault((each["kind"], each["severity"], *subject), []).append(each)
    result = []
    for group in groups.values():
        first = min(group, key=lambda each: math.inf if each["seconds_left"] is None else each["seconds_left"])
        result.append(first if len(group) == 1 else first | {"gpus": len(group)})
    return result


def event_text(event: dict[str, Any]) -> Text:
    """Return kind, subject, time left and confidence on one line, and the reason below."""
    text = Text(printable(event["kind"]), style="bold")
    facts = [subject_text(event), time_left(event), _confidence(event), _clears_in(event)]
    text.append("  " + "  ".join(fact for fact in facts if fact), style="not bold")
    if event["because"]:
        text.append(f"\n{printable(event['because'])}", style="not bold")
    return text


def _confidence(event: dict[str, Any]) -> str:
    return "" if event["confidence"] is None else f"{100 * event['confidence']:.0f} % confidence"


def time_left(event: dict[str, Any]) -> str:
    """Return the median time left with its interval, "now" if none is left, nothing if it is unknown."""
    if event["seconds_left"] is None:
        return ""
    if event["seconds_left"] <= 0:
        return NOW
    low, high = event["seconds_left_low"], event["seconds_left_high"]
    ends = [duration(low), duration(high)] if low is not None and high is not None else []
    interval = f" ({' … '.join(ends)})" if len(set(ends)) > 1 else ""
    return f"{duration(event['seconds_left'])}{interval} left"


def _clears_in(event: dict[str, Any]) -> str:
    """Return when a condition below its exit level is cleared."""
    left = event.get("clears_in_seconds")  # older collectors do not send it
    return "" if left is None else f"clears in {duration(left)}"


def _left(seconds: float | None) -> str:
    if seconds is None:
        return DASH
    return duration(seconds) if seconds > 0 else NOW


def cells(event: dict[str, Any]) -> list[Text]:
    """Return the cells of an event; only active conditions have the colour of their severity."""
    over = event["state"] in {"cleared", "noted"}
    return [
        Text(utc_time(event["time"])),
        Text(event["state"], style=STATES.get(event["state"], "")),
        Text(printable(event["severity"]), style="dim" if over else SEVERITIES.get(event["severity"], "")),
        Text(printable(event["kind"])),
        Text(subject_text(event)),
        Text(_left(event["seconds_left"])),
        Text(DASH if event["confidence"] is None else f"{100 * event['confidence']:.0f} %"),
        Text(printable(event["because"])),
    ]


def subject_text(event: dict[str, Any]) -> str:
    """Return host, GPU, resource, run and rank, as far as they apply."""
    rank = "" if event["rank"] is None else f"rank {event['rank']}"
    parts = (event["host"], _gpus(event), event["resource"], event["run"], rank)
    return " ".join(printable(part) for part in parts if part) or DASH


def _gpus(event: dict[str, Any]) -> str:
    """Return the GPU, or the number of merged ones."""
    if "gpus" in event:
        return f"{event['gpus']} GPUs"
    return gpu_name(event["gpu"], event.get("gpu_index"))  # older collectors do not send the index


_AGE = re.compile(r"-?(\d+(?:\.\d+)?)([smhdw])")
_AGE_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def time_of(option: str, text: str) -> str:
    """Return a time as the API takes it: 12h means twelve hours ago."""
    if age := _AGE.fullmatch(text):
        return f"-{age[1]}{age[2]}"
    if text == NOW or text.replace(".", "", 1).isdigit():
        return text
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        zone = "; the time needs a zone, such as Z for UTC" if parsed else ""
        raise WrongArgument(
            f"{option} {printable(text)}: expected an age such as 30m, 12h or 7d, or a time such as "
            f"2030-01-31T12:00:00Z{zone}"
        )
    return text


def seconds_ago(text: str, now: float) -> float:
    """Return the age of a time that `time_of` has accepted."""
    if age := _AGE.fullmatch(text):
        return float(age[1]) * _AGE_SECONDS[age[2]]
    if text == NOW:
        return 0.0
    return now - (float(text) if text.replace(".", "", 1).isdigit() else datetime.fromisoformat(text).timestamp())


def moment_text(text: str) -> str:
    """Return a time of the command line for a message: 90m is "1 h 30 min ago"."""
    return f"{duration(seconds_ago(text, 0.0))} ago" if _AGE.fullmatch(text) else printable(text)


def _check_order(since: str, until: str) -> None:
    now = time.time()
    if until and seconds_ago(since, now) <= seconds_ago(until, now):
        raise WrongArgument(f"--since {printable(since)} is not before --until {printable(until)}")


def _period(since: str, until: str) -> str:
    age = _AGE.fullmatch(since)
    last = f"in the last {duration(seconds_ago(since, 0.0))}" if age else f"since {printable(since)}"
    return f"between {moment_text(since)} and {moment_text(until)}" if until else last


def _write_line(event: dict[str, Any]) -> None:
    words = [cell.plain for cell in cells(event)]
    typer.echo("  ".join(word for word in words if word != DASH))


def _write_json_line(event: dict[str, Any]) -> None:
    typer.echo(json.dumps(event))
