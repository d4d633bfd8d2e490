"""`flyball adjust`: changes of running trainings: list, approve, veto, take back, make one, and set the policy."""

import json
import time
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from flyball.command.adjust_view import (
    adjustment_view,
    adjustments_view,
    change_text,
    is_policy_known,
    progress_text,
    set_by,
    shown_value,
    values_view,
)
from flyball.command.api import DEFAULT_URL, Api, CaFileOption, CollectorOption, TokenFileOption, open_api, segment
from flyball.command.command_help import add_command, command_group
from flyball.command.errors import NotFound, WrongArgument
from flyball.command.live_screen import show_live
from flyball.command.output import FormatOption, OutputFormat, write_json, write_view
from flyball.command.printable import printable

ID_LENGTH = 16
LONGEST_WHY = 500  # as the collector allows
_LISTED = 50
_SEARCHED = 1000
_POLL_SECONDS = 0.5

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="As `flyball adjust list` shows it; its first digits are enough.")
]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run, as `flyball runs` lists it.")]
WhyOption = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, for other people.")]
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Follow the adjustment until it is over.")]


class Policy(StrEnum):
    """The adjustments that a run accepts."""

    OFF = "off"
    ASK = "ask"
    AUTO = "auto"


def build() -> typer.Typer:
    """Return the group of commands."""
    group = command_group(
        "Change values of running trainings. All ranks make a change at the same step, or none does. The effect is "
        "measured, and a change that does harm is taken back. Changes need an operator's token."
    )
    add_command(
        group,
        "list",
        list_adjustments,
        ["flyball adjust list llama-7b-3", "flyball adjust list --state proposed", "flyball adjust list --watch"],
    )
    add_command(group, "show", show, ["flyball adjust show 9f2 --watch"])
    add_command(group, "approve", approve, ["flyball adjust approve 9f2"])
    add_command(group, "veto", veto, ["flyball adjust veto 9f2 --why 'evaluation at noon'"])
    add_command(group, "undo", undo, ["flyball adjust undo 9f2 --why 'slower evaluation'"])
    add_command(group, "set", set_value, ["flyball adjust set llama-7b-3 micro_batch 8 --watch"])
    add_command(group, "values", values, ["flyball adjust values llama-7b-3"])
    add_command(group, "policy", policy, ["flyball adjust policy llama-7b-3 ask"])
    return group


def list_adjustments(
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="Only this run.")] = "",
    host: Annotated[str, typer.Option(metavar="HOST", help="Only those with ranks on this host.")] = "",
    state: Annotated[
        str, typer.Option(metavar="STATE", help="Only this state, such as proposed, or all that are in_progress.")
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="NUMBER", min=1, max=1000, help="The newest.")
    ] = _LISTED,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh every second until Ctrl-C.")] = False,
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List adjustments, the newest first: what was changed, why, and what it brought."""
    api = open_api(url, token_file, ca_file)
    query = {"run": run, "host": host, "state": state, "limit": limit}

    def draw() -> RenderableType:
        return adjustments_view(api.get("adjustments", query))

    if format_ is OutputFormat.JSON:
        return write_json(api.get("adjustments", query))
    if watch:
        return show_live(draw, "flyball adjust list --watch", instead="flyball adjust list --format json")
    return write_view(draw())


def show(
    id_: IdArgument,
    watch: WatchOption = False,
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Show an adjustment: reason, decisions, answers of the ranks, and the measured effect."""
    api = open_api(url, token_file, ca_file)
    return _finish(api, api.get(f"adjustments/{segment(_full_id(api, id_))}"), format_, watch=watch, details=True)


def approve(
    id_: IdArgument,
    why: WhyOption = "",
    watch: WatchOption = False,
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Approve an adjustment that waits for a person. It is offered to the ranks at once."""
    api = open_api(url, token_file, ca_file)
    return _finish(api, _decide(api, id_, "approve", why), format_, watch=watch)


def veto(
    id_: IdArgument,
    why: WhyOption = "",
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """End an adjustment that is not applied yet. No rank changes anything."""
    api = open_api(url, token_file, ca_file)
    return _finish(api, _decide(api, id_, "veto", why), format_, watch=False)


def undo(
    id_: IdArgument,
    why: WhyOption = "",
    watch: WatchOption = False,
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Take an applied adjustment back. All ranks return to the old value at the same step."""
    api = open_api(url, token_file, ca_file)
    return _finish(api, _decide(api, id_, "undo", why), format_, watch=watch)


def set_value(
    run: RunArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A value, as `flyball adjust values RUN` lists it.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="One of its choices.")],
    why: WhyOption = "",
    watch: WatchOption = False,
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Change one value on all ranks of a run."""
    api = open_api(url, token_file, ca_file)
    known = api.get("values", {"run": run})["values"]
    body = {"run": run, "name": name, "to": choice_of(known, name, value), "why": _reason(why)}
    return _finish(api, api.post("adjustments", body), format_, watch=watch)


def values(
    run: RunArgument,
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """List the values that a run can change while it trains, and its policy."""
    found = open_api(url, token_file, ca_file).get("values", {"run": run})
    return write_json(found) if format_ is OutputFormat.JSON else write_view(values_view(found))


def policy(
    run: RunArgument,
    policy_: Annotated[
        Policy | None,
        typer.Argument(
            metavar="[POLICY]",
            help="off: nothing is changed; ask: a person approves each change; auto: safe changes need no approval.",
        ),
    ] = None,
    why: WhyOption = "",
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Show or set the policy of a run. The settings of the collector limit it."""
    api = open_api(url, token_file, ca_file)
    if policy_ is None:
        answer = api.get("values", {"run": run})
        keys = ("run", "policy", "limit", "requested_policy", "enabled", "policy_set")
        found = {key: answer.get(key) for key in keys}  # an older collector does not know all of them
    else:
        found = api.post("policy", {"run": run, "policy": policy_.value, "why": _reason(why)})
    if format_ is OutputFormat.JSON:
        return write_json(found)
    if policy_ is None and not is_policy_known(found):
        return typer.echo(
            f"The policy of {printable(run)} is unknown: no rank has declared a value that can be changed."
        )
    limited = ": no rank has declared a value that can be changed" if _declares_nothing(found) else ""
    if policy_ is not None and policy_.value != found["policy"]:
        limited = f", not {policy_.value}: the collector allows {found['limit']} at most"
    decided = set_by(found) if policy_ is None else ""
    return typer.echo(f"The policy of {printable(found['run'])} is {found['policy']}{limited}{decided}.")


def _declares_nothing(found: dict[str, Any]) -> bool:
    """Return True if the policy is off because nothing can be changed. An answer to a new policy does not have that."""
    return bool(found.get("enabled")) and found["requested_policy"] is None


def choice_of(known: list[dict[str, Any]], name: str, text: str) -> bool | int | float | str:
    """Return the choice that a text names. Without choices, return the number, text, true or false that it is."""
    choices: list[Any] = next((each["choices"] for each in known if each["name"] == name), [])
    for choice in choices:
        if text in {shown_value(choice), json.dumps(choice), choice} or _is_number(choice, text):
            return choice  # type: ignore[no-any-return]  # a value of the API
    if choices:
        expected = ", ".join(shown_value(choice) for choice in choices)
        raise WrongArgument(f"VALUE {printable(text)} is not a choice of {printable(name)}; expected {expected}")
    if text in {"on", "off"}:
        return text == "on"
    try:
        parsed = json.loads(text)
    except ValueError:
        return text
    return parsed if isinstance(parsed, bool | int | float) else text


def _is_number(choice: object, text: str) -> bool:
    """Return True if a text is another form of a number, such as 1.0 for 1."""
    try:
        return isinstance(choice, int | float) and not isinstance(choice, bool) and float(text) == choice
    except ValueError:
        return False


def _full_id(api: Api, text: str) -> str:
    """Return the id that begins with a text."""
    if len(text) >= ID_LENGTH:
        return text
    found = api.get("adjustments", {"limit": _SEARCHED})["adjustments"] if text else []
    ids = [str(each["id"]) for each in found if each["id"].startswith(text)]
    if len(ids) > 1:
        raise WrongArgument(f"several adjustments begin with {text!r}: {', '.join(ids[:4])}; write more digits")
    if not ids:
        raise NotFound(f"no adjustment with the id {printable(text)!r}; `flyball adjust list` lists them")
    return ids[0]


def _reason(why: str) -> str:
    """Return the reason of a decision if the collector can store it."""
    if len(why) > LONGEST_WHY:
        raise WrongArgument(f"--why has {len(why)} characters; at most {LONGEST_WHY} are allowed")
    if any("\ud800" <= character <= "\udfff" for character in why):
        raise WrongArgument("--why is not valid UTF-8")
    return why


def _decide(api: Api, id_: str, action: str, why: str) -> dict[str, Any]:
    return dict(api.post(f"adjustments/{segment(_full_id(api, id_))}/{action}", {"why": _reason(why)}))


def _finish(api: Api, found: dict[str, Any], format_: OutputFormat, *, watch: bool, details: bool = False) -> None:
    """Print an adjustment: at once, or when it is over."""
    for newer in _followed(api, found) if watch else ():
        found = newer
    if format_ is OutputFormat.JSON:
        return write_json(found)
    if details or watch:
        return write_view(adjustment_view(found))
    typer.echo(f"{change_text(found)} on {printable(found['run'])}: {progress_text(found)}.")
    if not found["is_over"]:
        typer.echo(f"Follow it: flyball adjust show {printable(found['id'])} --watch")
    return None


def _followed(api: Api, found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the adjustment until it is over. Each change is reported on the standard error."""
    shown = ""
    while True:
        words = progress_text(found)
        if words != shown:
            shown = words
            typer.echo(f"{change_text(found)}: {words}", err=True)
        yield found
        if found["is_over"]:
            return
        time.sleep(_POLL_SECONDS)
        found = api.get(f"adjustments/{segment(found['id'])}")
