"""The first screen: what is watched, where to look, what is missing and why. Pure: API answers in, lines out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape

from flyball.command.words import clean
from flyball_reports.figures import plural, size

Answer = Mapping[str, Any]

REASONS = {
    "absent": "not here",
    "denied": "no permission",
    "unsupported": "cannot tell",
    "failed": "failed",
    "timed_out": "does not answer",
    "stale": "repeats itself",
    "unknown": "silent",
}
_MOST_GROUPS = 12
_MOST_FAMILIES = 8


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look."""

    page: str
    metrics: str
    api: str
    directory: str
    http_option: str  # what other commands have to be told; empty when nothing


def first_screen(hosts: Sequence[tuple[Answer, Sequence[Answer]]], places: Places) -> Iterator[str]:
    """Lines in rich's markup; `hosts` are answers of /api/v1/hosts/NAME with the columns of their readings."""
    for answer, columns in hosts:
        yield from _host(answer, columns)
        yield ""
    yield from _places(hosts, places)
    silent = list(
        missing([unavailable_reading for answer, _ in hosts for unavailable_reading in answer["unavailable"]])
    )
    if silent:
        yield ""
        yield "[bold]Not read here, and why[/bold]"
        yield from silent


def _host(answer: Answer, columns: Sequence[Answer]) -> Iterator[str]:
    summary, inventory = answer["host"], answer.get("inventory") or {}
    name, interval = _text(summary["name"]), summary["interval_seconds"]
    yield f"[bold green]●[/bold green] [bold]{name}[/bold] is watched every {interval:g} s"
    for label, value in (
        ("CPU", _cpu(inventory.get("cpu") or {})),
        ("memory", size(inventory["memory_bytes"]) if inventory.get("memory_bytes") else ""),
        ("GPUs", _gpus(inventory.get("gpus") or [])),
        ("system", _system(inventory)),
        ("readings", _readings(summary, columns)),
    ):
        if value:
            yield f"  {label:10} {value}"


def _cpu(cpu: Answer) -> str:
    parts = [_text(cpu.get("model", "")), plural(cpu["cores"], "core") if cpu.get("cores") else ""]
    if cpu.get("threads") and cpu.get("threads") != cpu.get("cores"):
        parts.append(plural(cpu["threads"], "thread"))
    return " · ".join(part for part in parts if part)


def _gpus(gpus: Sequence[Answer]) -> str:
    if not gpus:
        return "none seen"
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
    """How much is read, and the subsystems with most of it."""
    families = Counter(str(column["metric"]).split("_")[0] for column in columns)
    del families["agent"]
    most = [family for family, _ in families.most_common(_MOST_FAMILIES)]
    return f"{plural(summary['columns'], 'column')}: {_text(', '.join(most))}" + (
        " …" if len(families) > len(most) else ""
    )


def _places(hosts: Sequence[tuple[Answer, Sequence[Answer]]], places: Places) -> Iterator[str]:
    name = _text(hosts[0][0]["host"]["name"]) if hosts else "NAME"
    yield "[bold]Where to look[/bold]"
    option = f" {places.http_option}" if places.http_option else ""
    for label, value in (
        ("page", f"[link={places.page}]{places.page}[/link]"),
        ("Prometheus", places.metrics),
        ("API", places.api),
        ("terminal", f"flyball hosts{option}  ·  flyball top {name}{option}"),
        ("diagnosis", f"flyball diagnose {name}{option}  ·  flyball events --follow{option}"),
        ("files", f"{_text(places.directory)}: logs, flyball.db and the agents' spools"),
    ):
        yield f"  {label:10} {value}"


def missing(unavailable: Sequence[Answer]) -> Iterator[str]:
    """UnavailableReadings of one cause in one line: which probes, why, and what helps."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for unavailable_reading in unavailable:
        cause = (unavailable_reading["reason"], unavailable_reading["detail"], unavailable_reading["remedy"])
        probes = groups.setdefault(cause, [])
        if unavailable_reading["probe"] not in probes:
            probes.append(unavailable_reading["probe"])
    ordered = sorted(groups.items(), key=lambda group: (not group[0][2], group[0][0] == "absent", group[1]))
    width = min(24, max((len(", ".join(probes)) for _, probes in ordered), default=0))
    for (reason, detail, remedy), probes in ordered[:_MOST_GROUPS]:
        names = _text(", ".join(probes)).ljust(width)
        yield f"  [yellow]{names}[/yellow]  {REASONS.get(reason, _text(reason))}: {_text(detail)}"
        if remedy:
            yield f"  {'':{width}}  [dim]→[/dim] {_text(remedy)}"
    if len(ordered) > _MOST_GROUPS:
        yield f"  … and {len(ordered) - _MOST_GROUPS} more: flyball agent --check"


def _text(value: object) -> str:
    return escape(clean(value))
