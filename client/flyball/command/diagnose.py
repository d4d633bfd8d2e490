"""`flyball diagnose HOST|RUN`: what bounds it, how sure that is, what will break, what to change."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.advice import advice_view, diagnosis_of
from flyball.command.api import DEFAULT_URL, CaFileOption, CollectorOption, TokenFileOption, api
from flyball.command.events import SEVERITIES, gathered, told
from flyball.command.hosts import Format
from flyball.command.readings import DASH, bar
from flyball.command.words import clean

EXAMPLE = "Examples: flyball diagnose node-1; flyball diagnose llama-7b --format json | jq .primary"

_SHOWN = 0.05  # scores below are noise


def diagnose(
    name: Annotated[str, typer.Argument(metavar="HOST|RUN", help="A host, or a run.")],
    collector: CollectorOption = DEFAULT_URL,
    format_: Annotated[Format, typer.Option("--format", help="For people, or JSON for programs.")] = Format.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Say what bounds a host or run, what will break it and when, and what to change."""
    found = diagnosis_of(api(collector, token_file, ca_file), name)
    if format_ is Format.JSON:
        return typer.echo(json.dumps(found, indent=2))
    return Console().print(diagnosis_view(found))


def diagnosis_view(found: dict[str, Any]) -> RenderableType:
    """The sections that have something to say."""
    sections: list[RenderableType] = [_heading(found), *conditions_view(found["conditions"])]
    sections += _scores(found["scores"]) + _base_scores(found["base_scores"]) + _hosts(found["hosts"])
    if found["advice"]:
        sections += [_title("what to change"), *advice_view(found["advice"])]
    return Group(*sections)


def _heading(found: dict[str, Any]) -> Text:
    text = Text(clean(found["host"] or f"run {found['run']}"), style="bold")
    if found["primary"]:
        text.append(f"  bounded by {clean(found['primary'])}", style="not bold")
    elif found["conditions"]:
        text.append("  nothing bounds it that is raised", style="not bold dim")
    else:
        text.append("  nothing stands", style="not bold green")
    if found["runs"]:
        text.append(f"  runs {', '.join(map(clean, found['runs']))}", style="not bold dim")
    return text


def conditions_view(found: list[dict[str, Any]]) -> list[RenderableType]:
    """What stands, with the reason; of several GPUs once."""
    shown = gathered(found)
    rows = [[Text(each["severity"], style=SEVERITIES.get(each["severity"], "")), told(each)] for each in shown]
    return _section("what stands", ("", ""), rows)


def _scores(found: list[dict[str, Any]]) -> list[RenderableType]:
    rows = [
        [
            Text(clean(each["bottleneck"]), style="bold" if each["raised"] else ""),
            Text(bar(each["score"])),
            Text(DASH if each["score"] is None else f"{each['score']:.0%}", justify="right"),
            Text(_active(each)),
            Text(clean(each["meaning"]), style="dim"),
        ]
        for each in found
        if each["raised"] or (each["score"] or 0.0) >= _SHOWN
    ]
    return _section("what bounds it", ("", "", "", "", ""), rows)


def _active(each: dict[str, Any]) -> str:
    """How sure what stands is; of what does not, for which other one."""
    if each.get("explained_by"):  # collectors of before do not tell
        return f"explained by {clean(each['explained_by']).removeprefix('bottleneck_')}"
    return "" if each["confidence"] is None else f"{each['confidence']:.0%} sure"


def _base_scores(scores: dict[str, float | None]) -> list[RenderableType]:
    """For orientation: they alert nobody."""
    if not scores:
        return []
    words = ", ".join(f"{clean(name)} {DASH if value is None else f'{value:.0%}'}" for name, value in scores.items())
    return [Text(f"\nplain shares of plain limits: {words}", style="dim")]


def _hosts(found: list[dict[str, Any]]) -> list[RenderableType]:
    rows = [[Text(clean(each["host"])), Text(clean(each["primary"] or DASH))] for each in found]
    return _section("its hosts", ("host", "bounded by"), rows)


def _section(title: str, heads: tuple[str, ...], rows: list[list[Text]]) -> list[RenderableType]:
    if not rows:
        return []
    table = Table(*heads, box=None, pad_edge=False, header_style="dim", show_header=any(heads))
    for row in rows:
        table.add_row(*row)
    return [_title(title), table]


def _title(words: str) -> Text:
    return Text(f"\n{words}", style="bold")
