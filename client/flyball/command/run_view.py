"""One screen about a run: progress, speed, parts of the step, services, levels, ranks, and what limits it.

The functions are pure: they turn an answer of the API into what is printed.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball.command.adjust_view import run_section
from flyball.command.advice import advice_view
from flyball.command.diagnose import conditions_of
from flyball.command.events import SEVERITIES
from flyball.command.printable import printable
from flyball.command.readings import DASH, amount, bar, duration
from flyball_reports.figures import plural

STATES = {"running": "green", "paused": "yellow", "not_reporting": "red", "ended": "dim"}
RunAnswer = dict[str, Any]
_OWN_LABELS = ("total_steps", "total_samples")
_SHOWN_HOSTS = 4


def run_view(found: RunAnswer) -> RenderableType:
    """Return the sections that are not empty."""
    sections: list[RenderableType] = [_heading(found), *_notices(found)]
    if found["reports_steps"]:
        sections += [*_progress(found), Text(), _figures(found)]
    sections += [*_step(found), *_services(found["services"]), *_levels(found["levels"])]
    diagnosis = found["diagnosis"]
    sections += [*conditions_of(diagnosis), *_ranks(found)]
    if diagnosis["advice"]:
        sections += [_title("What to change"), *advice_view(diagnosis["advice"])]
    sections += run_section(found.get("adjustments"))
    return Group(*sections)


def rate(value: float | None) -> str:
    """Return items per second with three digits at least: 123,456, 98.7, 0.512."""
    if value is None:
        return DASH
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _heading(found: RunAnswer) -> Text:
    run = found["run"]
    text = Text(printable(run["run"]), style="bold")
    text.append(f"  {run['state'].replace('_', ' ')}", style=STATES.get(run["state"], ""))
    facts = [", ".join(run["users"]), _hosts(run["hosts"])]
    facts += [f"found by {run['source'].replace('_', ' ')}"] if run["source"] not in (None, "client") else []
    facts += [f"started {duration(_age(found, run['started']))} ago"] if run["started"] else []
    facts += [f"attempt {found['attempt']}"] if found["attempt"] else []
    facts += [f"reported {duration(_age(found, run['last_report']))} ago"] if run["last_report"] else []
    facts += [f"{name}={value}" for name, value in run["labels"].items() if name not in _OWN_LABELS]
    text.append(f"\n{' · '.join(printable(fact) for fact in facts if fact)}", style="not bold dim")
    return text


def _hosts(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN_HOSTS])
    return shown if len(names) <= _SHOWN_HOSTS else f"{shown} and {len(names) - _SHOWN_HOSTS} more hosts"


def _age(found: RunAnswer, then: dict[str, Any]) -> float:
    return max(0.0, float(found["time"]["unix"]) - float(then["unix"]))


def _notices(found: RunAnswer) -> Iterable[Text]:
    state, bad = found["run"]["state"], found["bad_losses"]
    if state == "not_reporting":
        yield Text("No host of this run reports. The values below are the last known ones.", style="red")
    if bad:
        yield Text(f"The loss is NaN or infinite in the last {plural(bad, 'report')}.", style="bold red")
    if found["dropped"]:
        yield Text(f"{found['dropped']:,} names or values of its reports were cut or dropped.", style="dim")
    if not found["reports_steps"] and state != "ended":
        yield Text(
            "This run reports no steps. Two lines in its script make it report:\n"
            f"    run = flyball.run({printable(repr(found['run']['run']))})  # after import flyball\n"
            "    run.step(loss=loss)  # after each step\n"
            "Or start it without a change: flyball run -- python train.py",
            style="yellow",
        )


def _progress(found: RunAnswer) -> Iterable[Text]:
    """Yield one line: how far the run is, and the time left with its interval."""
    at = found["progress"]
    if at["total_samples"] and not at["total_steps"] and at["samples"] is not None:
        done = f"{at['samples']:,.0f} of {at['total_samples']:,} samples"
    elif at["step"] is None:
        return
    else:
        done = f"step {at['step']:,}" + (f" of {at['total_steps']:,}" if at["total_steps"] else "")
    ratio = at["ratio"]
    text = Text(f"\n{done}", style="bold")
    if ratio is not None:
        text.append(f"  {bar(ratio)}  {100 * ratio:.1f} %", style="not bold")
    if at["remaining_seconds"] is not None and found["run"]["state"] != "ended":
        text.append(f"  {_left(at)}", style="not bold")
    yield text


def _left(at: dict[str, Any]) -> str:
    low, high = at["remaining_low_seconds"], at["remaining_high_seconds"]
    interval = "" if low is None or high is None else f" ({duration(low)} … {duration(high)})"
    return f"{duration(at['remaining_seconds'])} left{interval}"


def _figures(found: RunAnswer) -> Table:
    """Return one line for each known figure, with what explains it."""
    recent, overall = found["recent"], found["overall"]
    grid = Table.grid(padding=(0, 2))
    grid.add_row("limited by", *_limit(found["diagnosis"]))
    slow, rank = found["slowest_step_seconds"], found["slowest_rank"]
    slowest = "" if slow is None or rank is None else f"slowest {amount(slow, 'seconds')}, rank {rank}"
    grid.add_row("step time", amount(recent["step_seconds"], "seconds"), Text(slowest, style="dim"))
    for name, key in (("tokens/s", "tokens_per_second"), ("samples/s", "samples_per_second")):
        if recent[key] is not None or overall[key] is not None:
            grid.add_row(name, rate(recent[key]), Text(f"{rate(overall[key])} since its start", style="dim"))
    loss = Text("NaN or infinite", style="bold red") if found["bad_losses"] else loss_text(found["loss"])
    grid.add_row("loss", loss, "")
    wait = recent["data_wait_ratio"]
    of_step = "" if wait is None else "of the step"
    grid.add_row("waiting for data", amount(wait, "ratio"), Text(of_step, style="dim"))
    if overall.get("oom_retries"):  # older collectors do not send these
        grid.add_row(
            "out of memory", plural(overall["oom_retries"], "part"), Text("repeated in smaller ones", style="dim")
        )
    for name in ("throttled", "paused"):
        if slept := recent.get(f"{name}_seconds"):
            grid.add_row(name, amount(slept, "seconds"), Text("between the latest steps", style="dim"))
    if found["allocated_peak_bytes"] is not None:
        reserved = found["reserved_peak_bytes"]
        more = "" if reserved is None else f"{amount(reserved, 'bytes')} reserved"
        grid.add_row("memory peak", amount(found["allocated_peak_bytes"], "bytes"), Text(more, style="dim"))
    return grid


def _limit(diagnosis: dict[str, Any]) -> tuple[Text, Text]:
    primary = diagnosis["primary"]
    if not primary:
        return Text("nothing found", style="dim"), Text()
    confidence = next((each["confidence"] for each in diagnosis["scores"] if each["bottleneck"] == primary), None)
    known = "" if confidence is None else f"{100 * confidence:.0f} % confidence"
    return Text(printable(primary.replace("_", " ")), style="bold"), Text(known, style="dim")


def loss_text(loss: float | None) -> str:
    """Return a loss with four digits."""
    return DASH if loss is None or not math.isfinite(loss) else f"{loss:#.4g}".rstrip(".")


def _step(found: RunAnswer) -> list[RenderableType]:
    sections = found["sections"]
    if not sections:
        return []
    grid = Table.grid(padding=(0, 2))
    for each in sections:
        grid.add_row(
            Text(printable(each["name"]), style="" if each["kind"] == "section" else "dim"),
            Text(bar(each["ratio"]), no_wrap=True),
            Text(amount(each["seconds"], "seconds"), justify="right"),
            Text(amount(each["ratio"], "ratio"), justify="right"),
        )
    return [_title("A step"), grid]


def _services(services: list[dict[str, Any]]) -> list[RenderableType]:
    rows: list[list[str | Text]] = [
        [
            Text(printable(each["service"])),
            _number(each["calls_per_step"]),
            _number(each["calls_per_sample"]),
            amount(each["seconds_per_call"], "seconds"),
            f"{each['recent_errors']:,.0f}",
            f"{each['errors']:,.0f}",
            f"{each['calls']:,.0f}",
        ]
        for each in services
    ]
    heads = ("service", "calls/step", "calls/sample", "per call", "recent errors", "errors", "calls")
    return _section("Services", heads, rows)


def _levels(levels: list[dict[str, Any]]) -> list[RenderableType]:
    rows: list[list[str | Text]] = [
        [
            Text(printable(each["level"])),
            rate(each["items_per_second"]),
            rate(each["overall_items_per_second"]),
            f"{each['items']:,.0f}",
        ]
        for each in levels
    ]
    return _section("Levels", ("level", "items/s", "since its start", "items"), rows)


def _ranks(found: RunAnswer) -> list[RenderableType]:
    """Return a table of the ranks, without columns in which nothing is known."""
    heads = ("rank", "host", "gpu", "step", "step time", "data wait", "tokens/s", "loss", "memory peak", "reported", "")
    rows = [_rank(found, each) for each in found["ranks"]]
    used = [
        column for column in range(len(heads)) if column < 2 or any(str(row[column]) not in {DASH, ""} for row in rows)
    ]
    section = _section("Ranks", [heads[column] for column in used], [[row[column] for column in used] for row in rows])
    more = found["ranks_total"] - len(rows)
    return [*section, Text(f"and {plural(more, 'rank')} more: --all lists them", style="dim")] if more else section


def _rank(found: RunAnswer, each: dict[str, Any]) -> list[str | Text]:
    gpus = ", ".join(str(gpu["gpu"] if gpu["gpu_index"] is None else gpu["gpu_index"]) for gpu in each["gpus"])
    severity = each["severity"] or ""
    return [
        DASH if each["rank"] is None else str(each["rank"]),
        Text(printable(each["host"])),
        Text(printable(gpus) or DASH),
        _number(each["step"]),
        amount(each["step_seconds"], "seconds"),
        amount(each["data_wait_ratio"], "ratio"),
        rate(each["tokens_per_second"]),
        Text("NaN or infinite", style="bold red") if each["bad_losses"] else loss_text(each["loss"]),
        amount(each["allocated_peak_bytes"], "bytes"),
        DASH if each["last_report"] is None else f"{duration(_age(found, each['last_report']))} ago",
        Text(severity, style=SEVERITIES.get(severity, "")),
    ]


def _number(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3g}"


_LEFT = frozenset({"service", "level", "rank", "host", "gpu", ""})


def _section(title: str, heads: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> list[RenderableType]:
    if not rows:
        return []
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in heads:
        table.add_column(head, justify="left" if head in _LEFT else "right", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return [_title(title), table]


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")
