"""`flyball replay`: recorded series through the very diagnosis that watches a fleet."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from flyball.command.errors import CommandError
from flyball.command.events import NOW
from flyball.command.gpu import gpu_words
from flyball.command.readings import duration
from flyball.command.words import clean
from flyball.extras import advice, missing
from flyball_reports.figures import plural

if TYPE_CHECKING:
    from flyball_collector.replay.played_events import Played, PlayedEvent

EXAMPLE = "Examples: flyball replay series.csv; flyball replay --format json a.csv b.csv.gz | jq '.[].kind'"


WIDE = 130  # columns of a terminal in which an event fits one line


class Format(StrEnum):
    """How it is written."""

    TABLE = "table"
    JSON = "json"
    LINES = "jsonl"


def replay(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="CSV files, packed by gzip or not, or one incident capsule.", metavar="FILE…"),
    ] = None,
    store: Annotated[str, typer.Option(help="Instead of files: a store, such as sqlite:///flyball.db.")] = "",
    host: Annotated[list[str] | None, typer.Option(help="With --store: a host; may be repeated.")] = None,
    start: Annotated[str, typer.Option(help="With --store: RFC 3339, unix seconds, or relative.")] = "-1h",
    end: Annotated[str, typer.Option(help="With --store: not included.")] = "now",
    format_: Annotated[
        Format, typer.Option("--format", help="A table, one JSON array, or a JSON object a line.")
    ] = Format.TABLE,
) -> None:
    """Play recorded series through the diagnosis and list its events: what it would have said, and when.

    CSV columns: timestamp (seconds or ISO 8601), host, gpu, and any of gpu_utilization_ratio, gpu_memory_used_bytes,
    gpu_memory_total_bytes, gpu_power_watts, gpu_power_limit_watts, gpu_temperature_celsius,
    gpu_slowdown_temperature_celsius, gpu_sm_clock_hertz, memory_used_ratio, memory_used_bytes, memory_total_bytes,
    cpu_busy_ratio, step_seconds, step, worker. An empty cell is unknown. A capsule (flyball capsule) is played under
    the settings that it was written under.
    """
    if absent := missing("collector"):
        raise CommandError(advice("flyball replay", "collector", absent))
    events = _shown(_of_store(store, host or [], start, end) if store else _played(files or []))
    if format_ is Format.LINES:
        for event in events:
            typer.echo(json.dumps(event))
    elif format_ is Format.JSON:
        _write_array(events)
    else:
        found, console = list(events), Console()
        console.print(_table(found) if console.width >= WIDE else _list(found))
        typer.echo(plural(len(found), "event"))


def _of_store(url: str, hosts: Sequence[str], start: str, end: str) -> "Played":
    from flyball_collector.http.times import parse_time
    from flyball_collector.replay.collect import collect, definitions_of
    from flyball_collector.replay.errors import ReplayError
    from flyball_collector.replay.played_events import play_rows
    from flyball_collector.replay.stored_series import recording_of
    from flyball_collector.store.contract import StoreError
    from flyball_collector.store.open import open_existing

    if not hosts:
        raise CommandError("--store: name the hosts with --host; flyball hosts lists them", 2)
    try:
        start_ns, end_ns = (parse_time(text, time.time_ns()) for text in (start, end))
    except ValueError as error:
        raise CommandError(f"--start or --end: {clean(error)}", 2) from None
    try:
        opened = open_existing(url)
        try:
            recorded = recording_of(collect(opened, hosts, start_ns, end_ns), definitions_of(opened))
        finally:
            opened.close()
    except (StoreError, ReplayError) as error:
        raise CommandError(str(error)) from None
    if not recorded.ticks:
        raise CommandError(f"nothing is stored of {', '.join(map(clean, hosts))} in that time")
    return play_rows(recorded)


def _played(files: Sequence[Path]) -> "Played":
    if not files:
        raise CommandError("name a file to play, or a store with --store", 2)
    from flyball_collector.replay import capsule, csv_series
    from flyball_collector.replay.errors import ReplayError
    from flyball_collector.replay.played_events import play_csv, play_rows
    from flyball_collector.replay.stored_series import recording_of

    try:
        if not any(capsule.is_capsule(file) for file in files):
            series = csv_series.read(files)
            for column in series.ignored:
                typer.echo(f"flyball: column {clean(column)!r} is not known and was ignored", err=True)
            return play_csv(series)
        if len(files) > 1:
            raise CommandError("a capsule is played alone: name one file")
        contents = capsule.read(files[0])
    except ReplayError as error:
        raise CommandError(str(error)) from None
    settings, unknown = capsule.settings_of(contents.capsule)
    for key in unknown:
        typer.echo(f"flyball: setting diagnosis.{clean(key)} of the capsule is not known here", err=True)
    return play_rows(recording_of(contents.hosts, contents.find), settings)


def _shown(played: "Played") -> Iterator["PlayedEvent"]:
    """Every event, while a bar shows how far it is where somebody looks."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("playing", total=1.0)
        for done, events in played:
            progress.update(task, completed=done)
            yield from events


def _write_array(events: Iterator["PlayedEvent"]) -> None:
    """One array, an event a line."""
    sys.stdout.write("[")
    for number, event in enumerate(events):
        sys.stdout.write((",\n " if number else "\n ") + json.dumps(event))
    sys.stdout.write("\n]\n")


def _table(events: Sequence["PlayedEvent"]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("TIME", "STATE", "KIND", "WHERE", "SURE"):
        table.add_column(title, no_wrap=True)
    table.add_column("LEFT", justify="right", no_wrap=True)
    table.add_column("BECAUSE")
    for event in events:
        table.add_row(*(text.replace("[", "\\[") for text in _cells(event)), style=_STYLES.get(event["state"]))
    return table


def _list(events: Sequence["PlayedEvent"]) -> Table:
    """The same for narrow terminals: some lines an event."""
    table = Table("TIME", "STATE", "WHAT", box=None, pad_edge=False, header_style="dim")
    for event in events:
        when, state, kind, where, sure, left, because = _cells(event)
        facts = (kind, where, f"{left} left" if left not in {"", NOW} else left, f"{sure} sure")
        lines = ("  ".join(filter(None, facts)), because)
        what = "\n".join(filter(None, lines)).replace("[", "\\[")
        table.add_row(when.replace("[", "\\["), state, what, style=_STYLES.get(state))
    return table


_STYLES = {"raised": "bold", "cleared": "dim"}


def _cells(event: "PlayedEvent") -> list[str]:
    gpu = gpu_words(event["gpu"], event["gpu_index"])
    where = " ".join(clean(word) for word in (event["host"], gpu, event["resource"] or "") if word)
    left = event["seconds_left"]
    return [
        clean(str(event["time"])),
        event["state"],
        event["kind"],
        where,
        f"{event['confidence']:.0%}",
        "" if left is None else duration(left) if left > 0 else NOW,
        clean(event["because"]),
    ]
