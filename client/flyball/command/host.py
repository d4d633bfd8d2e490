"""`flyball host NAME` and `flyball host remove NAME`."""

import json
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, Api, CaFileOption, CollectorOption, TokenFileOption, api, segment
from flyball.command.errors import CommandError
from flyball.command.first_screen import missing
from flyball.command.host_overview import overview
from flyball.command.hosts import STATUSES, Format
from flyball.command.readings import DASH, amount, duration, reading
from flyball.command.watching import watch as watch_screen
from flyball.command.words import clean
from flyball_reports.figures import plural, size

EXAMPLE = "Examples: flyball host node-1 --watch; flyball host node-1 --only gpu; flyball host remove node-1"


def host(
    words: Annotated[list[str], typer.Argument(metavar="[remove] NAME", help="A host; remove: forget it.")],
    collector: CollectorOption = DEFAULT_URL,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it anew each second until Ctrl-C.")] = False,
    all_: Annotated[bool, typer.Option("--all", "-a", help="Every reading instead of the most telling ones.")] = False,
    only: Annotated[str, typer.Option(help="Only metrics whose name begins with this, e.g. gpu.")] = "",
    format_: Annotated[Format, typer.Option("--format", help="For people, or JSON for programs.")] = Format.TABLE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Show one host: what stands, its load and GPUs, what is silent and why, and who uses it. Or forget it."""
    asked = api(collector, token_file, ca_file)
    if len(words) == 2 and words[0] == "remove":
        return remove(asked, words[1], yes=yes)
    if len(words) != 1:
        raise CommandError("expected one host: flyball host NAME, or flyball host remove NAME", 2)
    if format_ is Format.JSON:
        return typer.echo(json.dumps(fetch(asked, words[0], only), indent=2))
    if watch:
        return watch_screen(live_view(asked, words[0], only, every=all_ or bool(only)))
    return Console().print(host_view(fetch(asked, words[0], only), every=all_ or bool(only)))


def remove(collector: Api, name: str, *, yes: bool) -> None:
    """Forget a host and all that is stored of it."""
    if not yes:
        typer.confirm(f"Forget {clean(name)} and everything stored of it? This cannot be undone.", abort=True)
    removed = collector.delete(f"hosts/{segment(name)}")
    typer.echo(f"{clean(name)} is forgotten, with {plural(removed['blocks'], 'block')} of readings.")


def fetch(collector: Api, name: str, only: str) -> dict[str, Any]:
    """Everything that is known of a host now."""
    told: dict[str, Any] = collector.get(f"hosts/{segment(name)}")
    latest = collector.get(f"hosts/{segment(name)}/latest")
    told["readings"] = [each for each in latest["readings"] if each["metric"].startswith(only)]
    told |= {"epoch": latest["epoch"], "time_unix": (latest["time"] or {"unix": 0.0})["unix"]}
    told["conditions"] = collector.get(f"hosts/{segment(name)}/diagnosis")["conditions"]
    return told


def host_view(told: dict[str, Any], before: dict[str, Any] | None = None, *, every: bool = False) -> RenderableType:
    """The sections that have something to say; `every` reading, or an overview."""
    readings = _readings(told["readings"]) if every else overview(told, before)
    sections = [_heading(told), _inventory(told["inventory"]), *readings, _runs(told["runs"])]
    silent = _unavailable if every else _causes
    sections += [_processes(told["processes"]), _events(told.get("events", [])), silent(told["unavailable"])]
    return Group(*(section for section in sections if section is not None))


def live_view(collector: Api, name: str, only: str = "", *, every: bool = False) -> Callable[[], RenderableType]:
    """The view as it is at each call, with the traffic since the one before."""
    before: dict[str, Any] | None = None

    def draw() -> RenderableType:
        nonlocal before
        told = fetch(collector, name, only)
        view, before = host_view(told, before, every=every), told
        return view

    return draw


def _heading(told: dict[str, Any]) -> Text:
    summary = told["host"]
    text = Text(clean(summary["name"]), style="bold")
    text.append(f"  {summary['status']}", style=STATUSES.get(summary["status"], ""))
    if summary["age_seconds"] is not None:
        text.append(f"  reported {duration(summary['age_seconds'])} ago", style="dim")
    if summary["clock_skew_seconds"] is not None:
        text.append(f"  clock {amount(summary['clock_skew_seconds'], 'seconds')}", style="dim")
    if summary["agent_version"]:
        text.append(f"  agent {clean(summary['agent_version'])}", style="dim")
    if summary["backlog_bytes"]:
        text.append(f"  {size(summary['backlog_bytes'])} still to be sent", style="yellow")
    if summary["duplicate"]:
        text.append("\nTwo machines report under this name: give each its own (host in agent.toml).", style="red")
    return text


def _inventory(inventory: dict[str, Any] | None) -> Text | None:
    if not inventory:
        return None
    cpu, gpus = inventory.get("cpu", {}), inventory.get("gpus", [])
    facts = [inventory.get("operating_system"), inventory.get("kernel"), cpu.get("model")]
    facts += [f"{cpu['threads']} threads"] if cpu.get("threads") else []
    facts += [size(inventory["memory_bytes"])] if inventory.get("memory_bytes") else []
    models = [gpu.get("model", "GPU") for gpu in gpus]
    facts += [f"{models.count(model)} × {model}" for model in dict.fromkeys(models)]
    return Text(" · ".join(clean(fact) for fact in facts if fact))


def _readings(readings: list[dict[str, Any]]) -> Iterable[RenderableType]:
    """A table a subsystem: the first word of the metric's name."""
    for subsystem, members in groupby(sorted(readings, key=_subsystem), key=_subsystem):
        yield Text(f"\n{subsystem}", style="bold")
        rows = [
            [each["metric"], _resource(each["labels"]), Text(clean(reading(each)), justify="right")] for each in members
        ]
        yield _table(("metric", "of", "value"), rows)


def _runs(runs: list[dict[str, Any]]) -> RenderableType | None:
    rows = [
        [
            each["run"],
            str(each["rank"]),
            str(each["step"]),
            amount(each["mean_step_seconds"], "seconds"),
            _loss(each["loss"]),
        ]
        for each in runs
    ]
    return _section("runs", ("run", "rank", "step", "mean step time", "loss"), rows)


def _processes(processes: list[dict[str, Any]]) -> RenderableType | None:
    rows = [
        [
            str(each["pid"]),
            each["user"] or DASH,
            each["run"] or DASH,
            amount(each["gpu_memory_bytes"], "bytes"),
            each["command"],
        ]
        for each in processes
    ]
    return _section("processes", ("pid", "user", "run", "GPU memory", "command"), rows)


def _events(events: list[dict[str, Any]]) -> RenderableType | None:
    rows = [
        [
            each["time"]["rfc3339"] if each["time"] else DASH,
            f"{each['kind']} {each['code']}" if each["code"] else each["kind"],
            each["resource"] or DASH,
            each["text"] or DASH,
        ]
        for each in events
    ]
    return _section("what happened, newest first", ("time", "event", "of", "told"), rows)


def _causes(unavailable: list[dict[str, Any]]) -> RenderableType | None:
    """What is silent by its cause, a line each."""
    lines = [Text.from_markup(line) for line in missing(unavailable)]
    return Group(Text("\nnot read here, and why", style="bold"), *lines) if lines else None


def _unavailable(unavailable: list[dict[str, Any]]) -> RenderableType | None:
    rows = [
        [
            each["probe"],
            each["metric"] or "everything",
            each["resource"] or DASH,
            each["reason"].replace("_", " "),
            each["detail"],
            each["remedy"] or DASH,
        ]
        for each in unavailable
    ]
    return _section("silent, and why", ("probe", "what", "of", "reason", "detail", "what to do"), rows)


def _section(
    title: str, heads: tuple[str, ...], rows: list[list[str | Text]] | list[list[str]]
) -> RenderableType | None:
    return Group(Text(f"\n{title}", style="bold"), _table(heads, rows)) if rows else None


def _table(heads: tuple[str, ...], rows: Iterable[Iterable[str | Text]]) -> Table:
    """What hosts say goes in as text, never as markup."""
    table = Table(*heads, box=None, pad_edge=False, header_style="dim")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row))
    return table


def _subsystem(told: dict[str, Any]) -> str:
    return str(told["metric"]).partition("_")[0]


def _resource(labels: dict[str, str]) -> str:
    return " ".join(labels.values())


def _loss(loss: float | None) -> str:
    return DASH if loss is None else f"{loss:.4g}"
