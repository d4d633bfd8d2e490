"""Build a dashboard from variables, annotations, links and rows of panels, laid out from left to right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders.dashboard import DatasourceVariable, QueryVariable
from grafana_foundation_sdk.models.dashboard import (
    AnnotationContainer,
    AnnotationQuery,
    Dashboard,
    DashboardCursorSync,
    DashboardDashboardTemplating,
    DashboardDashboardTime,
    DashboardLink,
    DashboardLinkType,
    GridPos,
    Panel,
    RowPanel,
    TimePickerConfig,
    VariableModel,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from grafana.generator.queries import DATASOURCE, JOB, matchers

COLUMNS = 24
PREFIX = "flyball-"
CARRIED = "${datasource:queryparam}&${job:queryparam}"
"""The variables that a link carries to another dashboard, in addition to the time range."""

BOTH_JOBS = ("flyball_agent_up", "flyball_collector_build_info")
"""Metrics that cover all jobs if each host is a separate target: then runs belong to the job of the collector."""


@dataclass(frozen=True, slots=True)
class Section:
    """Panels under a heading that can be collapsed."""

    title: str
    panels: Sequence[Panel]
    collapsed: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A variable whose values come from Prometheus. If `all_value` is None, exactly one value is chosen."""

    name: str
    label: str
    description: str
    query: str
    regex: str = ""
    all_value: str | None = ".+"


def dashboard_url(dashboard: str, **variables: str) -> str:
    """Return the address of another dashboard, with variables chosen."""
    chosen = "".join(f"&var-{name}={value}" for name, value in variables.items())
    return f"/d/{PREFIX}{dashboard}?{CARRIED}{chosen}&${{__url_time_range}}"


def build(
    name: str,
    title: str,
    description: str,
    sections: Sequence[Section],
    *,
    choices: Sequence[Choice],
    annotations: Sequence[AnnotationQuery] = (),
    links: Sequence[DashboardLink] = (),
    span: str = "now-1h",
) -> Dashboard:
    """Build a dashboard. It is not editable in Grafana; change this code instead."""
    return Dashboard(
        uid=PREFIX + name,
        title=f"Flyball / {title}",
        description=description,
        tags=["flyball"],
        editable=False,
        graph_tooltip=DashboardCursorSync.CROSSHAIR,
        time=DashboardDashboardTime(span, "now"),
        timepicker=TimePickerConfig(refresh_intervals=["5s", "15s", "30s", "1m", "5m", "15m", "1h"]),
        refresh="30s",
        templating=DashboardDashboardTemplating([_datasource(), *map(_variable, choices)]),
        annotations=AnnotationContainer(list(annotations)),
        links=list(links),
        panels=list(lay_out(sections)),
        version=1,
    )


def lay_out(sections: Sequence[Section]) -> Iterator[Panel | RowPanel]:
    """Set positions and ids of panels. Panels of a collapsed section are nested in its heading."""
    top, number = 0, 1
    for section in sections:
        heading = RowPanel(
            collapsed=section.collapsed,
            title=section.title,
            grid_pos=GridPos(x=0, y=top, w=COLUMNS, h=1),
            id_val=number,
            panels=[],
        )
        bottom = _flow(section.panels, top + 1)
        for panel in section.panels:
            number += 1
            panel.id_val = number
        number += 1
        yield heading
        if section.collapsed:
            heading.panels = list(section.panels)
            top += 1
        else:
            yield from section.panels
            top = bottom


def _flow(panels: Sequence[Panel], top: int) -> int:
    """Place panels below `top`, and return the first free row below them."""
    left = height = 0
    for panel in panels:
        position = panel.grid_pos
        assert position is not None  # noqa: S101  every panel is built with its size
        if left + position.w > COLUMNS:
            left, top, height = 0, top + height, 0
        position.x, position.y = left, top
        left += position.w
        height = max(height, position.h)
    return top + height


def job(*metrics: str) -> Choice:
    """Choose scrape jobs that have one of these metrics."""
    series = metrics[0] if len(metrics) == 1 else f'{{__name__=~"{"|".join(metrics)}"}}'
    return Choice("job", "Job", "The scrape jobs of Prometheus.", f"label_values({series}, job)")


def instances(metric: str, description: str = "The hosts.", **labels: str) -> Choice:
    """Choose hosts that have this metric."""
    selector = ", ".join(filter(None, [JOB, matchers(**labels)]))
    return Choice("instance", "Instance", description, f"label_values({metric}{{{selector}}}, instance)")


def link(title: str, dashboard: str, *variables: str) -> DashboardLink:
    """Build a link in the head of the dashboard that carries the named variables."""
    chosen = "".join(f"&${{{name}:queryparam}}" for name in variables)
    url = f"/d/{PREFIX}{dashboard}?{CARRIED}{chosen}"
    return DashboardLink(title=title, type_val=DashboardLinkType.LINK, icon="dashboard", url=url, keep_time=True)


def active_conditions(
    color: str, name: str, selector: str, *, narrowed: str = "", enable: bool = True
) -> AnnotationQuery:
    """Mark the times in which conditions are active. `narrowed` is an expression such as `and on (…) …`."""
    text = "{{severity}} {{instance}} {{part}} {{resource}} {{run}} {{rank}}"
    active = named_part(f"flyball_condition_active{selector} {narrowed}".rstrip())
    return periods(color, name, active, "{{kind}}", text, tags="kind,severity", enable=enable)


def active_notes(color: str, name: str, selector: str, *, enable: bool = True) -> AnnotationQuery:
    """Mark the times in which notes are active, with one mark for all GPUs of a host that have the same note."""
    active = f"count by (kind, severity, instance, resource, run) (flyball_condition_active{selector})"
    text = "{{severity}} {{instance}} {{resource}} {{run}}"
    return periods(color, name, active, "{{kind}}", text, tags="kind,severity", enable=enable)


def named_part(expression: str) -> str:
    """Add the label `part`: the number of the GPU in words, or nothing."""
    return f'label_replace({expression}, "part", "GPU $1", "index", "(.+)")'


def periods(
    color: str, name: str, expression: str, title: str, text: str, *, tags: str, enable: bool = True
) -> AnnotationQuery:
    """Mark the times in which the expression has a value."""
    return AnnotationQuery(
        name=name,
        datasource=DATASOURCE,
        enable=enable,
        icon_color=color,
        expr=expression,
        title_format=title,
        text_format=text,
        tag_keys=tags,
        step="15s",
    )


def instants(color: str, name: str, expression: str, title: str, text: str) -> AnnotationQuery:
    """Mark instants. The value of the expression is the instant in milliseconds."""
    return AnnotationQuery(
        name=name,
        datasource=DATASOURCE,
        enable=True,
        icon_color=color,
        expr=expression,
        title_format=title,
        text_format=text,
        step="60s",
        use_value_for_time=True,
    )


def _datasource() -> VariableModel:
    return (
        DatasourceVariable("datasource")
        .label("Data source")
        .description("The Prometheus that scrapes Flyball's collector.")
        .type("prometheus")
        .build()
    )


def _variable(choice: Choice) -> VariableModel:
    builder = (
        QueryVariable(choice.name)
        .label(choice.label)
        .description(choice.description)
        .query(choice.query)
        .definition(choice.query)
        .datasource(DATASOURCE)
        .regex(choice.regex)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.NATURAL_ASC)
        .allow_custom_value(False)
    )
    if choice.all_value is not None:
        everything = VariableOption(selected=True, text="All", value="$__all")
        builder.multi(True).include_all(True).all_value(choice.all_value).current(everything)
    return builder.build()
