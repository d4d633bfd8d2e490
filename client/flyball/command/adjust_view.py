"""Adjustments and adjustable values on the screen. The functions are pure: they turn answers of the API into text."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.printable import printable
from flyball.command.readings import DASH, amount, utc_time
from flyball_reports.figures import plural

Answer = dict[str, Any]

STATES = {
    "proposed": "yellow",
    "offered": "",
    "committed": "",
    "applied": "cyan",
    "kept": "green",
    "rolled_back": "red",
    "undone": "dim",
    "failed": "bold red",
}
_WORDS = {
    "proposed": "waits for approval",
    "committed": "all ranks are prepared",
    "applied": "applied; its effect is being measured",
    "kept": "kept",
    "rolled_back": "taken back, because it did harm",
    "undone": "taken back by a person",
    "aborted": "not applied",
}
_MANIFOLD = 2.0  # from this gain on, a factor is easier to read than a percentage
_SHOWN_RANKS = 16
_SHOWN_OF_RUN = 5
_SHOWN_CHOICES = 12
OFF = (
    "Adjustments are off on this collector. To allow them, set `adjustments.enabled = true` in its settings and in "
    "those of the agents; on your own machine, start it with `flyball up --adjust`."
)


_UNDECLARED = " The script's policy may be `off`, or the agents allow no adjustments."


def shown_value(value: object) -> str:
    """Return a value for people; a dash if it is unknown."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else printable(value)


def change_text(found: Answer) -> str:
    """Return what changes: micro_batch 16 → 8."""
    return f"{printable(found['name'])} {shown_value(found['value_from'])} → {shown_value(found['value_to'])}"


def progress_text(found: Answer) -> str:
    """Return the state in words, with the reason or the measured gain."""
    state = found["state"]
    words = _WORDS.get(state, printable(state).replace("_", " "))
    if state == "offered":
        words = f"offered to {plural(found['ranks'], 'rank')} for step {found['at_step']:,}"
    measured = f", {effect_text(found['effect'])}" if found["effect"] is not None and found["is_over"] else ""
    reason = printable(found["reason"])
    if not measured and f"{reason} ".startswith(f"{words} "):
        return reason  # vetoed by otto: not now
    return f"{words}{measured}{f': {reason}' if reason else ''}"


def gain_text(gain: float) -> str:
    """Return a factor of speed as a percentage, or as a factor from 2 on."""
    if gain >= _MANIFOLD:
        return f"×{gain:.3g}"
    percent = 100.0 * (gain - 1.0)
    return f"{percent:+.1f} %" if 0.05 <= abs(percent) < 0.95 else f"{round(percent) + 0:+d} %"


def effect_text(effect: Answer) -> str:
    """Return the measured gain with its interval."""
    low, high = gain_text(effect["gain_low"]), gain_text(effect["gain_high"])
    return gain_text(effect["gain"]) if low == high else f"{gain_text(effect['gain'])} ({low} … {high})"


def adjustments_view(answer: Answer) -> RenderableType:
    """Return the table of adjustments, or a sentence if there are none."""
    found = answer["adjustments"]
    off = [] if answer["enabled"] else [Text(OFF, style="yellow")]
    if not found:
        return Group(*(off or [Text("No adjustments.")]))
    table = _table(("ID", "TIME", "RUN", "CHANGE", "STATE", "GAIN", "REASON"), wrapped=("RUN", "REASON"))
    for each in found:
        table.add_row(
            Text(printable(each["id"])),
            Text(utc_time(each["created"]["rfc3339"])),
            Text(printable(each["run"])),
            Text(change_text(each)),
            _state(each),
            Text(DASH if each["effect"] is None else effect_text(each["effect"])),
            Text(printable(each["reason"] or each["because"]) or DASH),
        )
    older = [Text("Older ones: --limit", style="dim")] if answer["more"] else []
    return Group(table, *older, *off)


def adjustment_view(found: Answer) -> RenderableType:
    """Return everything about an adjustment."""
    heading = Text(change_text(found), style="bold")
    heading.append(f"  {printable(found['run'])}  ", style="not bold")
    heading.append(progress_text(found), style=f"not bold {STATES.get(found['state'], '')}".strip())
    return Group(heading, _facts(found), *_effect(found["effect"]), *_decisions(found["decisions"]), *_ranks(found))


def values_view(found: Answer) -> RenderableType:
    """Return the adjustable values of a run with its policy."""
    heading = Text(printable(found["run"]), style="bold")
    heading.append(f"  {_policy(found)}", style="not bold")
    if not found["values"]:
        hint = _UNDECLARED if found["enabled"] else f"\n{OFF}"
        return Group(heading, Text(f"No rank has declared a value that can be changed.{hint}"))
    table = _table(("NAME", "VALUE", "CHOICES", "CLASS", "WHEN", "STATE"), wrapped=("CHOICES", "STATE"))
    for each in found["values"]:
        table.add_row(*(Text(cell) for cell in _value_row(each)))
    off = [] if found["enabled"] else [Text(OFF, style="yellow")]
    return Group(heading, table, Text(_agreement(found), style="dim"), *off)


def run_section(found: Answer | None) -> list[RenderableType]:
    """Return the section of a run's screen: the policy and the newest adjustments. Empty if there is nothing."""
    if not found or not (found["values"] or found["adjustments"]):
        return []
    count = len(found["values"])
    lines = [Text(f"{_policy(found)} · {plural(count, 'value')} can be changed", style="dim")]
    table = Table.grid(padding=(0, 2))
    for each in found["adjustments"][:_SHOWN_OF_RUN]:
        why = printable(each["because"])
        progress = Text(progress_text(each), style=STATES.get(each["state"], ""))
        table.add_row(Text(change_text(each)), progress, Text(why, style="dim"))
    return [Text("\nAdjustments", style="bold"), *lines, *([table] if found["adjustments"] else [])]


def is_policy_known(found: Answer) -> bool:
    """Return True if the policy is known. A training with the policy `off` declares nothing, not even the policy."""
    return found["requested_policy"] is not None or found["policy"] == "off"


def _policy(found: Answer) -> str:
    if found["enabled"] and not is_policy_known(found):
        return "policy unknown"
    return f"policy {found['policy']}{_limits(found)}{set_by(found)}" if found["enabled"] else "adjustments are off"


def _limits(found: Answer) -> str:
    """Return what the collector allows, and what the training asks for, as far as it is not the policy in force."""
    requested = found["requested_policy"]
    if requested is None:  # whatever the collector allows
        return ""
    limit = "" if found["policy"] == found["limit"] else f"the collector allows {found['limit']}"
    asked = "" if requested == found["policy"] or found.get("policy_set") else f"the training asks for {requested}"
    words = ", ".join(filter(None, (limit, asked)))
    return f" ({words})" if words else ""


def set_by(found: Answer) -> str:
    """Return who has set the policy of a run, when and why; empty if it is that of its training."""
    decided = found.get("policy_set")
    if decided is None:
        return ""
    why = f": {printable(decided['why'])}" if decided["why"] else ""
    return (
        f"; {decided['policy']} was set by {printable(decided['who'])} at {utc_time(decided['time']['rfc3339'])}{why}"
    )


def _agreement(found: Answer) -> str:
    """Return which ranks have declared values, and how they agree at a step."""
    if not found["complete"]:
        missing = ", ".join(map(str, found.get("missing_ranks", ()))) or "unknown"
        ranks = f"{plural(found['world_size'], 'rank')}; those that have declared no values: {missing}"
        return f"{ranks}. Check that the agents of their hosts allow adjustments; `flyball runs RUN` lists the hosts"
    register = {"c10d": "they agree in the job's own store", "local": "one rank decides alone"}
    how = register.get(found["register"], "they cannot agree at a step, so only class 1 can change")
    return f"all ranks have declared values; {how}"


def _value_row(each: Answer) -> Sequence[str]:
    choices = [shown_value(choice) for choice in each["choices"]]
    rest = f" … {len(choices) - _SHOWN_CHOICES} more" if len(choices) > _SHOWN_CHOICES else ""
    value = shown_value(each["value"])
    if each["different"]:
        value = ", ".join(f"{shown_value(one['value'])} ({plural(one['number'], 'rank')})" for one in each["different"])
    blocked = "; ".join(f"blocked: {printable(one['reason'])}{_of_ranks(one, each)}" for one in each["blocked"])
    return (
        printable(each["name"]),
        value,
        ", ".join(choices[:_SHOWN_CHOICES]) + rest or DASH,
        f"{each['safety']}: {printable(each['safety_meaning'])}",
        printable(each["when"]),
        printable(each.get("refused", "")) or blocked or ("the ranks differ" if each["different"] else "can change"),
    )


def _of_ranks(blocked: Answer, each: Answer) -> str:
    if blocked["number"] == each["ranks"]:
        return ""
    more = " …" if blocked["number"] > len(blocked["ranks"]) else ""
    return f" (rank {', '.join(map(str, blocked['ranks']))}{more})"


def _facts(found: Answer) -> Table:
    low, high = found["expected_low"], found["expected_high"]
    by = next((each["who"] for each in reversed(found["decisions"]) if each["who"] != "flyball"), "")
    facts = {
        "reason": printable(found["because"]),
        "expected": "" if low is None or high is None else f"×{low:.2f} to ×{high:.2f}",
        "predicted": ", ".join(f"{printable(name)} {value:,.6g}" for name, value in found["predicted"].items()),
        "class": f"{found['safety']}: {printable(found['safety_meaning'])}",
        "rule": printable(found["rule"]),
        "decided by": printable(by),
        "ranks": f"{found['ranks']} on {', '.join(map(printable, found['hosts'][:4]))}" if found["hosts"] else "",
        "step": f"{found['at_step']:,}" if found["at_step"] else "",
        "takes back": printable(found["inverse_of"]),
        "taken back by": printable(found["inverse"]),
        "id": printable(found["id"]),
    }
    grid = Table.grid(padding=(0, 2))
    for name, text in facts.items():
        if text:
            grid.add_row(Text(name, style="dim"), Text(text))
    return grid


def _effect(effect: Answer | None) -> list[RenderableType]:
    if effect is None:
        return []
    table = _table(("", "BEFORE", "AFTER"))
    rows = (
        ("step time", "step_seconds", "seconds"),
        ("tokens/s", "tokens_per_second", ""),
        ("memory peak", "peak_bytes", "bytes"),
    )
    for title, key, unit in rows:
        before, after = effect[f"{key}_before"], effect[f"{key}_after"]
        if before is not None or after is not None:
            table.add_row(Text(title), Text(amount(before, unit)), Text(amount(after, unit)))
    table.add_row(Text("steps"), Text(f"{effect['steps_before']:,}"), Text(f"{effect['steps_after']:,}"))
    faults = (
        [Text(f"harm: {', '.join(printable(each) for each in effect['faults'])}", style="red")]
        if effect["faults"]
        else []
    )
    return [Text(f"\nMeasured speed: {effect_text(effect)}, 90 % interval", style="bold"), table, *faults]


def _decisions(found: list[Answer]) -> list[RenderableType]:
    if not found:
        return []
    table = _table(("TIME", "DECISION", "BY", "REASON"), wrapped=("REASON",))
    for each in found:
        words = (utc_time(each["time"]["rfc3339"]), each["what"].replace("_", " "), each["who"], each["why"])
        table.add_row(*(Text(printable(word)) for word in words))
    return [Text("\nDecisions", style="bold"), table]


def _ranks(found: Answer) -> list[RenderableType]:
    """Return the answers of the ranks; of many ranks their number by verdict, and those that differ."""
    answers = found["answers"]
    if not answers:
        return []
    counts = found["verdicts"]
    table = _table(("RANK", "ANSWER", "STEP", "VALUE", "REASON"), wrapped=("REASON",))
    usual = max(counts, key=counts.get)
    shown = answers if len(answers) <= _SHOWN_RANKS else [each for each in answers if each["verdict"] != usual]
    for each in shown[:_SHOWN_RANKS]:
        words = (each["rank"], each["verdict"], f"{each['step']:,}", shown_value(each["observed"]), each["reason"])
        table.add_row(*(Text(printable(word)) for word in words))
    total = ", ".join(f"{count:,} {printable(verdict)}" for verdict, count in counts.items())
    return [Text(f"\nRanks: {total}", style="bold"), *([table] if shown else [])]


def _state(each: Answer) -> Text:
    return Text(printable(each["state"]).replace("_", " "), style=STATES.get(each["state"], ""))


def _table(heads: Sequence[str], wrapped: Sequence[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in heads:
        table.add_column(head, no_wrap=head not in wrapped, overflow="fold" if head in wrapped else "ellipsis")
    return table
