"""Rows of a table that lists the parts of a total."""

from collections.abc import Callable, Iterable

from flyball_planner.interval import Interval
from flyball_planner.plan.plan import NamedAmount, Plan
from flyball_planner.report.part_names import part_name
from flyball_reports.figures import duration, percent, spread

NEGLIGIBLE = 0.0005  # parts below this share are only shown in verbose reports


def part_rows(
    parts: Iterable[NamedAmount], total: float, formatted: Callable[[float], str], *, verbose: bool
) -> tuple[tuple[str, ...], ...]:
    """Return rows with the largest part first; negligible parts are only shown in verbose reports."""
    shown = [each for each in parts if verbose or each.amount.middle > NEGLIGIBLE * total]
    return tuple(
        (
            part_name(each.name),
            spread(each.amount, formatted),
            percent(each.amount.middle / total) if total else "–",
        )
        for each in sorted(shown, key=lambda each: -each.amount.middle)
    )


NOT_RUNNING = "does not run; with enough memory "


def supposed(plan: Plan, figures: str) -> str:
    """Return time or cost of a plan; of one that does not fit, it is only what it would be with enough memory."""
    return (NOT_RUNNING if plan.memory.verdict == "does not fit" else "") + figures


def ends(interval: Interval) -> str:
    """Format both ends of a duration."""
    return f"{duration(interval.low)} … {duration(interval.high)}"
