"""Test the dashboards against the rules of Grafana's dashboard-linter. Each exclusion has its reason here."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.grafana.dashboards import NAMES, Json, panels, read, variables
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


OF_RUNS = "series of runs do not belong to a host; their instance is the scraped collector"
TOTALS = "a total over the time range that the user chose, not a rate: $__range is intended"
RARE = "there are a few adjustments an hour, so the hour before each point is counted"
FIRST = "the first adjustment, which begins a series, is counted by its value, because `increase` leaves it out"
EXCLUSIONS = (
    Exclusion(
        "target-instance",
        "flyball-fleet",
        ("Runs", "Waiting for approval", "Adjustments in progress", "Outcomes of adjustments", "Measured gain"),
        OF_RUNS,
    ),
    Exclusion("target-rate-interval", "flyball-fleet", ("Outcomes of adjustments",), RARE, ("increase [1h]",)),
    Exclusion("target-rate-interval", "flyball-run", ("Outcomes of adjustments",), RARE, ("increase [1h]",)),
    Exclusion("target-counter-agg", "flyball-fleet", ("Outcomes of adjustments",), FIRST),
    Exclusion("target-counter-agg", "flyball-run", ("Outcomes of adjustments",), FIRST),
    Exclusion("target-rate-interval", "flyball-fleet", ("Runs",), TOTALS, ("increase [$__range]",)),
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
    Exclusion("target-rate-interval", "flyball-run", ("GPU-hours wasted", "GPU-hours wasted by cause"), TOTALS),
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
