"""`flyball host NAME` and `flyball host remove NAME`."""

import sys
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, Api, CaFileOption, CollectorOption, TokenFileOption, open_api, segment
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.first_screen import unavailable_view
from flyball.command.gpu_name import gpu_name
from flyball.command.host_overview import overview
from flyball.command.hosts import STATUSES
from flyball.command.live_screen import show_live
from flyball.command.output import FormatOption, OutputFormat, write_json, write_view
from flyball.command.printable import printable
from flyball.command.readings import DASH, REASONS, amount, clock_text, duration, reading_text, utc_time
from flyball_daemon.suggestion import suggestion
from flyball_reports.figures import plural, size

EXAMPLES = ("flyball host node-1 --watch", "flyball host node-1 --only gpu", "flyball host remove node-1")


def host(
    words: Annotated[list[str], typer.Argument(metavar="[remove] NAME", help="A host; remove deletes its data.")],
    url: CollectorOption = DEFAULT_URL,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh every second until Ctrl-C.")] = False,
    all_: Annotated[bool, typer.Option("--all", "-a", help="Show every reading, not only the important ones.")] = False,
    only: Annotated[
        str, typer.Option(metavar="PREFIX", help="Only metrics whose name begins with this, such as gpu.")
    ] = "",
    format_: FormatOption = OutputFormat.TABLE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without confirmation.")] = False,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Show a host: active problems, load, GPUs, runs, processes and unavailable readings. Or remove it."""
    api = open_api(url, token_file, ca_file)
    if words == ["remove"]:
        raise WrongArgument("missing argument NAME: flyball host remove NAME")
    if len(words) == 2 and words[0] == "remove":
        return remove(api, words[1], format_, yes=yes)
    if len(words) != 1:
        raise WrongArgument("expected one host: flyball host NAME, or flyball host remove NAME")
    if format_ is OutputFormat.JSON:
        return write_json(fetch(api, words[0], only))
    if watch:
        return show_live(
            live_view(api, words[0], only, every=all_ or bool(only)),
            "flyball host --watch",
            instead=f"flyball host {printable(words[0])} --format json",
        )
    return write_view(host_view(fetch(api, words[0], only), every=all_ or bool(only)))


def remove(api: Api, name: str, format_: OutputFormat, *, yes: bool) -> None:
    """Remove a host with all its stored data."""
    if not (yes or _is_confirmed(name)):
        raise CommandError(f"{printable(name)} was not removed")
    removed = api.delete(f"hosts/{segment(name)}")
    if format_ is OutputFormat.JSON:
        return write_json(removed)
    return typer.echo(f"Removed {printable(name)} with {plural(removed['blocks'], 'block')} of readings.")


def _is_confirmed(name: str) -> bool:
    try:
        return typer.confirm(f"Remove {printable(name)} with all its stored data? This cannot be undone.")
    except typer.Abort:
        if sys.stdin.isatty():  # Ctrl-C
            raise KeyboardInterrupt from None
        typer.echo()
        raise WrongArgument("nobody can confirm this here; in a script, add --yes") from None


def fetch(api: Api, name: str, only: str) -> dict[str, Any]:
    """Return the current state of a host."""
    state: dict[str, Any] = api.get(f"hosts/{segment(name)}")
    latest = api.get(f"hosts/{segment(name)}/latest")
    state["readings"] = [each for each in latest["readings"] if each["metric"].startswith(only)]
    if only and not state["readings"] and latest["readings"]:
        known = sorted({each["metric"] for each in latest["readings"]})
        hint = suggestion(only, known) or f"; `flyball host {printable(name)} --all` lists all"
        raise WrongArgument(f"--only {printable(only)}: no metric of {printable(name)} begins with this{hint}")
    state |= {"epoch": latest["epoch"], "time_unix": (latest["time"] or {"unix": 0.0})["unix"]}
    state["conditions"] = api.get(f"hosts/{segment(name)}/diagnosis")["conditions"]
    return state


def host_view(state: dict[str, Any], before: dict[str, Any] | None = None, *, every: bool = False) -> RenderableType:
    """Return the sections that are not empty, with every reading or an overview."""
    readings = _readings(state["readings"]) if every else overview(state, before)
    sections = [_heading(state), _inventory(state["inventory"]), *readings, _runs(state["runs"])]
    sections += [_processes(state["processes"]), _events(state.get("events", []))]
    sections.append(_unavailable(state) if every else _unavailable_by_cause(state["unavailable"]))
    return Group(*(section for section in sections if section is not None))


def live_view(api: Api, name: str, only: str = "", *, every: bool = False) -> Callable[[], RenderableType]:
    """Return a function that fetches and draws the host, with the traffic since its last call."""
    before: dict[str, Any] | None = None

    def draw() -> RenderableType:
        nonlocal before
        state = fetch(api, name, only)
        view, before = host_view(state, before, every=every), state
        return view

    return draw


def _heading(state: dict[str, Any]) -> Text:
    summary = state["host"]
    text = Text(printable(summary["name"]), style="bold")
    text.append(f"  {summary['status'].replace('_', ' ')}", style=STATUSES.get(summary["status"], ""))
    if summary["age_seconds"] is not None:
        text.append(f"  reported {duration(summary['age_seconds'])} ago", style="dim")
    if summary["clock_skew_seconds"] is not None:
        text.append(f"  clock {clock_text(summary['clock_skew_seconds'])}", style="dim")
    if summary["agent_version"]:
        text.append(f"  agent {printable(summary['agent_version'])}", style="dim")
    if summary["backlog_bytes"]:
        text.append(f"  {size(summary['backlog_bytes'])} still to be sent", style="yellow")
    if summary["duplicate"]:
        text.append("\nTwo machines report under this name. Give each its own: `host` in agent.toml.", style="red")
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
    return Text(" · ".join(printable(fact) for fact in facts if fact))


def _readings(readings: list[dict[str, Any]]) -> Iterable[RenderableType]:
    """Yield one table a subsystem, which is the first word of the metric's name."""
    for subsystem, members in groupby(sorted(readings, key=_subsystem), key=_subsystem):
        yield Text(f"\n{subsystem}", style="bold")
        rows = [
            [each["metric"], _resource(each["labels"]), Text(printable(reading_text(each)), justify="right")]
            for each in members
        ]
        yield _table(("metric", "resource", "value"), rows)


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
    return _section("Runs", ("run", "rank", "step", "mean step time", "loss"), rows)


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
    return _section("Processes", ("pid", "user", "run", "GPU memory", "command"), rows)


def _events(events: list[dict[str, Any]]) -> RenderableType | None:
    rows = [
        [
            utc_time(each["time"]["rfc3339"]) if each["time"] else DASH,
            f"{each['kind']} {each['code']}" if each["code"] else each["kind"],
            each["resource"] or DASH,
            each["text"] or DASH,
        ]
        for each in events
    ]
    return _section("Recent events, newest first", ("time", "event", "resource", "message"), rows)


def _unavailable_by_cause(unavailable: list[dict[str, Any]]) -> RenderableType | None:
    """Return the unavailable readings with one line a cause."""
    if not unavailable:
        return None
    return Group(Text("\nUnavailable readings", style="bold"), unavailable_view(unavailable))


def _unavailable(state: dict[str, Any]) -> RenderableType | None:
    names = {
        each["labels"]["gpu"]: _resource(each["labels"]) for each in state["readings"] if "index" in each["labels"]
    }
    rows = [
        [
            each["probe"],
            each["metric"] or "all",
            names.get(each["resource"], each["resource"]) or DASH,
            REASONS.get(each["reason"], each["reason"]),
            each["detail"],
            each["remedy"] or DASH,
        ]
        for each in state["unavailable"]
    ]
    return _section("Unavailable readings", ("probe", "metric", "resource", "reason", "detail", "remedy"), rows)


def _section(
    title: str, heads: tuple[str, ...], rows: list[list[str | Text]] | list[list[str]]
) -> RenderableType | None:
    return Group(Text(f"\n{title}", style="bold"), _table(heads, rows)) if rows else None


def _table(heads: tuple[str, ...], rows: Iterable[Iterable[str | Text]]) -> Table:
    """Return a table of plain text; text of hosts is never parsed as markup."""
    table = Table(*heads, box=None, pad_edge=False, header_style="dim")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    return table


def _subsystem(reading: dict[str, Any]) -> str:
    return str(reading["metric"]).partition("_")[0]


def _resource(labels: dict[str, str]) -> str:
    """Return the labels of a reading; a GPU has its index."""
    index = labels.get("index", "")
    gpu = gpu_name(labels.get("gpu"), int(index) if index.isdigit() else None)
    others = (value for name, value in labels.items() if name not in {"gpu", "index"})
    return " ".join(filter(None, (gpu, *others)))


def _loss(loss: float | None) -> str:
    return DASH if loss is None else f"{loss:.4g}"
