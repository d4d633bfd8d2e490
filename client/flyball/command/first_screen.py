"""The first screen of `flyball up`: what is watched, where to look, and which readings are unavailable.

The functions are pure: they turn answers of the API into lines and tables.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flyball.command.printable import printable
from flyball.command.readings import REASONS
from flyball_reports.figures import plural, size

Answer = Mapping[str, Any]

_TRAINING = 'import flyball; run = flyball.run("NAME")  ·  flyball run -- python train.py'
_LABEL = 11  # columns
_MOST_CAUSES = 12
_MOST_SUBSYSTEMS = 8


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses that the screen shows."""

    page: str
    metrics: str
    api: str
    directory: str
    http_option: str  # the option that other commands need; empty for the default port
    adjusts: bool = False  # running trainings may be changed
    commands: str = ""  # the folder of `flyball` if the shell would not find it


def first_screen(hosts: Sequence[tuple[Answer, Sequence[Answer]]], addresses: Addresses) -> Iterator[RenderableType]:
    """Yield lines in Rich's markup, and a table.

    `hosts` are answers of /api/v1/hosts/NAME with the columns of their readings.
    """
    for answer, columns in hosts:
        yield from _host(answer, columns)
        yield ""
    yield from _addresses(hosts, addresses)
    unavailable = [each for answer, _ in hosts for each in answer["unavailable"]]
    if unavailable:
        yield ""
        yield "[bold]Unavailable readings[/bold]"
        yield unavailable_view(unavailable)


def _host(answer: Answer, columns: Sequence[Answer]) -> Iterator[RenderableType]:
    summary, inventory = answer["host"], answer.get("inventory") or {}
    name, interval = _text(summary["name"]), summary["interval_seconds"]
    every = "second" if interval == 1 else f"{interval:g} s"
    yield f"[bold green]●[/bold green] [bold]{name}[/bold] is watched every {every}"
    yield _lines(
        ("CPU", _cpu(inventory.get("cpu") or {})),
        ("memory", size(inventory["memory_bytes"]) if inventory.get("memory_bytes") else ""),
        ("GPUs", _gpus(inventory.get("gpus") or [])),
        ("system", _system(inventory)),
        ("readings", _readings(summary, columns)),
    )


def _cpu(cpu: Answer) -> str:
    parts = [_text(cpu.get("model", "")), plural(cpu["cores"], "core") if cpu.get("cores") else ""]
    if cpu.get("threads") and cpu.get("threads") != cpu.get("cores"):
        parts.append(plural(cpu["threads"], "thread"))
    return " · ".join(part for part in parts if part)


def _gpus(gpus: Sequence[Answer]) -> str:
    if not gpus:
        return "none found"
    kinds: dict[tuple[str, str, int], int] = {}
    for gpu in gpus:
        kind = (gpu.get("model", "GPU"), gpu.get("driver_version", ""), gpu.get("memory_bytes", 0))
        kinds[kind] = kinds.get(kind, 0) + 1
    return "; ".join(
        f"{count} × {_text(model)}"
        + (f" · {size(memory)}" if memory else "")
        + (f" · driver {_text(driver)}" if driver else "")
        for (model, driver, memory), count in kinds.items()
    )


def _system(inventory: Answer) -> str:
    parts = [inventory.get("operating_system", ""), inventory.get("kernel", ""), inventory.get("virtualization", "")]
    return " · ".join(_text(part) for part in parts if part)


def _readings(summary: Answer, columns: Sequence[Answer]) -> str:
    """Return the number of readings, and the subsystems with most of them."""
    subsystems = Counter(str(column["metric"]).split("_")[0] for column in columns)
    del subsystems["agent"]
    most = [name for name, _ in subsystems.most_common(_MOST_SUBSYSTEMS)]
    more = " …" if len(subsystems) > len(most) else ""
    return f"{plural(summary['columns'], 'reading')}: {_text(', '.join(most))}{more}"


def _addresses(hosts: Sequence[tuple[Answer, Sequence[Answer]]], addresses: Addresses) -> Iterator[RenderableType]:
    name = _text(hosts[0][0]["host"]["name"]) if hosts else "NAME"
    yield "[bold]Where to look[/bold]"
    option = f" {addresses.http_option}" if addresses.http_option else ""
    yield _lines(
        ("page", f"[link={addresses.page}]{addresses.page}[/link]"),
        ("Prometheus", addresses.metrics),
        ("API", addresses.api),
        ("terminal", f"flyball hosts{option}  ·  flyball top {name}{option}"),
        ("diagnosis", f"flyball diagnose {name}{option}  ·  flyball events --follow{option}"),
        ("changes", f"flyball adjust list{option}" if addresses.adjusts else ""),
        ("training", _TRAINING),
        ("folder", f"{_text(addresses.directory)} (logs, flyball.db and the agents' spools)"),
        ("commands", f"are in {_text(addresses.commands)}" if addresses.commands else ""),
    )


def _lines(*rows: tuple[str, str]) -> Table:
    """Return labels with their values. A value that is too long for the terminal goes on below itself."""
    grid = Table.grid(padding=(0, 1), collapse_padding=True, pad_edge=True)
    grid.add_column(min_width=_LABEL, no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in rows:
        if value:
            grid.add_row(f" {label}", value)
    return grid


def unavailable_view(unavailable: Sequence[Answer]) -> Table:
    """Return one line for each cause with its probes, and one for its remedy; those with a remedy come first."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for reading in unavailable:
        probes = groups.setdefault((reading["reason"], reading["detail"], reading["remedy"]), [])
        if reading["probe"] not in probes:
            probes.append(reading["probe"])
    ordered = sorted(groups.items(), key=lambda group: (not group[0][2], group[0][0] == "absent", group[1]))
    grid = Table.grid(padding=(0, 2), pad_edge=True)
    grid.add_column(style="yellow", overflow="fold", max_width=24)
    grid.add_column(overflow="fold")
    for (reason, detail, remedy), probes in ordered[:_MOST_CAUSES]:
        why = REASONS.get(reason, printable(reason))
        known = "" if printable(detail).endswith(why) else f"{why}: "  # the detail may state it already
        grid.add_row(Text(printable(", ".join(probes))), Text(f"{known}{printable(detail)}"))
        if remedy:
            grid.add_row("", Text(f"→ {printable(remedy)}"))
    if len(ordered) > _MOST_CAUSES:
        grid.add_row("", Text(f"… and {len(ordered) - _MOST_CAUSES} more: flyball agent --check"))
    return grid


def _text(value: object) -> str:
    return escape(printable(value))
