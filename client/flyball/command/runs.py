"""`flyball runs`: the runs of the fleet in a table, or one run."""

import contextlib
import time
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, Api, CaFileOption, CollectorOption, TokenFileOption, open_api
from flyball.command.errors import NotFound
from flyball.command.live_screen import show_live
from flyball.command.output import FormatOption, OutputFormat, console, write_json, write_view
from flyball.command.printable import printable
from flyball.command.readings import DASH, amount, duration
from flyball.command.run_view import run_view
from flyball_reports.figures import plural

EXAMPLES = (
    "flyball runs",
    "flyball runs --all",
    "flyball runs bert-large-3 --watch",
    "flyball runs --format json | jq '.runs[].run'",
)
STATES = {"running": "", "paused": "yellow", "not_reporting": "red", "ended": "dim"}
RECENT_SECONDS = 3600.0
_LISTED = 10_000
_TITLES = ("RUN", "STATE", "USER", "HOSTS", "GPUS", "RANKS", "STEP", "STEP TIME", "LEFT", "AGE", "PROBLEMS")
_TEXTS = ("RUN", "STATE", "USER", "PROBLEMS")
_ONLY_WIDE = ("USER", "HOSTS", "GPUS", "RANKS", "AGE")
_WIDE = 100  # columns of a terminal: with fewer, every cell would be folded
_LONGEST_NAME = 60
_SHOWN_RANKS = 16
_MOST_RANKS = 65_536


def runs(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Show this run.")] = "",
    all_: Annotated[
        bool, typer.Option("--all", "-a", help="Also list runs that ended within a day; of one run, list all ranks.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh every second until Ctrl-C.")] = False,
    url: CollectorOption = DEFAULT_URL,
    format_: FormatOption = OutputFormat.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List what trains now, and what ended in the last hour. Or show one run.

    Runs that report no steps are also listed: agents find them by their processes on GPUs.
    """
    api = open_api(url, token_file, ca_file)

    def fetch() -> dict[str, Any]:
        return fetch_run(api, name, all_ranks=all_) if name else fetch_runs(api, time.time(), all_=all_)

    def draw() -> RenderableType:
        return run_view(fetch()) if name else runs_view(fetch()["runs"], time.time(), all_=all_)

    words = f"flyball runs {printable(name)}".rstrip()
    if format_ is OutputFormat.JSON:
        return write_json(fetch())
    if watch:
        return show_live(draw, "flyball runs --watch", instead=f"{words} --format json")
    return write_view(draw())


def fetch_runs(api: Api, now: float, *, all_: bool) -> dict[str, Any]:
    """Return the runs that are listed."""
    return {"runs": listed_runs(api.get("runs", {"limit": _LISTED})["runs"], now, all_=all_)}


def listed_runs(found: list[dict[str, Any]], now: float, *, all_: bool) -> list[dict[str, Any]]:
    """Return the runs that have not ended, followed by those that ended recently, or by all that are known."""
    shown = [run for run in found if all_ or run["state"] != "ended" or _ended_seconds(run, now) < RECENT_SECONDS]
    return sorted(shown, key=lambda run: (run["state"] == "ended", run["run"]))


def fetch_run(api: Api, name: str, *, all_ranks: bool) -> dict[str, Any]:
    """Return everything about a run."""
    try:
        found = dict(api.get("run", {"name": name, "ranks": _MOST_RANKS if all_ranks else _SHOWN_RANKS}))
    except NotFound as error:
        hint = " `flyball runs` lists all." if str(error).endswith("?") else ""
        raise NotFound(f"{error}{hint}") from None
    with contextlib.suppress(NotFound):  # an older collector
        found["adjustments"] = api.get("values", {"run": name})
    return found


def runs_view(found: list[dict[str, Any]], now: float, *, all_: bool) -> RenderableType:
    """Return the table of runs with a summary, or a sentence if there are none."""
    if not found:
        hint = "" if all_ else " `flyball runs --all` lists those that have ended."
        return Text(f"No run holds a GPU or reports steps.{hint}")
    return Group(runs_table(found, now, width=console().width), Text(_summary(found)))


def _ended_seconds(run: dict[str, Any], now: float) -> float:
    """Return the seconds since an ended run was last seen."""
    return max(0.0, now - run["last_seen"]["unix"]) if run["last_seen"] else 0.0


def runs_table(found: list[dict[str, Any]], now: float, *, width: int = _WIDE) -> Table:
    """Return the table of runs; unknown values are a dash. In a narrow terminal it has fewer columns."""
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="dim")
    shown = [title for title in _TITLES if width >= _WIDE or title not in _ONLY_WIDE]
    for title in shown:
        right = title not in _TEXTS
        table.add_column(title, justify="right" if right else "left", overflow="fold", no_wrap=right)
    for run in found:
        cells = dict(zip(_TITLES, _row(run, now), strict=True))
        table.add_row(*(cells[title] for title in shown), style=STATES.get(run["state"], ""))
    return table


def _row(run: dict[str, Any], now: float) -> list[str]:
    left, started = run["remaining_seconds"], run["started"]
    return [
        _plain(run["run"] if len(run["run"]) <= _LONGEST_NAME else f"{run['run'][: _LONGEST_NAME - 1]}…"),
        _state(run, now),
        _plain(", ".join(run["users"])) or DASH,
        str(len(run["hosts"])),
        _number(run["gpus"]),
        _ranks(run),
        DASH if run["step"] is None else f"{run['step']:,}",
        amount(run["step_median_seconds"], "seconds"),
        DASH if left is None else duration(left),
        DASH if started is None else duration(max(0.0, now - started["unix"])),
        f"{run['severity']} ({run['conditions']})" if run["severity"] else "",
    ]


def _state(run: dict[str, Any], now: float) -> str:
    state = str(run["state"]).replace("_", " ")
    return f"{state} {duration(_ended_seconds(run, now))} ago" if state == "ended" and run["last_seen"] else state


def _ranks(run: dict[str, Any]) -> str:
    """Return the number of ranks that were seen, and the world size if it differs."""
    ranks, size = run["ranks"], run["world_size"]
    return f"{ranks} of {size}" if ranks and size and size != ranks else _number(ranks)


def _number(value: int | None) -> str:
    return DASH if value is None else str(value)


def _plain(text: str) -> str:
    """Return text from hosts, escaped because it is not markup."""
    return printable(text).replace("[", "\\[")


def _summary(found: list[dict[str, Any]]) -> str:
    running = [run for run in found if run["state"] != "ended"]
    ended = f", {len(found) - len(running)} ended" if len(running) < len(found) else ""
    return f"{plural(len(running), 'run')}, {plural(sum(run['gpus'] or 0 for run in running), 'GPU')}{ended}"
