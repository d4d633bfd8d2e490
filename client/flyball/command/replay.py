"""`flyball replay`: the diagnosis of recorded data."""

import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.events import NOW, moment_text, time_of
from flyball.command.gpu_name import gpu_name
from flyball.command.output import EventFormat, EventFormatOption, console, write_view
from flyball.command.printable import printable
from flyball.command.readings import duration, utc_time
from flyball.extras import advice, missing
from flyball_reports.figures import plural

if TYPE_CHECKING:
    from flyball_collector.replay.input_options import InputOptions
    from flyball_collector.replay.played_events import Played, PlayedEvent

EXAMPLES = (
    "flyball replay series.csv",
    "flyball replay --format json a.csv b.csv.gz | jq '.[].kind'",
    "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,power.draw --format=csv -l 1 > gpus.csv",
    "flyball replay gpus.csv",
    "flyball replay --every 15 scrapes.prom",
    "flyball replay --column gpu=gpu_index --column gpu_utilization_ratio=percent*0.01 other.csv",
    "flyball replay --store sqlite:///.flyball/flyball.db --host node-1 --start 2h",
)


class ReplayFormat(StrEnum):
    """The formats of files, as the collector names them; it need not be installed for `--help`."""

    AUTO = "auto"
    CSV = "csv"
    NVIDIA_SMI = "nvidia-smi"
    DCGMI = "dcgmi"
    PROMETHEUS = "prometheus"


class _InputChoice(NamedTuple):
    """Hold the options about files."""

    format: ReplayFormat
    every_seconds: float | None
    columns: Sequence[str]


WIDE = 130  # columns of a terminal in which an event fits on one line
_CSV_RUN = "replay"
_STYLES = {"raised": "bold", "cleared": "dim"}
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")


def replay(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Series of CSV or another tool, also compressed, or one capsule.", metavar="[FILE…]"),
    ] = None,
    from_: Annotated[
        ReplayFormat,
        typer.Option("--from", metavar="FORMAT", help="Format of the files: auto, csv, nvidia-smi, dcgmi, prometheus."),
    ] = ReplayFormat.AUTO,
    every: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.001, help="Time between samples, for files that have no times."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="OURS=THEIRS[*FACTOR]", help="A CSV column with another name or unit; may be repeated."),
    ] = None,
    store: Annotated[
        str, typer.Option(metavar="URL", help="Instead of files: a store, such as sqlite:///flyball.db.")
    ] = "",
    host: Annotated[list[str] | None, typer.Option(metavar="HOST", help="A host of --store; may be repeated.")] = None,
    start: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Start, with --store: an age such as 30m, 12h or 7d, or a time: 2030-01-31T12:00:00Z.",
        ),
    ] = "1h",
    end: Annotated[str, typer.Option(metavar="TIME", help="End, with --store, in the same form.")] = "now",
    format_: EventFormatOption = EventFormat.TABLE,
) -> None:
    """Run the diagnosis on recorded data and list its events.

    CSV columns: timestamp (seconds or ISO 8601), host, gpu, and any of gpu_utilization_ratio, gpu_memory_used_bytes,
    gpu_memory_total_bytes, gpu_power_watts, gpu_power_limit_watts, gpu_temperature_celsius,
    gpu_slowdown_temperature_celsius, gpu_sm_clock_hertz, memory_used_ratio, memory_used_bytes, memory_total_bytes,
    cpu_busy_ratio, step_seconds, step, worker. An empty cell is unknown.

    Also read: nvidia-smi --query-gpu=… --format=csv; dcgmi dmon (with --every); samples of dcgm-exporter and
    node_exporter in Prometheus' text formats (scrapes without times with --every, /federate, promtool tsdb dump).

    A capsule of `flyball capsule` is diagnosed with the settings that were active when it was saved.
    """
    if absent := missing("collector"):
        raise CommandError(advice("flyball replay", "collector", absent))
    if store and files:
        raise WrongArgument("--store and a file exclude each other; give one")
    if host and not store:
        raise WrongArgument("--host belongs to --store; a file is replayed with all its hosts")
    if store and (column or every or from_ is not ReplayFormat.AUTO):
        raise WrongArgument("--from, --every and --column belong to files; a store needs none of them")
    events = _with_progress(
        _from_store(store, host or [], start, end)
        if store
        else _from_files(files or [], _InputChoice(from_, every, column or []))
    )
    if format_ is EventFormat.JSONL:
        for event in events:
            typer.echo(json.dumps(event))
    elif format_ is EventFormat.JSON:
        _write_array(events)
    else:
        found = list(events)
        if not found:
            return typer.echo("No events.")
        write_view(_table(found) if console().width >= WIDE else _list(found))
        typer.echo(plural(len(found), "event"))
    return None


def _from_store(url: str, hosts: Sequence[str], start: str, end: str) -> "Played":
    from flyball_collector.replay.errors import ReplayError
    from flyball_collector.replay.host_rows import definitions_of, read_host_rows
    from flyball_collector.replay.played_events import play_rows
    from flyball_collector.replay.stored_series import recording_of
    from flyball_collector.store.contract import StoreError
    from flyball_collector.store.store_urls import open_existing
    from flyball_collector.times import parse_time

    if not hosts:
        raise WrongArgument("--store needs the hosts: add --host; `flyball hosts` lists them")
    start_ns, end_ns = (
        parse_time(time_of(option, text), time.time_ns()) for option, text in (("--start", start), ("--end", end))
    )
    if start_ns >= end_ns:
        raise WrongArgument(f"--start {printable(start)} is not before --end {printable(end)}")
    try:
        opened = open_existing(url)
        try:
            recording = recording_of(read_host_rows(opened, hosts, start_ns, end_ns), definitions_of(opened))
        finally:
            opened.close()
    except (StoreError, ReplayError) as error:
        raise WrongArgument(f"--store: {error}") from None
    if not recording.ticks:
        raise CommandError(
            f"{url} has no records of {', '.join(map(printable, hosts))} between {moment_text(start)} and "
            f"{moment_text(end)}. Check --host, --start and --end"
        )
    return play_rows(recording)


def _from_files(files: Sequence[Path], choice: _InputChoice) -> "Played":
    if not files:
        raise WrongArgument("name a file, or a store with --store")
    from flyball_collector.replay import capsule, csv_rows, csv_series
    from flyball_collector.replay.errors import ReplayError
    from flyball_collector.replay.played_events import play_csv, play_rows
    from flyball_collector.replay.stored_series import recording_of

    try:
        if not any(capsule.is_capsule(file) for file in files):
            series = csv_series.read(files, _input_options(choice))
            for column in series.ignored:
                near = csv_rows.suggestions([column]).partition(": ")[2]
                hint = f"; {near}" if near else ""
                typer.echo(f"flyball: ignored the unknown column {printable(column)!r}{hint}", err=True)
            return play_csv(series)
        if len(files) > 1:
            raise WrongArgument("only one capsule can be replayed at a time")
        contents = capsule.read(files[0])
        recorded = recording_of(contents.hosts, contents.find)
    except ReplayError as error:
        raise WrongArgument(str(error)) from None
    settings, unknown = capsule.settings_of(contents.capsule)
    for key in unknown:
        typer.echo(f"flyball: ignored the unknown setting diagnosis.{printable(key)} of the capsule", err=True)
    return play_rows(recorded, settings)


def _input_options(choice: _InputChoice) -> "InputOptions":
    from flyball_collector.replay import csv_rows, input_options

    columns = input_options.columns_of(choice.columns, csv_rows.COLUMNS)
    return input_options.InputOptions(input_options.InputFormat(choice.format.value), choice.every_seconds, columns)


def _with_progress(played: "Played") -> Iterator["PlayedEvent"]:
    """Yield every event; a terminal shows a progress bar meanwhile."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("replaying", total=1.0)
        for done, events in played:
            progress.update(task, completed=done)
            yield from events


def _write_array(events: Iterator["PlayedEvent"]) -> None:
    """Write one JSON array with one event a line."""
    sys.stdout.write("[")
    for number, event in enumerate(events):
        sys.stdout.write((",\n " if number else "\n ") + json.dumps(event))
    sys.stdout.write("\n]\n")


def _table(events: Sequence["PlayedEvent"]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("TIME", "STATE", "KIND", "SUBJECT", "CONFIDENCE"):
        table.add_column(title, no_wrap=True)
    table.add_column("LEFT", justify="right", no_wrap=True)
    table.add_column("REASON")
    for event in events:
        table.add_row(*(text.replace("[", "\\[") for text in _cells(event)), style=_STYLES.get(event["state"]))
    return table


def _list(events: Sequence["PlayedEvent"]) -> Table:
    """Return a table for narrow terminals, with several lines an event."""
    table = Table("TIME", "STATE", "EVENT", box=None, pad_edge=False, header_style="dim")
    for event in events:
        when, state, kind, subject, confidence, left, because = _cells(event)
        facts = (kind, subject, f"{left} left" if left not in {"", NOW} else left, f"{confidence} confidence")
        lines = ("  ".join(filter(None, facts)), because)
        text = "\n".join(filter(None, lines)).replace("[", "\\[")
        table.add_row(when.replace("[", "\\[").replace(" ", "\n", 1), state, text, style=_STYLES.get(state))
    return table


def _cells(event: "PlayedEvent") -> list[str]:
    gpu = gpu_name(event["gpu"], event["gpu_index"])
    words = (event["host"], gpu, event["resource"] or "", *_rank(event))
    subject = " ".join(printable(word) for word in words if word)
    left = event["seconds_left"]
    return [
        _time(str(event["time"])),
        event["state"],
        event["kind"],
        subject,
        f"{100 * event['confidence']:.0f} %",
        "" if left is None else duration(left) if left > 0 else NOW,
        printable(event["because"]),
    ]


def _rank(event: "PlayedEvent") -> tuple[str, str]:
    """Return the run and the rank of an event. Steps of a CSV file belong to no named run."""
    worker = event["worker"] or ""
    run = "" if event["run"] in (None, _CSV_RUN) else str(event["run"])
    return run, f"rank {worker}" if worker.isdecimal() else worker


def _time(text: str) -> str:
    """Return a time with date and zone; another notation of a CSV file is kept."""
    return utc_time(text) if _UTC.fullmatch(text) else printable(text)
