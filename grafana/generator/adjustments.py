"""Panels and marks of adjustments that several dashboards share. Their series belong to runs, not to hosts."""

from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import AnnotationQuery, Panel

from grafana.generator import diagnosis, style
from grafana.generator.board import periods
from grafana.generator.panels import column, graph, linked, listing, number
from grafana.generator.queries import JOB, now, on_hosts, over, rows

_NONE = "The collector allows none"
_WAITING = f'flyball_adjustments_in_progress{{{JOB}, state="proposed"}}'
_IN_PROGRESS = f"flyball_adjustments_in_progress{{{JOB}}}"
_HARMED: style.Steps = ((None, style.WARNING), (0, style.GOOD))


def in_progress() -> list[Panel]:
    """Return what is in progress, in all runs together."""
    return [
        number("Waiting for approval", "Changes that wait for a person. `flyball adjust list` shows them.", "none",
               now(f"sum({_WAITING})", "waiting"), steps=((None, style.GOOD), (1, style.NOTE)), empty=_NONE, span=3,
               height=8),
        graph("Adjustments in progress", "Changes that wait for a person (proposed), that are offered to the ranks, "
              "that all ranks have prepared (committed), and whose effect is being measured (applied).", "none",
              over(f"sum by (state) ({_IN_PROGRESS})", "{{state}}"), stack=StackingMode.NORMAL, empty=_NONE, span=6),
    ]  # fmt: skip


def outcomes(selector: str, hosts: str, *, spans: tuple[int, int] = (12, 12)) -> list[Panel]:
    """Return how adjustments of some runs ended, and what was measured."""
    ended = on_hosts(_ended(f"flyball_adjustments_total{selector}", "1h"), hosts, "1h")
    return [
        graph("Outcomes of adjustments", "Adjustments that ended in the hour before each point, by outcome. "
              "rolled_back: it did harm. undone: a person took it back. failed: the ranks did not make it alike.",
              "none", over(f"sum by (outcome) ({ended})", "{{outcome}}"), empty="No adjustments", span=spans[0]),
        listing("Measured gain", "Gain in speed that was measured after the last adjustment of each lever. Less than "
                "zero: the run became slower. `flyball adjust show ID` has the interval.",
                {"run": "Run", "lever": "Lever", "Value": "Gain"},
                rows(on_hosts(f"max by (run, lever) (flyball_adjustment_gain_ratio{selector})", hosts, "$__range")),
                sort="Gain",
                overrides={"Gain": column("percentunit", _HARMED), "Run": linked("Run", diagnosis.TO_RUN)},
                empty="No adjustments", span=spans[1], height=8),
    ]  # fmt: skip


def marks(selector: str, hosts: str) -> AnnotationQuery:
    """Mark for a minute that adjustments were kept or taken back."""
    ended = _ended(f'flyball_adjustments_total{selector[:-1]}, outcome=~"kept|rolled_back|undone|failed"}}', "1m")
    return periods(
        "purple",
        "Adjustments",
        on_hosts(f"({ended} > 0)", hosts),
        "{{lever}} {{outcome}}",
        "{{run}}",
        tags="lever,outcome",
    )


def _ended(total: str, window: str) -> str:
    """Count what ended in a time. `increase` leaves out the first one, with which its series begins."""
    return f"({total} unless {total} offset {window} or increase({total}[{window}]))"
