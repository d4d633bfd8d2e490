"""Test the dashboards against the rules of Grafana's dashboard-linter. Each exclusion has its reason here."""

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.grafana.dashboards import NAMES, Json, Query, panels, queries, read, variables
from tests.grafana.linter import RULES, Fault, lint


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A rule that does not apply to some panels, and why. Without `details` every fault of the rule is excluded."""

    rule: str
    dashboard: str
    places: tuple[str, ...]
    reason: str
    details: tuple[str, ...] = ()

    def covers(self, dashboard: str, fault: Fault) -> bool:
        """Return True if this fault is excluded."""
        same = (self.rule, self.dashboard) == (fault.rule, dashboard)
        return same and fault.place in self.places and (not self.details or fault.detail in self.details)


OF_RUNS = "series of runs do not belong to a host; their instance is the collector: they are joined on the run"
EVERYWHERE = "the run to compare with is on other hosts than the chosen ones"
ENDED = "what was last known of runs that have ended within the time range is compared"
TOTALS = "a total over the time range that the user chose, not a rate: $__range is intended"
RARE = "there are a few adjustments an hour, so the hour before each point is counted"
FIRST = "the first adjustment, which begins a series, is counted by its value, because `increase` leaves it out"
COMPARED = (
    "Both runs over the time range",
    "Step time of both",
    "Data wait of both",
    "Tokens of both",
    "Power of both",
)
EXCLUSIONS = (
    Exclusion(
        "target-instance",
        "flyball-fleet",
        ("Runs", "Waiting for approval", "Adjustments in progress", "Outcomes of adjustments", "Measured gain"),
        OF_RUNS,
    ),
    *(
        Exclusion(
            "target-rate-interval",
            f"flyball-{name}",
            ("Outcomes of adjustments",),
            RARE,
            ("increase [1h]", "last_over_time [1h]"),
        )
        for name in ("fleet", "run")
    ),
    *(
        Exclusion("target-rate-interval", f"flyball-{name}", ("Measured gain",), ENDED, ("last_over_time [$__range]",))
        for name in ("fleet", "run")
    ),
    Exclusion("target-counter-agg", "flyball-fleet", ("Outcomes of adjustments",), FIRST),
    Exclusion("target-counter-agg", "flyball-run", ("Outcomes of adjustments",), FIRST),
    Exclusion(
        "target-rate-interval", "flyball-fleet", ("Runs",), TOTALS, ("increase [$__range]", "last_over_time [$__range]")
    ),
    Exclusion(
        "target-rate-interval",
        "flyball-fleet",
        ("GPU-hours wasted", "GPU-hours wasted by cause", "Cost of the waste"),
        TOTALS,
    ),
    Exclusion(
        "target-instance",
        "flyball-fleet",
        ("Cost of the waste",),
        "the price is a setting of the collector and does not belong to a host",
        ("flyball_gpu_hour_price",),
    ),
    Exclusion("target-rate-interval", "flyball-fleet", ("GPU-hours",), TOTALS + ", sampled at $__interval"),
    Exclusion(
        "target-rate-interval",
        "flyball-fleet",
        ("The 24 hosts with the highest scores",),
        "the hosts are chosen once, over the whole time range",
        ("avg_over_time [$__range]",),
    ),
    Exclusion("target-rate-interval", "flyball-gpu", ("XIDs", "Energy"), TOTALS, ("increase [$__range]",)),
    Exclusion(
        "target-counter-agg",
        "flyball-gpu",
        ("Lifetime errors",),
        "the device counts over its whole life, so the level is shown, not the growth",
    ),
    Exclusion(
        "target-rate-interval",
        "flyball-gpu",
        ("Lifetime errors",),
        "the last known level is shown, also for a GPU that is lost now",
    ),
    Exclusion(
        "target-instance",
        "flyball-run",
        (
            "Ranks",
            "Step",
            "Slowest rank",
            "Remaining",
            "GPU-hours wasted",
            "Step time",
            "MFU",
            "MFU over time",
            "Age of the last checkpoint",
            "Age of the last checkpoint over time",
            "Firing alerts",
            "Step of each rank against the median",
            "Time remaining",
            "Problems over time",
            "Advice",
            "Advice over time",
            "Outcomes of adjustments",
            "Measured gain",
            "GPU-hours wasted by cause",
            "GPUs wasted, by cause",
        ),
        OF_RUNS,
    ),
    Exclusion(
        "target-rate-interval", "flyball-run", ("GPU-hours wasted", "GPU-hours wasted by cause", "Energy"), TOTALS
    ),
    Exclusion("target-instance", "flyball-run", COMPARED, EVERYWHERE),
    Exclusion("target-rate-interval", "flyball-run", COMPARED[:1], f"{TOTALS}; {ENDED}"),
    Exclusion("target-rate-interval", "flyball-collector", ("Refused or lost", "Events by kind"), TOTALS),
)


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_holds(name: str) -> None:
    """There is no fault that is not excluded."""
    left = [fault for fault in lint(read(name)) if not any(each.covers(name, fault) for each in EXCLUSIONS)]
    assert left == []


@pytest.mark.parametrize("exclusion", EXCLUSIONS, ids=lambda each: f"{each.dashboard} {each.rule} {each.places[0]}")
def test_every_exclusion_is_needed(exclusion: Exclusion) -> None:
    """Each excluded panel does break the rule."""
    faults = lint(read(exclusion.dashboard))
    for place in exclusion.places:
        assert any(exclusion.covers(exclusion.dashboard, fault) and fault.place == place for fault in faults), place


IGNORING = {
    ("flyball-fleet", "Waiting for approval", "instance"): "the collector counts what waits in all runs together",
    ("flyball-fleet", "Adjustments in progress", "instance"): "the collector counts what is in progress in all runs",
    ("flyball-fleet", "annotation Collector started", "instance"): "the collector is not one of the hosts",
    ("flyball-gpu", "Unavailable readings", "gpu"): "readings of a driver are missing for all GPUs of a host",
    ("flyball-gpu", "Unavailable GPU readings over time", "gpu"): "readings of a driver are missing for all GPUs",
    **{("flyball-run", title, "instance"): EVERYWHERE for title in COMPARED},
}
"""Queries that may ignore a variable of their dashboard, and why."""


def _ignored(wanted: list[Query], names: list[str]) -> set[tuple[str, str, str]]:
    """Return the queries that ignore one of these variables. Only the comparison is about the other run."""
    found = set()
    for query in wanted:
        place = re.sub(r" [A-Z]$", "", query.where)
        for name in names if not place.startswith("variable ") else ():
            if f"${name}" not in query.expression and (name != "other" or place in COMPARED):
                found.add((query.dashboard, place, name))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_query_uses_the_variables_of_its_dashboard(name: str) -> None:
    """Every panel and mark follows all choices at the head of its dashboard, except where there is a reason."""
    chosen = [each["name"] for each in variables(read(name)) if each["type"] == "query"]
    assert _ignored(queries(name), chosen) == {each for each in IGNORING if each[0] == name}


def test_a_query_that_ignores_a_variable_is_found() -> None:
    """A panel that shows all hosts although some are chosen is reported; the query of a variable is not."""
    wanted = [
        Query("board", "CPU A", 'cpu{job=~"$job"}', instant=True),
        Query("board", "variable job", "x", instant=True),
    ]
    assert _ignored(wanted, ["job", "instance"]) == {("board", "CPU", "instance")}


def _first(dashboard: Json) -> Json:
    return next(panel for panel in panels(dashboard) if panel["title"] == "CPU")


def _query(expression: str) -> Callable[[Json], None]:
    def spoil(dashboard: Json) -> None:
        _first(dashboard)["targets"][0]["expr"] = expression

    return spoil


def _variable(name: str, **values: object) -> Callable[[Json], None]:
    def spoil(dashboard: Json) -> None:
        next(each for each in variables(dashboard) if each["name"] == name).update(values)

    return spoil


def _panel(**values: object) -> Callable[[Json], None]:
    return lambda dashboard: _first(dashboard).update(values)


def _unit(dashboard: Json) -> None:
    _first(dashboard)["fieldConfig"]["defaults"]["unit"] = "furlongs"


def _unused(dashboard: Json) -> None:
    spare = copy.deepcopy(next(each for each in variables(dashboard) if each["name"] == "job"))
    dashboard["templating"]["list"].append({**spare, "name": "spare"})


BOTH = 'job=~"$job", instance=~"$instance"'
SPOILT: dict[str, Callable[[Json], None]] = {
    "template-datasource": _variable("datasource", label="Source"),
    "template-job": _variable("job", allValue=".*"),
    "template-instance": _variable("instance", multi=False),
    "template-label-promql": _variable("instance", query="flyball_agent_up"),
    "template-on-time-change-reload": _variable("instance", refresh=1),
    "template-unused": _unused,
    "panel-datasource": _panel(datasource={"type": "prometheus", "uid": "abc"}),
    "panel-title-description": _panel(description=""),
    "panel-units": _unit,
    "panel-no-targets": _panel(targets=[]),
    "target-rate-interval": _query(f"rate(flyball_x_total{{{BOTH}}}[5m])"),
    "target-job": _query('flyball_x{instance=~"$instance"}'),
    "target-instance": _query('flyball_x{job=~"$job"}'),
    "target-counter-agg": _query(f"sum(flyball_x_total{{{BOTH}}})"),
    "target-histogram": _query(f"rate(flyball_x_seconds_bucket{{{BOTH}}}[$__rate_interval])"),
    "target-promql": _query("sum(flyball_x) + flyball_y{" + BOTH + "}"),
    "uneditable": lambda dashboard: dashboard.update(editable=True),
}


@pytest.mark.parametrize("rule", SPOILT)
def test_each_rule_finds_its_fault(rule: str) -> None:
    """A dashboard that breaks one rule gets faults of that rule only."""
    dashboard = read("flyball-host")
    before = lint(dashboard)
    SPOILT[rule](dashboard)
    assert {fault.rule for fault in lint(dashboard) if fault not in before} == {rule}


def test_every_rule_is_tested() -> None:
    """Every rule has a spoilt dashboard in which it must find a fault."""
    assert len(SPOILT) == len(RULES)
