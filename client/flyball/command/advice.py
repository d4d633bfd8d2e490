"""`flyball advice`: what to change, why, and the expected gain."""

import re
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, Api, CaFileOption, CollectorOption, TokenFileOption, open_api, segment
from flyball.command.errors import NotFound
from flyball.command.events import subject_text
from flyball.command.output import FormatOption, OutputFormat, write_json, write_view
from flyball.command.printable import printable

EXAMPLES = ("flyball advice", "flyball advice node-1", "flyball advice llama-7b --format json")

SAFETY = {
    "A0": "only a person may do it",
    "A1": "does not change results",
    "A2": "needs the owner's consent",
}

IN_THIS_RUN = "an adjustment can do it"


def advice(
    name: Annotated[str, typer.Argument(metavar="[HOST|RUN]", help="Only advice for this host or run.")] = "",
    url: CollectorOption = DEFAULT_URL,
    format_: FormatOption = OutputFormat.TABLE,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List what to change: first what prevents a failure, then the largest gain for the least effort.

    The gains of several pieces of advice overlap. Do not add them.
    """
    api = open_api(url, token_file, ca_file)
    found = diagnosis_of(api, name)["advice"] if name else api.get("advice")
    if format_ is OutputFormat.JSON:
        return write_json(found)
    if not found:
        return typer.echo("No advice: there is no active problem that a change would solve.")
    return write_view(Group(*advice_view(found)))


def diagnosis_of(api: Api, name: str) -> dict[str, Any]:
    """Return the diagnosis of the host of this name, or else of the run."""
    try:
        return dict(api.get(f"hosts/{segment(name)}/diagnosis"))
    except NotFound as host_error:
        try:
            return dict(api.get(f"runs/{segment(name)}/diagnosis"))
        except NotFound as run_error:
            hints = [str(error).partition("; ")[2] for error in (host_error, run_error)]
            alike = [name for hint in hints if hint.endswith("?") for name in re.findall("'[^']+'", hint)]
            hint = f"did you mean {' or '.join(alike)}?" if alike else "`flyball hosts` and `flyball runs` list them"
            raise NotFound(f"no host or run named {printable(name)!r}; {hint}") from None


def advice_view(found: list[dict[str, Any]]) -> list[RenderableType]:
    """Return one paragraph for each piece of advice. Text of hosts and runs is never parsed as markup."""
    return [_paragraph(number, each) for number, each in enumerate(found, 1)]


def _paragraph(number: int, each: dict[str, Any]) -> Table:
    """Return a grid, so that wrapped lines are indented."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(f"{number}.", style="bold"), _text(each))
    return grid


def _text(each: dict[str, Any]) -> Text:
    text = Text(printable(each["change"]), style="bold")
    text.append(f"\n{subject_text(each)}: {printable(each['because'])}", style="not bold")
    facts = [gain(each), f"{100 * each['confidence']:.0f} % confidence", f"effort: {each['effort']}"]
    facts += [_safety(each)]
    facts += ["changes results"] if each["changes_results"] else []
    text.append(f"\n{' · '.join(fact for fact in facts if fact)}", style="not bold")
    if each.get("tried"):  # older collectors do not send it
        text.append(f"\n{printable(each['tried'])}", style="not bold cyan")
    if each["caution"]:
        text.append(f"\n{printable(each['caution'])}", style="not bold yellow")
    text.append(f"\nrule {printable(each['rule'])}; sources: {printable(each['source'])}", style="not bold dim")
    return text


def _safety(each: dict[str, Any]) -> str:
    """Return who may make the change. What Flyball makes or made on this run itself is not only for people."""
    safety = str(each["safety"])
    return IN_THIS_RUN if safety == "A0" and each.get("tried") else SAFETY.get(safety, printable(safety))


def gain(each: dict[str, Any]) -> str:
    """Return the expected speed-up; nothing if there is none."""
    low, high = each["gain_low"], each["gain_high"]
    return "" if low is None else f"faster by ×{low:.2f} to ×{high:.2f}"
