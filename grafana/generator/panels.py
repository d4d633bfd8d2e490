"""Build panels with a title, a description, a unit, queries and a size."""

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
from grafana.generator.style import NO_DATA, NO_NUMBER, UNCOLOURED, Steps, option, thresholds

Links = Mapping[str, str]
"""Addresses by title."""

Overrides = Mapping[str, Sequence[DynamicConfigValue]]
"""Properties of fields, by a regular expression for the names of the fields."""


class PanelOptions(TypedDict, total=False):
    """Options that every kind of panel accepts."""

    span: int  # of 24 columns
    height: int
    links: Links
    steps: Steps
    mappings: list[ValueMapping]
    overrides: Overrides
    low: float
    high: float
    decimals: int
    points: int  # maximum number of values of a series
    empty: str  # shown if there is no data


def graph(
    title: str,
    description: str,
    unit: str,
    *queries: Dataquery,
    stack: StackingMode | None = None,
    **options: Unpack[PanelOptions],
) -> Panel:
    """Build a graph of lines over time. Gaps stay visible."""
    builder = (
        timeseries.Panel()
        .line_width(1)
        .fill_opacity(8 if stack is None else 45)
        .show_points(VisibilityMode.NEVER)
        .span_nulls(False)
        .legend(_legend())
        .tooltip(VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    )
    if options.get("span", 8) >= 12:
        builder.legend(_legend().display_mode(LegendDisplayMode.TABLE).calcs(["mean", "max", "lastNotNull"]))
    if stack is not None:
        builder.stacking(StackingConfig().mode(stack).group("A")).line_width(0)
    options.setdefault("low", 0)
    return _finish(
        builder.build(), (title, description, unit), queries, options, FieldColorModeId.PALETTE_CLASSIC_BY_NAME
    )


def number(
    title: str, description: str, unit: str, *queries: Dataquery, trend: bool = False, **options: Unpack[PanelOptions]
) -> Panel:
    """Build a panel with one value, or a few, in large digits."""
    builder = (
        stat.Panel()
        .color_mode(BigValueColorMode.VALUE)
        .graph_mode(BigValueGraphMode.AREA if trend else BigValueGraphMode.NONE)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
        .orientation(VizOrientation.AUTO)
    )
    options.setdefault("steps", UNCOLOURED)
    options.setdefault("empty", NO_NUMBER)
    options.setdefault("span", 3)
    options.setdefault("height", 4)
    return _finish(builder.build(), (title, description, unit), queries, options)


def bars(title: str, description: str, unit: str, *queries: Dataquery, **options: Unpack[PanelOptions]) -> Panel:
    """Build a panel with values as bars."""
    builder = (
        bargauge.Panel()
        .display_mode(BarGaugeDisplayMode.BASIC)
        .orientation(VizOrientation.HORIZONTAL)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
    )
    options.setdefault("low", 0)
    options.setdefault("steps", UNCOLOURED)
    return _finish(builder.build(), (title, description, unit), queries, options)


def heat(
    title: str, description: str, unit: str, *queries: Dataquery, scheme: str = "Turbo", **options: Unpack[PanelOptions]
) -> Panel:
    """Build a heat map: each series is a row, each value a colour."""
    high = options.get("high")
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
    options.setdefault("points", 120)
    return _finish(builder.build(), (title, description, unit), queries, options)


def timeline(
    title: str,
    description: str,
    *queries: Dataquery,
    per_page: int = 20,
    **options: Unpack[PanelOptions],
) -> Panel:
    """Build a panel of states over time, a row for each series. `mappings` gives texts and colours."""
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
    return _finish(builder.build(), (title, description, "none"), queries, options)


def history(title: str, description: str, unit: str, *queries: Dataquery, **options: Unpack[PanelOptions]) -> Panel:
    """Build a panel of values over time as coloured cells, a row for each series."""
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
    options.setdefault("points", 80)
    return _finish(builder.build(), (title, description, unit), queries, options)


def listing(
    title: str,
    description: str,
    columns: Mapping[str, str],
    *queries: Dataquery,
    sort: str = "",
    **options: Unpack[PanelOptions],
) -> Panel:
    """Build a table. `columns` orders and renames fields of the queries (labels, `Value #A` …); others are hidden."""
    builder = (
        table.Panel()
        .cell_height(TableCellHeight.SM)
        .filterable(True)
        .footer(TableFooterOptions().show(False).reducer([]).count_rows(False).enable_pagination(True))
    )
    if sort:
        builder.sort_by([TableSortByFieldState().display_name(sort).desc(True)])
    panel = _finish(builder.build(), (title, description, "none"), queries, options)
    kept = {"include": {"names": list(columns)}}
    panel.transformations = [
        *([DataTransformerConfig(id_val="merge", options={})] if len(queries) > 1 else []),
        DataTransformerConfig(id_val="filterFieldsByName", options=kept),
        DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": {},
                "indexByName": {name: index for index, name in enumerate(columns)},
                "renameByName": dict(columns),
            },
        ),
    ]
    return panel


def column(unit: str, steps: Steps | None = None, *, decimals: int | None = None) -> list[DynamicConfigValue]:
    """Format the values of a table's column."""
    options = [option("unit", unit)]
    if steps is not None:
        options += [
            option("thresholds", thresholds(steps).build()),
            option("custom.cellOptions", TableColoredBackgroundCellOptions()),
        ]
    return options if decimals is None else [*options, option("decimals", decimals)]


def linked(title: str, url: str) -> list[DynamicConfigValue]:
    """Link the values of a table's column."""
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
    heading: tuple[str, str, str],
    queries: Sequence[Dataquery],
    options: PanelOptions,
    color: FieldColorModeId = FieldColorModeId.THRESHOLDS,
) -> Panel:
    """Set what all panels have in common. `heading` is title, description and unit."""
    panel.title, panel.description, unit = heading
    panel.datasource = DATASOURCE
    panel.grid_pos = GridPos(w=options.get("span", 8), h=options.get("height", 8))
    panel.max_data_points = options.get("points")
    panel.targets = [
        query.ref_id(letter).datasource(DATASOURCE).build()
        for letter, query in zip(ascii_uppercase, queries, strict=False)
    ]
    source = panel.field_config = panel.field_config or FieldConfigSource()
    fields = source.defaults = source.defaults or FieldConfig()
    fields.unit, fields.no_value = unit, options.get("empty", NO_DATA)
    fields.min_val, fields.max_val, fields.decimals = options.get("low"), options.get("high"), options.get("decimals")
    fields.color = FieldColor(mode=color)
    fields.thresholds = thresholds(options.get("steps", UNCOLOURED)).build()
    fields.mappings = options.get("mappings")
    fields.links = [_link(title, url) for title, url in options.get("links", {}).items()]
    source.overrides = [
        DashboardFieldConfigSourceOverrides(
            matcher=MatcherConfig("byRegexp", f"/^({name})$/"), properties=list(properties)
        )
        for name, properties in options.get("overrides", {}).items()
    ]
    return panel


def _link(title: str, url: str) -> DashboardLink:
    return DashboardLink(title=title, type_val=DashboardLinkType.LINK, url=url)
