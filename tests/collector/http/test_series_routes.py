"""Readings over time over HTTP."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.testing import SECOND_NS, START_NS, rows, small_block, small_layout
from flyball_collector.http.series_query import MAX_VALUES
from flyball_collector.http.testing import Clock, Machine, fetch, make_parts, serving
from flyball_collector.store.definitions import definition_id
from flyball_collector.store.memory import MemoryStore
from flyball_proto.layout import Layout

LAYOUT = small_layout()
START = START_NS // SECOND_NS


class Gathered:
    """Rows that are not stored yet."""

    def __init__(self, groups: Sequence[RowGroup]) -> None:
        self._groups = groups

    def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:  # noqa: ARG002
        """All of them."""
        return [(LAYOUT.layout, group) for group in self._groups]


def stored(*numbers: int) -> MemoryStore:
    """A store with these blocks of host a."""
    store = MemoryStore()
    store.put_document("layout", definition_id(LAYOUT.digest), LAYOUT.layout.body)
    store.put_blocks([small_block("a", number, layout=LAYOUT) for number in numbers])
    return store


async def test_seconds_come_from_blocks_and_from_what_is_not_stored_yet() -> None:
    """Stored and gathered rows stand on one axis; a row that is in both is one point."""
    parts = replace(make_parts(stored(0)), recent=Gathered([rows(LAYOUT, range(50, 70))]))
    async with serving(parts) as url:
        query = f"metric=gpu_temperature_celsius&start={START}&end={START + 100}&step=1s"
        told = (await fetch(f"{url}/api/v1/hosts/a/series?{query}")).json()
    assert told["times_unix"] == [START + second for second in range(70)]
    assert {line["labels"]["gpu"] for line in told["series"]} == {"GPU-0", "GPU-1"}
    assert told["series"][0]["values"] == [float(second) for second in range(70)]
    assert told["series"][0]["unit"] == "celsius"


async def test_a_range_ends_before_its_end() -> None:
    """start is inside, end is not; times may be written in any of three ways."""
    clock = Clock(START_NS + 60 * SECOND_NS)
    async with serving(make_parts(stored(0), clock=clock)) as url:
        for start, end in (
            (str(START + 10), str(START + 13)),
            ("-50s", "-47s"),
            ("2026-01-01T00:00:10Z", f"{START + 13}"),
        ):
            told = (
                await fetch(f"{url}/api/v1/hosts/a/series?metric=disk_read_bytes_total&start={start}&end={end}")
            ).json()
            assert told["times_unix"] == [START + 10, START + 11, START + 12]
            assert told["start"] == {"unix": START + 10, "rfc3339": "2026-01-01T00:00:10.000Z"}


async def test_a_rate_is_growth_a_second() -> None:
    """Counters become rates; the first point and a fall are unknown, not zero; gauges stay as they are."""
    values = np.zeros((4, LAYOUT.count), np.int64)
    values[:, 4] = [100, 300, 50, 60]  # the counter: it restarted after the second point
    parts = replace(make_parts(), recent=Gathered([rows(LAYOUT, range(4), values=values)]))
    parts.fleet.ensure("a")
    async with serving(parts) as url:
        query = f"metric=disk_read_bytes_total&metric=gpu_throttle_state&start={START}&end={START + 9}&rate=true"
        told = (await fetch(f"{url}/api/v1/hosts/a/series?{query}")).json()
    lines = {line["metric"]: line["values"] for line in told["series"]}
    assert lines["disk_read_bytes_total"] == [None, 200, None, 10]
    assert lines["gpu_throttle_state"] == [0, 0, 0, 0]


async def test_minutes_have_mean_minimum_and_maximum() -> None:
    """By the minute each point says of how many records it is."""
    async with serving(make_parts(stored(0, 1))) as url:
        query = f"metric=gpu_temperature_celsius&start={START}&end={START + 3600}&step=1m"
        told = (await fetch(f"{url}/api/v1/hosts/a/series?{query}", headers={"Accept-Encoding": "gzip"})).json()
    line = next(line for line in told["series"] if line["labels"] == {"gpu": "GPU-0"})
    assert len(told["times_unix"]) == 2
    assert line["counts"] == [60, 60]
    assert line["minimum"] == [0, 60]
    assert line["maximum"] == [59, 119]
    assert line["values"] == pytest.approx([29.5, 89.5], abs=0.2)


async def test_an_unknown_metric_names_those_alike() -> None:
    """A metric that no host declares is an error with the near names."""
    parts = make_parts()
    parts.fleet.apply(Machine("a", 1).tick(0, parts.clock()))
    async with serving(parts) as url:
        told = await fetch(f"{url}/api/v1/hosts/a/series?metric=cpu_buzy_ratio")
        same = await fetch(f"{url}/api/v1/hosts/a/series?metric=flyball_cpu_busy_ratio")
    assert (told.status, told.json()["error"]["code"]) == (404, "unknown_metric")
    assert "cpu_busy_ratio" in told.json()["error"]["hint"]
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
async def test_a_senseless_question_is_refused(query: str, word: str) -> None:
    """Each fault of a question is named before the store is asked."""
    async with serving(make_parts()) as url:
        told = await fetch(f"{url}/api/v1/hosts/a/series?{query}")
    assert told.status == 400
    assert word in told.json()["error"]["what"]


async def test_too_large_a_question_is_refused() -> None:
    """An answer of millions of values is refused while it is read, with the way to a smaller one."""
    wide = small_layout(gpus=1000)
    groups = [rows(wide, range(n, n + 1000)) for n in range(0, 3000, 1000)]
    assert sum(group.values.size for group in groups) > MAX_VALUES

    class Wide(Gathered):
        def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:  # noqa: ARG002
            """All of them."""
            return [(wide.layout, group) for group in groups]

    async with serving(replace(make_parts(), recent=Wide([]))) as url:
        metrics = "metric=gpu_temperature_celsius&metric=gpu_throttle_state"
        told = await fetch(f"{url}/api/v1/hosts/a/series?{metrics}&start={START}&end={START + 3000}")
    assert told.status == 400
    assert "step=1m" in json.loads(told.body)["error"]["hint"]
