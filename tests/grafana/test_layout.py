"""Test the layout of panels: no overlaps, nothing beyond the edge, no gaps in a row."""

from itertools import combinations

import pytest

from tests.grafana.dashboards import NAMES, Json, panels, read

COLUMNS = 24
LEAST_SIZE = {
    "stat": (3, 4), "table": (3, 4), "timeseries": (6, 6), "heatmap": (12, 8), "bargauge": (6, 6),
    "state-timeline": (6, 6), "status-history": (12, 8),
}  # fmt: skip


def _placed(dashboard: Json) -> list[Json]:
    """Return the panels on the grid, without those in collapsed rows."""
    return list(dashboard["panels"])


def _groups(dashboard: Json) -> list[list[Json]]:
    """Return groups of panels that are visible together: the open page, and each collapsed row."""
    placed = _placed(dashboard)
    return [placed, *(row["panels"] for row in placed if row["type"] == "row" and row["panels"])]


def _overlap(one: Json, other: Json) -> bool:
    a, b = one["gridPos"], other["gridPos"]
    across = a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
    return bool(across and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"])


@pytest.mark.parametrize("name", NAMES)
def test_nothing_overlaps(name: str) -> None:
    """No two panels that are visible together share a cell of the grid."""
    for group in _groups(read(name)):
        assert [(a["title"], b["title"]) for a, b in combinations(group, 2) if _overlap(a, b)] == []


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_on_the_grid(name: str) -> None:
    """Panels do not exceed the right edge, and have at least the minimum size of their type."""
    for panel in panels(read(name)):
        position, (width, height) = panel["gridPos"], LEAST_SIZE[panel["type"]]
        assert position["x"] + position["w"] <= COLUMNS, panel["title"]
        assert (position["w"], position["h"]) >= (width, height), panel["title"]
        assert position["h"] >= height, panel["title"]


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_filled(name: str) -> None:
    """Panels in one row fill its width and have equal heights."""
    for group in _groups(read(name)):
        lines: dict[int, list[Json]] = {}
        for panel in group:
            lines.setdefault(panel["gridPos"]["y"], []).append(panel)
        for line in lines.values():
            assert sum(panel["gridPos"]["w"] for panel in line) == COLUMNS, [panel["title"] for panel in line]
            assert len({panel["gridPos"]["h"] for panel in line}) == 1, [panel["title"] for panel in line]


@pytest.mark.parametrize("name", NAMES)
def test_panel_ids_are_unique(name: str) -> None:
    """Ids of panels and rows, which links to single panels use, are unique."""
    dashboard = read(name)
    ids = [panel["id"] for panel in panels(dashboard)]
    ids += [row["id"] for row in dashboard["panels"] if row["type"] == "row"]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", NAMES)
def test_titles_are_unique_within_a_row(name: str) -> None:
    """No two panels under one heading have the same title."""
    dashboard, seen = read(name), set[str]()
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            seen = {each["title"] for each in panel["panels"]}
            assert len(seen) == len(panel["panels"])
        else:
            assert panel["title"] not in seen
            seen.add(panel["title"])
