"""`flyball hosts`: the fleet in a table."""

import json
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, api
from flyball.command.events import SEVERITIES, gathered, where
from flyball.command.readings import amount, duration
from flyball.command.words import clean
from flyball_reports.figures import plural

EXAMPLE = "Examples: flyball hosts --sort cpu; flyball hosts --format json | jq '.[].name'"
PAGE = 1000
STATUSES = {"up": "green", "silent": "red", "ended": "dim", "waiting": "dim"}
_OVERVIEW_STATUSES = ("up", "silent", "ended", "waiting")
_ATTENTION = (None, "info", "warning", "critical")
_PROBLEMS = 5  # shown below the table


class Format(StrEnum):
    """How it is written."""

    TABLE = "table"
    JSON = "json"


class Sort(StrEnum):
    """The order of the table; the largest first, but names and states by the alphabet."""

    NAME = "name"
    STATUS = "status"
    CPU = "cpu"
    MEMORY = "memory"
    GPU = "gpu"
    HEAT = "heat"
    AGE = "age"
    SKEW = "skew"


_KEYS = {
    Sort.CPU: "cpu_ratio",
    Sort.MEMORY: "memory_ratio",
    Sort.GPU: "gpu_utilization_ratio",
    Sort.HEAT: "gpu_temperature_celsius",
    Sort.AGE: "age_seconds",
    Sort.SKEW: "clock_skew_seconds",
}


def hosts(
    collector: CollectorOption = DEFAULT_URL,
    sort: Annotated[Sort, typer.Option(help="Order of the hosts.")] = Sort.NAME,
    format_: Annotated[Format, typer.Option("--format", help="A table, or JSON for programs.")] = Format.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List the hosts of the fleet: whether they report, and how busy they are."""
    told = api(collector, token_file, ca_file).get("overview")
    found = _sorted(fleet(told), sort)
    if format_ is Format.JSON:
        typer.echo(json.dumps(found, indent=2))
        return
    if not found:
        typer.echo("No host has reported yet. On each machine: flyball agent --set collector=HOST:3590")
        return
    Console().print(hosts_table(found))
    typer.echo(_summary(found))
    for line in problems(told):
        Console().print(line, highlight=False)


def fleet_view(told: dict[str, Any], sort: Sort) -> RenderableType:
    """The same for a screen: what must be seen stands above the table, which may be longer."""
    found = _sorted(fleet(told), sort)
    return Group(Text(_summary(found), style="bold"), *problems(told), Text(), hosts_table(found))


def _summary(found: list[dict[str, Any]]) -> str:
    silent = sum(host["status"] == "silent" for host in found)
    gpus = sum(host["gpus"] for host in found)
    return f"{plural(len(found), 'host')}, {silent} silent, {plural(gpus, 'GPU')}"


def problems(told: dict[str, Any]) -> list[Text]:
    """What stands that is a warning or worse, the worst first, a line each; where to ask further."""
    worst = gathered(told["worst"])
    if not worst:
        return []
    lines = []
    for each in worst[:_PROBLEMS]:
        line = Text(f"{each['severity']:8}", style=SEVERITIES.get(each["severity"], ""))
        line.append(f"  {where(each)}: {clean(each['kind'])}", style="not bold default")
        line.append(f"  {clean(each['because'])}", style="not bold default")
        lines.append(line)
    more = sum(told["active"][severity] for severity in ("critical", "warning")) > len(worst[:_PROBLEMS])
    name = clean(next((each["host"] for each in worst if each["host"]), "HOST"))
    lines.append(
        Text(f"{'there may be more; ' if more else ''}why, and what to do: flyball diagnose {name}", style="dim")
    )
    return lines


def fleet(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Every host of an overview with its newest figures; those of its GPUs as their mean, or the hottest."""
    worst: dict[str | None, str] = {}
    for each in told["worst"]:
        worst.setdefault(each["host"], each["kind"])
    result, first = [], 0
    for index, name in enumerate(told["hosts"]["names"]):
        following = first + told["hosts"]["gpus"][index]
        busy, memory, heat = (
            [value for value in told[key][first:following] if value is not None]
            for key in ("gpu_utilization_ratio", "gpu_memory_ratio", "gpu_temperature_celsius")
        )
        result.append(
            {
                "name": name,
                "status": _OVERVIEW_STATUSES[told["status"][index]],
                "age_seconds": told["age_seconds"][index],
                "clock_skew_seconds": told["clock_skew_seconds"][index],
                "cpu_ratio": told["cpu_ratio"][index],
                "memory_ratio": told["memory_ratio"][index],
                "gpus": following - first,
                "gpu_utilization_ratio": sum(busy) / len(busy) if busy else None,
                "gpu_memory_ratio": sum(memory) / len(memory) if memory else None,
                "gpu_temperature_celsius": max(heat, default=None),
                "unavailable": told["unavailable"][index],
                "attention": _ATTENTION[told["attention"][index]],
                "problem": worst.get(name),
                "primary": told["primary"][index],
            }
        )
        first = following
    return result


def hosts_table(found: list[dict[str, Any]]) -> Table:
    """The table; a dash is unknown, never zero. It fits 80 columns: names of more than 16 letters fold."""
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="dim")
    table.add_column("HOST", overflow="fold", vertical="bottom")
    table.add_column("STATE", no_wrap=True, vertical="bottom")
    for title in ("CPU", "MEM", "GPUS", "BUSY", "GPU\nMEM", "HOT", "SEEN", "CLOCK", "NOT\nREAD"):
        table.add_column(title, justify="right", no_wrap=True, vertical="bottom")
    for host in found:
        table.add_row(*_row(host), style=None if host["status"] == "up" else STATUSES[host["status"]])
    return table


def _row(host: dict[str, Any]) -> list[str]:
    fresh = host["status"] == "up"
    ratio = [amount(host[key] if fresh else None, "ratio") for key in ("cpu_ratio", "memory_ratio")]
    gpu = [amount(host[key] if fresh else None, "ratio") for key in ("gpu_utilization_ratio", "gpu_memory_ratio")]
    heat = amount(host["gpu_temperature_celsius"] if fresh else None, "celsius")
    age = host["age_seconds"]
    return [
        clean(host["name"]).replace("[", "\\["),  # what a host says is no markup
        host["status"],
        *ratio,
        str(host["gpus"]),
        *gpu,
        heat,
        "never" if age is None else duration(age),
        amount(host["clock_skew_seconds"], "seconds"),
        str(host["unavailable"]),
    ]


def _sorted(found: list[dict[str, Any]], sort: Sort) -> list[dict[str, Any]]:
    """Unknown figures stand last."""
    if sort in {Sort.NAME, Sort.STATUS}:
        return sorted(found, key=lambda host: (host[sort.value], host["name"]))
    key = _KEYS[sort]
    return sorted(found, key=lambda host: (host[key] is None, -abs(host[key] or 0.0), host["name"]))
