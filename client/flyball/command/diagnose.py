"""`flyball diagnose HOST|RUN`: what limits it, with evidence, what will fail, and what to change."""

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.advice import advice_view, diagnosis_of
from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, open_api
from flyball.command.events import SEVERITIES, event_text, grouped
from flyball.command.output import FormatOption, OutputFormat, write_json, write_view
from flyball.command.printable import printable
from flyball.command.readings import DASH, bar

EXAMPLES = ("flyball diagnose node-1", "flyball diagnose llama-7b --format json | jq .primary")

_SHOWN = 0.05  # scores below are noise


def diagnose(
    name: Annotated[str, typer.Argument(metavar="HOST|RUN", help="A host or a run.")],
    url: CollectorOption = DEFAULT_URL,
    format_: FormatOption = OutputFormat.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Show what limits a host or run, what will fail and when, and what to change."""
    found = diagnosis_of(open_api(url, token_file, ca_file), name)
    if format_ is OutputFormat.JSON:
        return write_json(found)
    return write_view(diagnosis_view(found))


def diagnosis_view(found: dict[str, Any]) -> RenderableType:
    """Return the sections that are not empty."""
    sections: list[RenderableType] = [_heading(found), *conditions_of(found)]
    sections += _scores(found["scores"]) + _base_scores(found["base_scores"]) + _hosts(found["hosts"])
    if found["advice"]:
        sections += [_title("What to change"), *advice_view(found["advice"])]
    return Group(*sections)


def _heading(found: dict[str, Any]) -> Text:
    text = Text(printable(found["host"] or f"run {found['run']}"), style="bold")
    if found["primary"]:
        text.append(f"  limited by {printable(found['primary'])}", style="not bold")
    elif found["conditions"]:
        text.append("  no bottleneck", style="not bold dim")
    else:
        text.append("  no active problems", style="not bold green")
    if found["runs"]:
        text.append(f"  runs {', '.join(map(printable, found['runs']))}", style="not bold dim")
    return text


def conditions_of(diagnosis: dict[str, Any]) -> list[RenderableType]:
    """Return the active problems of a host; those of a run before those of its hosts."""
    found, run = diagnosis["conditions"], diagnosis["run"]
    if run is None:
        return conditions_view(found)
    own = conditions_view([each for each in found if each["run"] == run], "Active problems of the run")
    return own + conditions_view([each for each in found if each["run"] != run], "Active problems of its hosts")


def conditions_view(found: list[dict[str, Any]], title: str = "Active problems") -> list[RenderableType]:
    """Return the active problems with their reasons; equal ones of several GPUs are one entry."""
    shown = grouped(found)
    rows = [[Text(each["severity"], style=SEVERITIES.get(each["severity"], "")), event_text(each)] for each in shown]
    return _section(title, ("", ""), rows)


def _scores(found: list[dict[str, Any]]) -> list[RenderableType]:
    rows = [
        [
            Text(printable(each["bottleneck"]), style="bold" if each["raised"] else "", no_wrap=True),
            Text(bar(each["score"]), no_wrap=True),
            Text(DASH if each["score"] is None else f"{100 * each['score']:.0f} %", justify="right", no_wrap=True),
            Text(_confidence(each)),
            Text(printable(each["meaning"]), style="dim"),
        ]
        for each in found
        if each["raised"] or (each["score"] or 0.0) >= _SHOWN
    ]
    return _section("Bottlenecks", ("", "", "", "", ""), rows)


def _confidence(each: dict[str, Any]) -> str:
    """Return the confidence of an active bottleneck, or the bottleneck that explains this one."""
    if each.get("explained_by"):  # older collectors do not send it
        return f"explained by {printable(each['explained_by']).removeprefix('bottleneck_')}"
    return "" if each["confidence"] is None else f"{100 * each['confidence']:.0f} % confidence"


def _base_scores(scores: dict[str, float | None]) -> list[RenderableType]:
    """Return the base scores on one line; they raise no alert."""
    if not scores:
        return []
    parts = (f"{printable(name)} {DASH if value is None else f'{100 * value:.0f} %'}" for name, value in scores.items())
    return [Text(f"\nutilisation: {', '.join(parts)}", style="dim")]


def _hosts(found: list[dict[str, Any]]) -> list[RenderableType]:
    rows = [[Text(printable(each["host"])), Text(printable(each["primary"] or DASH))] for each in found]
    return _section("Hosts", ("host", "limited by"), rows)


def _section(title: str, heads: tuple[str, ...], rows: list[list[Text]]) -> list[RenderableType]:
    if not rows:
        return []
    table = Table(box=None, pad_edge=False, header_style="dim", show_header=any(heads))
    for head, cells in zip(heads, zip(*rows, strict=True), strict=True):
        whole = all(cell.no_wrap for cell in cells)
        table.add_column(head, no_wrap=whole, min_width=max(map(len, cells)) if whole else None, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return [_title(title), table]


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")
