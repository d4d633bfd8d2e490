"""Rules of Grafana's dashboard-linter, each a small function from a dashboard to its faults.

Written from their documentation (github.com/grafana/dashboard-linter, docs/rules), with the linter's names.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from grafana_foundation_sdk.models import units

from tests.grafana.dashboards import Json, panels, variables

UNITS = {value for name, value in vars(units).items() if not name.startswith("_") and isinstance(value, str)}
_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\{([^}]*)\}(\[[^\]]*\])?")
_CALL = re.compile(r"(\w+)\($")
_VARIABLE_QUERY = re.compile(r"(label_values|query_result|metrics)\(.+\)")


@dataclass(frozen=True, slots=True)
class Selector:
    """A vector selector of a query, with the function that encloses it directly."""

    metric: str
    matchers: str
    window: str
    function: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault found by a rule. `place` is the title of the panel or the name of the variable."""

    rule: str
    place: str
    detail: str = ""


def selectors(expression: str) -> Iterator[Selector]:
    """Yield every `metric{…}[…]` of a query."""
    for found in _SELECTOR.finditer(expression):
        call = _CALL.search(expression[: found.start()])
        yield Selector(found[1], found[2], found[3] or "", call[1] if call else "")


def _targets(dashboard: Json) -> Iterator[tuple[str, str]]:
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def _template(dashboard: Json, name: str, label: str) -> Iterator[str]:
    found = [variable for variable in variables(dashboard) if variable["name"] == name]
    if len(found) != 1:
        yield f"{len(found)} variables"
        return
    (variable,) = found
    if variable.get("label") != label:
        yield f"label {variable.get('label')!r}"
    if name == "datasource":
        if (variable["type"], variable["query"]) != ("datasource", "prometheus"):
            yield "not a data source"
        return
    if not variable.get("multi") or not variable.get("includeAll") or variable.get("allValue") != ".+":
        yield "needs multi, includeAll and allValue .+"
    if variable.get("datasource", {}).get("uid") != "${datasource}":
        yield "uses another data source"


def template_datasource(dashboard: Json) -> Iterator[Fault]:
    """Find a missing variable for the data source."""
    yield from (
        Fault("template-datasource", "datasource", text) for text in _template(dashboard, "datasource", "Data source")
    )


def template_job(dashboard: Json) -> Iterator[Fault]:
    """Find a missing variable for the job, which allows several or all."""
    yield from (Fault("template-job", "job", text) for text in _template(dashboard, "job", "Job"))


def template_instance(dashboard: Json) -> Iterator[Fault]:
    """Find a missing variable for the instance, which allows several or all."""
    yield from (Fault("template-instance", "instance", text) for text in _template(dashboard, "instance", "Instance"))


def template_label_promql(dashboard: Json) -> Iterator[Fault]:
    """Find variables whose query has none of the forms that Grafana knows."""
    for variable in variables(dashboard):
        if variable["type"] == "query" and not _VARIABLE_QUERY.fullmatch(variable["query"]):
            yield Fault("template-label-promql", variable["name"], variable["query"])


def template_on_time_change_reload(dashboard: Json) -> Iterator[Fault]:
    """Find variables that are not refreshed when the time range changes."""
    for variable in variables(dashboard):
        if variable["type"] == "query" and variable.get("refresh") != 2:
            yield Fault("template-on-time-change-reload", variable["name"])


def template_unused(dashboard: Json) -> Iterator[Fault]:
    """Find variables that no query uses."""
    everything = " ".join(expression for _, expression in _targets(dashboard))
    for variable in variables(dashboard):
        if variable["type"] == "query" and f"${variable['name']}" not in everything:
            yield Fault("template-unused", variable["name"])


def panel_datasource(dashboard: Json) -> Iterator[Fault]:
    """Find panels and queries that do not use the chosen data source."""
    for panel in panels(dashboard):
        for each in (panel, *panel["targets"]):
            if each.get("datasource") != {"type": "prometheus", "uid": "${datasource}"}:
                yield Fault("panel-datasource", panel["title"])


def panel_title_description(dashboard: Json) -> Iterator[Fault]:
    """Find panels without a title or a description."""
    for panel in panels(dashboard):
        if not panel.get("title") or len(panel.get("description", "")) < 8:
            yield Fault("panel-title-description", panel.get("title", ""))


def panel_units(dashboard: Json) -> Iterator[Fault]:
    """Find panels and columns without a unit that Grafana knows."""
    for panel in panels(dashboard):
        config = panel["fieldConfig"]
        used = [config["defaults"].get("unit", "")]
        used += [p["value"] for each in config["overrides"] for p in each["properties"] if p["id"] == "unit"]
        yield from (Fault("panel-units", panel["title"], unit) for unit in used if unit not in UNITS)


def panel_no_targets(dashboard: Json) -> Iterator[Fault]:
    """Find panels without a query."""
    yield from (Fault("panel-no-targets", panel["title"]) for panel in panels(dashboard) if not panel["targets"])


def target_rate_interval(dashboard: Json) -> Iterator[Fault]:
    """Find windows other than `$__rate_interval`, which fits both the scrape interval and the resolution."""
    for title, expression in _targets(dashboard):
        for each in selectors(expression):
            if each.window and each.window != "[$__rate_interval]":
                yield Fault("target-rate-interval", title, f"{each.function} {each.window}")


def _without(dashboard: Json, rule: str, matcher: str) -> Iterator[Fault]:
    for title, expression in _targets(dashboard):
        for each in selectors(expression):
            if matcher not in each.matchers.split(", "):
                yield Fault(rule, title, each.metric)


def target_job(dashboard: Json) -> Iterator[Fault]:
    """Find queries that do not select the chosen jobs."""
    yield from _without(dashboard, "target-job", 'job=~"$job"')


def target_instance(dashboard: Json) -> Iterator[Fault]:
    """Find queries that do not select the chosen instances."""
    yield from _without(dashboard, "target-instance", 'instance=~"$instance"')


def target_counter_aggregation(dashboard: Json) -> Iterator[Fault]:
    """Find counters that are shown without a rate or an increase."""
    for title, expression in _targets(dashboard):
        for each in selectors(expression):
            if each.metric.endswith("_total") and each.function not in {"rate", "irate", "increase"}:
                yield Fault("target-counter-agg", title, each.metric)


def target_histogram(dashboard: Json) -> Iterator[Fault]:
    """Find buckets that are not used in `histogram_quantile` of a sum by `le` of a rate."""
    for title, expression in _targets(dashboard):
        for each in selectors(expression):
            if each.metric.endswith("_bucket") and not re.match(
                r"histogram_quantile\([\d.]+, sum by \(le\b[^)]*\) \(rate\(", expression
            ):
                yield Fault("target-histogram", title, each.metric)


def target_promql(dashboard: Json) -> Iterator[Fault]:
    """Find metrics without the braces of a selector, which the rules above would overlook."""
    for title, expression in _targets(dashboard):
        bare = re.findall(r"\b(?:flyball|process|python)_\w+(?!\w*\{)(?!\w)", expression)
        yield from (Fault("target-promql", title, name) for name in bare)


def uneditable(dashboard: Json) -> Iterator[Fault]:
    """Find dashboards that can be edited in the browser: provisioned dashboards are changed in the repository."""
    if dashboard.get("editable") is not False:
        yield Fault("uneditable", dashboard["title"])


RULES: tuple[Callable[[Json], Iterable[Fault]], ...] = (
    template_datasource,
    template_job,
    template_instance,
    template_label_promql,
    template_on_time_change_reload,
    template_unused,
    panel_datasource,
    panel_title_description,
    panel_units,
    panel_no_targets,
    target_rate_interval,
    target_job,
    target_instance,
    target_counter_aggregation,
    target_histogram,
    target_promql,
    uneditable,
)


def lint(dashboard: Json) -> list[Fault]:
    """Return all faults that the rules find."""
    return [fault for rule in RULES for fault in rule(dashboard)]
