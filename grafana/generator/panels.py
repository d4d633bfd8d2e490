"""Panels as this project makes them: a title, words that say what it means, a unit, queries, and a size."""

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import TypedDict, Unpack

from grafana_foundation_sdk.builders import bargauge, heatmap, stat, statetimeline, statushistory, table, timeseries
from grafana_foundation_sdk.builders.common import (
    ReduceDataOptions,
    StackingConfig,
    TableFooterOptions,
    TableSortByFieldState,
    VizLegendOptions,
    VizTooltipOptions,
)
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    BigValueColorMode,
    BigValueGraphMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TableCellHeight,
    TableColoredBackgroundCellOptions,
    TooltipDisplayMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardFieldConfigSourceOverrides,
    DashboardLink,
    DashboardLinkType,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColor,
    FieldColorModeId,
    FieldConfig,
    FieldConfigSource,
    GridPos,
    MatcherConfig,
    Panel,
    ValueMapping,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode

from grafana.generator.queries import DATASOURCE
from grafana.generator.style import NO_VALUE, PLAIN, Steps, option, thresholds

Links = Mapping[str, str]
"""Titles and addresses."""

Overrides = Mapping[str, Sequence[DynamicConfigValue]]
"""Properties of the fields whose names match a regular expression."""


class Looks(TypedDict, total=False):
    """What any panel may be told beside its queries."""

    span: int  # of 24 columns
    height: int
    links: Links
    steps: Steps
    mappings: list[ValueMapping]
    overrides: Overrides
    low: float
    high: float
    decimals: int
    points: int  # values a series at most


def graph(
    title: str,
    description: str,
    unit: str,
    *queries: Dataquery,
    stack: StackingMode | None = None,
    **looks: Unpack[Looks],
) -> Panel:
    """Lines over time; a gap is a gap, and nothing is drawn across it."""
    builder = (
        timeseries.Panel()
        .line_width(1)
        .fill_opacity(8 if stack is None else 45)
        .show_points(VisibilityMode.NEVER)
        .span_nulls(False)
        .legend(_legend())
        .tooltip(VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    )
    if looks.get("span", 8) >= 12:
        builder.legend(_legend().display_mode(LegendDisplayMode.TABLE).calcs(["mean", "max", "lastNotNull"]))
    if stack is not None:
        builder.stacking(StackingConfig().mode(stack).group("A")).line_width(0)
    looks.setdefault("low", 0)
    return _finish(
        builder.build(), (title, description, unit), queries, looks, FieldColorModeId.PALETTE_CLASSIC_BY_NAME
    )


def number(
    title: str, description: str, unit: str, *queries: Dataquery, trend: bool = False, **looks: Unpack[Looks]
) -> Panel:
    """One value, or a few, in large digits."""
    builder = (
        stat.Panel()
        .color_mode(BigValueColorMode.VALUE)
        .graph_mode(BigValueGraphMode.AREA if trend else BigValueGraphMode.NONE)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
        .orientation(VizOrientation.AUTO)
    )
    looks.setdefault("steps", PLAIN)
    looks.setdefault("span", 3)
    looks.setdefault("height", 4)
    return _finish(builder.build(), (title, description, unit), queries, looks)


def bars(title: str, description: str, unit: str, *queries: Dataquery, **looks: Unpack[Looks]) -> Panel:
    """Values side by side."""
    builder = (
        bargauge.Panel()
        .display_mode(BarGaugeDisplayMode.BASIC)
        .orientation(VizOrientation.HORIZONTAL)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
    )
    looks.setdefault("low", 0)
    looks.setdefault("steps", PLAIN)
    return _finish(builder.build(), (title, description, unit), queries, looks)


def heat(
    title: str, description: str, unit: str, *queries: Dataquery, scheme: str = "Turbo", **looks: Unpack[Looks]
) -> Panel:
    """Series as rows, values as colours: one glance over many."""
    high = looks.get("high")
    color = heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme(scheme).steps(64).min(0)
    if high is not None:
        color = color.max(high)
    builder = (
        heatmap.Panel()
        .calculate(False)
        .color(color)
        .cell_gap(1)
        .cell_values(heatmap.CellValues().unit(unit))
        .rows_frame(heatmap.RowsHeatmapOptions().value("value"))
        .show_legend()
        .tooltip(heatmap.HeatmapTooltip().mode(TooltipDisplayMode.SINGLE).show_color_scale(True))
    )
    looks.setdefault("points", 120)
    return _finish(builder.build(), (title, description, unit), queries, looks)


def timeline(
    title: str,
    description: str,
    *queries: Dataquery,
    per_page: int = 20,
    **looks: Unpack[Looks],
) -> Panel:
    """States over time, a row a series; `mappings` says what they are."""
    builder = (
        statetimeline.Panel()
        .show_value(VisibilityMode.NEVER)
        .merge_values(True)
        .row_height(0.85)
        .line_width(0)
        .fill_opacity(75)
        .per_page(per_page)
        .legend(_legend())
        .tooltip(VizTooltipOptions().mode(TooltipDisplayMode.SINGLE))
    )
    return _finish(builder.build(), (title, description, "none"), queries, looks)


def history(title: str, description: str, unit: str, *queries: Dataquery, **looks: Unpack[Looks]) -> Panel:
    """Values over time as coloured cells, a row a series: for as many series as have room."""
    builder = (
        statushistory.Panel()
        .show_value(VisibilityMode.NEVER)
        .row_height(0.9)
        .col_width(0.95)
        .line_width(0)
        .fill_opacity(85)
        .per_page(24)
        .legend(VizLegendOptions().show_legend(False).display_mode(LegendDisplayMode.LIST).calcs([]))
        .tooltip(VizTooltipOptions().mode(TooltipDisplayMode.SINGLE))
    )
    looks.setdefault("points", 80)
    return _finish(builder.build(), (title, description, unit), queries, looks)


def listing(
    title: str,
    description: str,
    columns: Mapping[str, str],
    *queries: Dataquery,
    sort: str = "",
    **looks: Unpack[Looks],
) -> Panel:
    """A table; `columns` renames what queries give (labels, `Value #A` …) in order, and what it lacks is not shown."""
    builder = (
        table.Panel()
        .cell_height(TableCellHeight.SM)
        .filterable(True)
        .footer(TableFooterOptions().show(False).reducer([]).count_rows(False).enable_pagination(True))
    )
    if sort:
        builder.sort_by([TableSortByFieldState().display_name(sort).desc(True)])
    panel = _finish(builder.build(), (title, description, "none"), queries, looks)
    kept = {"include": {"names": list(columns)}}
    panel.transformations = [
        *([DataTransformerConfig(id_val="merge", options={})] if len(queries) > 1 else []),
        DataTransformerConfig(id_val="filterFieldsByName", options=kept),
        DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": {},
                "indexByName": {name: place for place, name in enumerate(columns)},
                "renameByName": dict(columns),
            },
        ),
    ]
    return panel


def column(unit: str, steps: Steps | None = None, *, decimals: int | None = None) -> list[DynamicConfigValue]:
    """How the values of a table's column look."""
    found = [option("unit", unit)]
    if steps is not None:
        found += [
            option("thresholds", thresholds(steps).build()),
            option("custom.cellOptions", TableColoredBackgroundCellOptions()),
        ]
    return found if decimals is None else [*found, option("decimals", decimals)]


def linked(title: str, url: str) -> list[DynamicConfigValue]:
    """A table's column that leads somewhere."""
    return [option("links", [_link(title, url)])]


def _legend() -> VizLegendOptions:
    return (
        VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs([])
    )


def _finish(
    panel: Panel,
    said: tuple[str, str, str],
    queries: Sequence[Dataquery],
    looks: Looks,
    color: FieldColorModeId = FieldColorModeId.THRESHOLDS,
) -> Panel:
    """What all panels have."""
    panel.title, panel.description, unit = said
    panel.datasource = DATASOURCE
    panel.grid_pos = GridPos(w=looks.get("span", 8), h=looks.get("height", 8))
    panel.max_data_points = looks.get("points")
    panel.targets = [
        query.ref_id(letter).datasource(DATASOURCE).build()
        for letter, query in zip(ascii_uppercase, queries, strict=False)
    ]
    source = panel.field_config = panel.field_config or FieldConfigSource()
    fields = source.defaults = source.defaults or FieldConfig()
    fields.unit, fields.no_value = unit, NO_VALUE
    fields.min_val, fields.max_val, fields.decimals = looks.get("low"), looks.get("high"), looks.get("decimals")
    fields.color = FieldColor(mode=color)
    fields.thresholds = thresholds(looks.get("steps", PLAIN)).build()
    fields.mappings = looks.get("mappings")
    fields.links = [_link(title, url) for title, url in looks.get("links", {}).items()]
    source.overrides = [
        DashboardFieldConfigSourceOverrides(
            matcher=MatcherConfig("byRegexp", f"/^({name})$/"), properties=list(options)
        )
        for name, options in looks.get("overrides", {}).items()
    ]
    return panel


def _link(title: str, url: str) -> DashboardLink:
    return DashboardLink(title=title, type_val=DashboardLinkType.LINK, url=url)
