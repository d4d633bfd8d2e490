"""`flyball advice`: what to change, why, and what that should bring."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, Api, CaFileOption, CollectorOption, TokenFileOption, api, segment
from flyball.command.errors import CommandError, NotThere
from flyball.command.events import where
from flyball.command.hosts import Format
from flyball.command.words import clean

EXAMPLE = "Examples: flyball advice; flyball advice node-1; flyball advice llama-7b --format json"

SAFETY = {"A0": "for people only", "A1": "changes no result", "A2": "with the owner's consent"}


def advice(
    name: Annotated[str, typer.Argument(metavar="[HOST|RUN]", help="Only about this host or run.")] = "",
    collector: CollectorOption = DEFAULT_URL,
    format_: Annotated[Format, typer.Option("--format", help="For people, or JSON for programs.")] = Format.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List advice: what threatens a run first, then what brings most for its effort. Gains are never to be added."""
    asked = api(collector, token_file, ca_file)
    found = diagnosis_of(asked, name)["advice"] if name else asked.get("advice")
    if format_ is Format.JSON:
        return typer.echo(json.dumps(found, indent=2))
    if not found:
        return typer.echo("No advice: nothing stands that a change would help.")
    return Console().print(Group(*advice_view(found)))


def diagnosis_of(collector: Api, name: str) -> dict[str, Any]:
    """Of the host of this name, or else of the run."""
    try:
        return dict(collector.get(f"hosts/{segment(name)}/diagnosis"))
    except NotThere as host_error:
        try:
            return dict(collector.get(f"runs/{segment(name)}/diagnosis"))
        except NotThere as run_error:
            raise CommandError(f"{host_error}; and {run_error}") from None


def advice_view(found: list[dict[str, Any]]) -> list[RenderableType]:
    """A paragraph each. What comes from hosts and runs is text, never markup."""
    return [_paragraph(number, each) for number, each in enumerate(found, 1)]


def _paragraph(number: int, each: dict[str, Any]) -> Table:
    """A grid, so that long lines go on below their beginning."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(f"{number}.", style="bold"), _words(each))
    return grid


def _words(each: dict[str, Any]) -> Text:
    text = Text(clean(each["change"]), style="bold")
    text.append(f"\n{where(each)}: {clean(each['because'])}", style="not bold")
    facts = [gain(each), f"{each['confidence']:.0%} sure", f"effort: {each['effort']}"]
    facts += [SAFETY.get(each["safety"], clean(each["safety"]))]
    facts += ["changes results"] if each["changes_results"] else []
    text.append(f"\n{' · '.join(fact for fact in facts if fact)}", style="not bold")
    if each["caution"]:
        text.append(f"\n{clean(each['caution'])}", style="not bold yellow")
    text.append(f"\n{clean(each['rule'])}; {clean(each['source'])}", style="not bold dim")
    return text


def gain(each: dict[str, Any]) -> str:
    """×1.2 to ×1.5."""
    low, high = each["gain_low"], each["gain_high"]
    return "" if low is None else f"faster by ×{low:.2f} to ×{high:.2f}"
