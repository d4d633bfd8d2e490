"""The dashboards keep to the rules of Grafana's dashboard-linter, but for exclusions whose reason is written here."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.grafana.dashboards import NAMES, Json, panels, read, variables
from tests.grafana.linter import RULES, Fault, lint


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A rule that does not hold at certain places, and why. No words: whatever the breach is."""

    rule: str
    dashboard: str
    places: tuple[str, ...]
    reason: str
    words: tuple[str, ...] = ()

    def covers(self, dashboard: str, fault: Fault) -> bool:
        """Whether this breach is meant."""
        same = (self.rule, self.dashboard) == (fault.rule, dashboard)
        return same and fault.place in self.places and (not self.words or fault.words in self.words)


OF_RUNS = "what belongs to a run belongs to no host; such series carry the instance of the collector that is scraped"
TOTALS = "a total over the time range that the user chose, not a rate: $__range is meant"
EXCLUSIONS = (
    Exclusion("target-instance", "flyball-fleet", ("Runs",), OF_RUNS),
    Exclusion("target-rate-interval", "flyball-fleet", ("Runs",), TOTALS, ("increase [$__range]",)),
    Exclusion(
        "target-rate-interval",
        "flyball-fleet",
        ("GPU-hours wasted", "Wasted GPU-hours by cause", "Cost of the waste"),
        TOTALS,
    ),
    Exclusion(
        "target-instance",
        "flyball-fleet",
        ("Cost of the waste",),
        "the price is a setting of the collector, and belongs to no host",
        ("flyball_gpu_hour_price",),
    ),
    Exclusion("target-rate-interval", "flyball-fleet", ("GPU-hours",), TOTALS + ", sampled at $__interval"),
    Exclusion(
        "target-rate-interval",
        "flyball-fleet",
        ("The 24 hosts with the highest scores",),
        "which hosts are shown is decided once, over the whole time range",
        ("avg_over_time [$__range]",),
    ),
    Exclusion("target-rate-interval", "flyball-gpu", ("XIDs", "Energy"), TOTALS, ("increase [$__range]",)),
    Exclusion(
        "target-counter-agg",
        "flyball-gpu",
        ("Errors in a device's life",),
        "the device itself counts over its whole life: the level is the message, and it came before we watched",
    ),
    Exclusion(
        "target-rate-interval",
        "flyball-gpu",
        ("Errors in a device's life",),
        "the last level that was told, also of a GPU that is lost now",
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
            "Conditions over time",
            "Advice",
            "Advice over time",
            "GPU-hours wasted by cause",
            "GPUs wasted at a time",
        ),
        OF_RUNS,
    ),
    Exclusion("target-rate-interval", "flyball-run", ("GPU-hours wasted", "GPU-hours wasted by cause"), TOTALS),
    Exclusion("target-rate-interval", "flyball-collector", ("Refused or lost", "Events by kind"), TOTALS),
)


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_holds(name: str) -> None:
    """Nothing is left but what is excluded."""
    left = [fault for fault in lint(read(name)) if not any(each.covers(name, fault) for each in EXCLUSIONS)]
    assert left == []


@pytest.mark.parametrize("exclusion", EXCLUSIONS, ids=lambda each: f"{each.dashboard} {each.rule} {each.places[0]}")
def test_no_exclusion_outlives_its_cause(exclusion: Exclusion) -> None:
    """Each place that is excluded does break the rule."""
    faults = lint(read(exclusion.dashboard))
    for place in exclusion.places:
        assert any(exclusion.covers(exclusion.dashboard, fault) and fault.place == place for fault in faults), place


def _first(dashboard: Json) -> Json:
    return next(panel for panel in panels(dashboard) if panel["title"] == "CPU")


def _ask(expression: str) -> Callable[[Json], None]:
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
    "target-rate-interval": _ask(f"rate(flyball_x_total{{{BOTH}}}[5m])"),
    "target-job": _ask('flyball_x{instance=~"$instance"}'),
    "target-instance": _ask('flyball_x{job=~"$job"}'),
    "target-counter-agg": _ask(f"sum(flyball_x_total{{{BOTH}}})"),
    "target-histogram": _ask(f"rate(flyball_x_seconds_bucket{{{BOTH}}}[$__rate_interval])"),
    "target-promql": _ask("sum(flyball_x) + flyball_y{" + BOTH + "}"),
    "uneditable": lambda dashboard: dashboard.update(editable=True),
}


@pytest.mark.parametrize("rule", SPOILT)
def test_each_rule_finds_its_breach(rule: str) -> None:
    """A dashboard that breaks one rule is told so, by that rule."""
    dashboard = read("flyball-host")
    before = lint(dashboard)
    SPOILT[rule](dashboard)
    assert {fault.rule for fault in lint(dashboard) if fault not in before} == {rule}


def test_every_rule_is_tried() -> None:
    """No rule is without a breach that it must find."""
    assert len(SPOILT) == len(RULES)
