"""Readings over time over HTTP."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.testing import SECOND_NS, START_NS, rows, small_block, small_layout
from flyball_collector.http.series_query import MAX_VALUES
from flyball_collector.http.testing import MachineDouble, WallClock, fetch, make_parts, serving
from flyball_collector.store.definitions import definition_id
from flyball_collector.store.memory import MemoryStore
from flyball_proto.layout import Layout

LAYOUT = small_layout()
START = START_NS // SECOND_NS


class RecentRowsDouble:
    """Rows that are not stored yet."""

    def __init__(self, groups: Sequence[RowGroup]) -> None:
        self._groups = groups

    def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:  # noqa: ARG002
        """Return all rows."""
        return [(LAYOUT.layout, group) for group in self._groups]


def stored(*numbers: int) -> MemoryStore:
    """Return a store with these blocks of host a."""
    store = MemoryStore()
    store.put_document("layout", definition_id(LAYOUT.digest), LAYOUT.layout.body)
    store.put_blocks([small_block("a", number, layout=LAYOUT) for number in numbers])
    return store


async def test_seconds_from_stored_and_recent_rows() -> None:
    """Stored and recent rows share one axis. A row in both is one point."""
    parts = replace(make_parts(stored(0)), recent=RecentRowsDouble([rows(LAYOUT, range(50, 70))]))
    async with serving(parts) as url:
        query = f"metric=gpu_temperature_celsius&start={START}&end={START + 100}&step=1s"
        answer = (await fetch(f"{url}/api/v1/hosts/a/series?{query}")).json()
    assert answer["times_unix"] == [START + second for second in range(70)]
    assert {line["labels"]["gpu"] for line in answer["series"]} == {"GPU-0", "GPU-1"}
    assert answer["series"][0]["values"] == [float(second) for second in range(70)]
    assert answer["series"][0]["unit"] == "celsius"


async def test_a_range_excludes_its_end() -> None:
    """`start` is inclusive, `end` is exclusive, and times can be written in three ways."""
    clock = WallClock(START_NS + 60 * SECOND_NS)
    async with serving(make_parts(stored(0), clock=clock)) as url:
        for start, end in (
            (str(START + 10), str(START + 13)),
            ("-50s", "-47s"),
            ("2026-01-01T00:00:10Z", f"{START + 13}"),
        ):
            answer = (
                await fetch(f"{url}/api/v1/hosts/a/series?metric=disk_read_bytes_total&start={start}&end={end}")
            ).json()
            assert answer["times_unix"] == [START + 10, START + 11, START + 12]
            assert answer["start"] == {"unix": START + 10, "rfc3339": "2026-01-01T00:00:10.000Z"}


async def test_a_rate_is_increase_per_second() -> None:
    """Counters become rates. The first point and a decrease are unknown, not zero. Gauges are unchanged."""
    values = np.zeros((4, LAYOUT.count), np.int64)
    values[:, 4] = [100, 300, 50, 60]  # the counter: it restarted after the second point
    parts = replace(make_parts(), recent=RecentRowsDouble([rows(LAYOUT, range(4), values=values)]))
    parts.fleet.ensure("a")
    async with serving(parts) as url:
        query = f"metric=disk_read_bytes_total&metric=gpu_throttle_state&start={START}&end={START + 9}&rate=true"
        answer = (await fetch(f"{url}/api/v1/hosts/a/series?{query}")).json()
    lines = {line["metric"]: line["values"] for line in answer["series"]}
    assert lines["disk_read_bytes_total"] == [None, 200, None, 10]
    assert lines["gpu_throttle_state"] == [0, 0, 0, 0]


async def test_minutes_have_mean_minimum_and_maximum() -> None:
    """Each point of a minute has its number of records."""
    async with serving(make_parts(stored(0, 1))) as url:
        query = f"metric=gpu_temperature_celsius&start={START}&end={START + 3600}&step=1m"
        answer = (await fetch(f"{url}/api/v1/hosts/a/series?{query}", headers={"Accept-Encoding": "gzip"})).json()
    line = next(line for line in answer["series"] if line["labels"] == {"gpu": "GPU-0"})
    assert len(answer["times_unix"]) == 2
    assert line["counts"] == [60, 60]
    assert line["minimum"] == [0, 60]
    assert line["maximum"] == [59, 119]
    assert line["values"] == pytest.approx([29.5, 89.5], abs=0.2)


async def test_an_unknown_metric_returns_similar_names() -> None:
    """A metric that no host declares is an error with similar names."""
    parts = make_parts()
    parts.fleet.apply(MachineDouble("a", 1).tick(0, parts.clock()))
    async with serving(parts) as url:
        answer = await fetch(f"{url}/api/v1/hosts/a/series?metric=cpu_buzy_ratio")
        same = await fetch(f"{url}/api/v1/hosts/a/series?metric=flyball_cpu_busy_ratio")
    assert (answer.status, answer.json()["error"]["code"]) == (404, "unknown_metric")
    assert "cpu_busy_ratio" in answer.json()["error"]["hint"]
    assert same.status == 200


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("", "metric"),
        ("metric=x&start=soon", "start"),
        ("metric=x&end=-3y", "end"),
        ("metric=x&start=-1m&end=-2m", "start"),
        ("metric=x&step=5s", "step"),
        ("metric=x&start=-30d&step=1s", "start"),
        ("metric=x&start=-90d", "start"),
        ("&".join(f"metric=m{index}" for index in range(40)), "metric"),
    ],
)
async def test_an_invalid_query_is_rejected(query: str, word: str) -> None:
    """Each error is found before the store is read."""
    async with serving(make_parts()) as url:
        answer = await fetch(f"{url}/api/v1/hosts/a/series?{query}")
    assert answer.status == 400
    assert word in answer.json()["error"]["what"]


async def test_a_query_with_too_many_values_is_rejected() -> None:
    """A query with millions of values is rejected while it is read, with a hint how to reduce it."""
    wide = small_layout(gpus=1000)
    groups = [rows(wide, range(n, n + 1000)) for n in range(0, 3000, 1000)]
    assert sum(group.values.size for group in groups) > MAX_VALUES

    class Wide(RecentRowsDouble):
        def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:  # noqa: ARG002
            """Return all rows."""
            return [(wide.layout, group) for group in groups]

    async with serving(replace(make_parts(), recent=Wide([]))) as url:
        metrics = "metric=gpu_temperature_celsius&metric=gpu_throttle_state"
        answer = await fetch(f"{url}/api/v1/hosts/a/series?{metrics}&start={START}&end={START + 3000}")
    assert answer.status == 400
    assert "step=1m" in json.loads(answer.body)["error"]["hint"]
