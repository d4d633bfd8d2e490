"""`flyball runs`: the runs of the fleet in a table."""

import time
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, open_api
from flyball.command.output import FormatOption, OutputFormat, write_json, write_view
from flyball.command.printable import printable
from flyball.command.readings import DASH, amount, duration
from flyball_reports.figures import plural

EXAMPLES = ("flyball runs", "flyball runs --all", "flyball runs --format json | jq '.runs[].run'")
STATES = {"running": "", "not_reporting": "red", "ended": "dim"}
_LISTED = 10_000


def runs(
    all_: Annotated[bool, typer.Option("--all", help="Also list runs that ended within a day.")] = False,
    url: CollectorOption = DEFAULT_URL,
    format_: FormatOption = OutputFormat.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List the runs of the fleet: those that report steps, and those that only have processes on GPUs."""
    answer = open_api(url, token_file, ca_file).get("runs", {"limit": _LISTED})
    found = [run for run in answer["runs"] if all_ or run["state"] != "ended"]
    if format_ is OutputFormat.JSON:
        return write_json({"runs": found})
    if not found:
        hint = "" if all_ else " `flyball runs --all` lists those that have ended."
        return typer.echo(f"No run holds a GPU or reports steps.{hint}")
    return write_view(Group(runs_table(found, time.time()), Text(_summary(found))))


def runs_table(found: list[dict[str, Any]], now: float) -> Table:
    """Return the table of runs; unknown values are a dash."""
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="dim")
    table.add_column("RUN", overflow="fold")
    table.add_column("STATE")
    table.add_column("USER", overflow="fold")
    for title in ("HOSTS", "GPUS", "RANKS", "STEP", "STEP TIME", "LEFT", "AGE"):
        table.add_column(title, justify="right")
    table.add_column("PROBLEM")
    for run in found:
        table.add_row(*_row(run, now), style=STATES.get(run["state"], ""))
    return table


def _row(run: dict[str, Any], now: float) -> list[str]:
    left, started = run["remaining_seconds"], run["started"]
    return [
        _plain(run["run"]),
        run["state"].replace("_", " "),
        _plain(", ".join(run["users"])) or DASH,
        str(len(run["hosts"])),
        _number(run["gpus"]),
        _ranks(run),
        _number(run["step"]),
        amount(run["step_median_seconds"], "seconds"),
        DASH if left is None else duration(left),
        DASH if started is None else duration(max(0.0, now - started["unix"])),
        run["severity"] or "",
    ]


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
    gpus = sum(run["gpus"] or 0 for run in found if run["state"] != "ended")
    return f"{plural(len(found), 'run')}, {plural(gpus, 'GPU')}"
