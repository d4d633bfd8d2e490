"""`flyball hosts`: the fleet in a table."""

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, open_api
from flyball.command.events import SEVERITIES, grouped, subject_text, time_left
from flyball.command.output import FormatOption, OutputFormat, console, write_json, write_view
from flyball.command.printable import printable
from flyball.command.readings import amount, duration
from flyball_reports.figures import plural

EXAMPLES = ("flyball hosts --sort cpu", "flyball hosts --format json | jq '.hosts[].name'")
STATUSES = {"up": "green", "not_reporting": "red", "ended": "dim", "waiting": "dim"}
_OVERVIEW_STATUSES = ("up", "not_reporting", "ended", "waiting")
_ATTENTION = (None, "info", "warning", "critical")
_PROBLEMS = 5  # shown with the table
_REFUSED_AGENTS = 5  # shown with the table


class HostOrder(StrEnum):
    """The order of the table: the largest first, but names and states in alphabetical order."""

    NAME = "name"
    STATUS = "status"
    CPU = "cpu"
    MEMORY = "memory"
    GPU = "gpu"
    HEAT = "heat"
    AGE = "age"
    SKEW = "skew"


_KEYS = {
    HostOrder.CPU: "cpu_ratio",
    HostOrder.MEMORY: "memory_ratio",
    HostOrder.GPU: "gpu_utilization_ratio",
    HostOrder.HEAT: "gpu_temperature_celsius",
    HostOrder.AGE: "age_seconds",
    HostOrder.SKEW: "clock_skew_seconds",
}


def hosts(
    url: CollectorOption = DEFAULT_URL,
    sort: Annotated[HostOrder, typer.Option(help="Order of the hosts.")] = HostOrder.NAME,
    format_: FormatOption = OutputFormat.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List the hosts of the fleet with their status and load, the active problems, and refused agents."""
    overview = open_api(url, token_file, ca_file).get("overview")
    found = _sorted(fleet(overview), sort)
    if format_ is OutputFormat.JSON:
        return write_json({"hosts": found, "refused_agents": _refused_of(overview)})
    if not found:
        typer.echo("No host has reported yet. Start an agent on each: flyball agent --set collector=HOST:3590")
        refused = refused_agents(overview)
        return write_view(Group(*refused)) if refused else None
    table = hosts_table(found, narrow=console().is_terminal)
    return write_view(Group(table, Text(_summary(found)), *problems(overview), *refused_agents(overview)))


def fleet_view(overview: dict[str, Any], sort: HostOrder) -> RenderableType:
    """Return the fleet for a screen: the problems are above the table, which may be longer than the screen."""
    found = _sorted(fleet(overview), sort)
    found_problems = [*problems(overview), *refused_agents(overview)]
    return Group(Text(_summary(found), style="bold"), *found_problems, Text(), hosts_table(found))


def _summary(found: list[dict[str, Any]]) -> str:
    missing = sum(host["status"] == "not_reporting" for host in found)
    gpus = sum(host["gpus"] for host in found)
    return f"{plural(len(found), 'host')}, {missing} not reporting, {plural(gpus, 'GPU')}"


def problems(overview: dict[str, Any]) -> list[RenderableType]:
    """Return the active warnings and worse, the worst first, one on a line, and the command that explains them."""
    worst = grouped(overview["worst"])
    if not worst:
        return [Text("No active problems.", style="green")]
    grid = Table.grid(padding=(0, 2))  # wrapped lines are indented
    for each in worst[:_PROBLEMS]:
        facts = (printable(each["kind"]), time_left(each), printable(each["because"]))
        text = f"{subject_text(each)}: {'  '.join(fact for fact in facts if fact)}"
        grid.add_row(Text(each["severity"], style=SEVERITIES.get(each["severity"], "")), Text(text))
    more = sum(overview["active"][severity] for severity in ("critical", "warning")) > len(worst[:_PROBLEMS])
    name = printable(next((each["host"] for each in worst if each["host"]), "HOST"))
    hint = f"Details: flyball diagnose {name}" + (". There may be more problems: flyball events" if more else "")
    return [Text("Active problems", style="bold"), grid, Text(hint, style="dim")]


def refused_agents(overview: dict[str, Any]) -> list[RenderableType]:
    """Return the agents refused in the last hour, the newest first, one on a line with the reason."""
    refused = _refused_of(overview)
    if not refused:
        return []
    grid = Table.grid(padding=(0, 2))  # wrapped lines are indented
    for agent in refused[:_REFUSED_AGENTS]:
        names = [printable(agent["host"] or ""), f"at {printable(agent['address'])}" if agent["address"] else ""]
        times = f" ({agent['count']} times)" if agent["count"] > 1 else ""
        grid.add_row(Text(" ".join(filter(None, names)) or "unknown"), Text(printable(agent["reason"]) + times))
    hint = [Text("There are more: flyball hosts --format json", style="dim")] if len(refused) > _REFUSED_AGENTS else []
    return [Text("Agents refused in the last hour", style="bold"), grid, *hint]


def _refused_of(overview: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = overview.get("refused_agents", [])  # missing if there are none
    return found


def fleet(overview: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every host of an overview with its newest figures: the mean of its GPUs, and the hottest of them."""
    worst: dict[str | None, str] = {}
    for each in overview["worst"]:
        worst.setdefault(each["host"], each["kind"])
    result, first = [], 0
    for index, name in enumerate(overview["hosts"]["names"]):
        following = first + overview["hosts"]["gpus"][index]
        busy, memory, heat = (
            [value for value in overview[key][first:following] if value is not None]
            for key in ("gpu_utilization_ratio", "gpu_memory_ratio", "gpu_temperature_celsius")
        )
        result.append(
            {
                "name": name,
                "status": _OVERVIEW_STATUSES[overview["status"][index]],
                "age_seconds": overview["age_seconds"][index],
                "clock_skew_seconds": overview["clock_skew_seconds"][index],
                "cpu_ratio": overview["cpu_ratio"][index],
                "memory_ratio": overview["memory_ratio"][index],
                "gpus": following - first,
                "gpu_utilization_ratio": sum(busy) / len(busy) if busy else None,
                "gpu_memory_ratio": sum(memory) / len(memory) if memory else None,
                "gpu_temperature_celsius": max(heat, default=None),
                "unavailable": overview["unavailable"][index],
                "attention": _ATTENTION[overview["attention"][index]],
                "problem": worst.get(name),
                "primary": overview["primary"][index],
            }
        )
        first = following
    return result


def hosts_table(found: list[dict[str, Any]], *, narrow: bool = True) -> Table:
    """Return the table of hosts; unknown values are a dash. A narrow one fits 80 columns: headings have two lines, and
    long names and ages are folded."""
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="dim")
    table.add_column("HOST", overflow="fold", vertical="bottom")
    table.add_column("STATUS", min_width=len("reporting"), vertical="bottom")
    for title in ("CPU", "MEM", "GPUS", "BUSY", "GPU\nMEM", "TEMP", "LAST\nSEEN", "CLOCK\nSKEW", "UN-\nAVAIL."):
        shown = title if narrow else title.replace("UN-\n", "UN").replace("\n", " ")
        table.add_column(shown, justify="right", no_wrap=title != "LAST\nSEEN", min_width=5, vertical="bottom")
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
        printable(host["name"]).replace("[", "\\["),  # names are not markup
        host["status"].replace("_", " "),
        *ratio,
        str(host["gpus"]),
        *gpu,
        heat,
        "never" if age is None else duration(age),
        amount(host["clock_skew_seconds"], "seconds"),
        str(host["unavailable"]),
    ]


def _sorted(found: list[dict[str, Any]], order: HostOrder) -> list[dict[str, Any]]:
    """Sort the hosts; those with an unknown value are last."""
    if order in {HostOrder.NAME, HostOrder.STATUS}:
        return sorted(found, key=lambda host: (host[order.value], host["name"]))
    key = _KEYS[order]
    return sorted(found, key=lambda host: (host[key] is None, -abs(host[key] or 0.0), host["name"]))
