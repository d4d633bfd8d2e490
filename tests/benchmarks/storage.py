"""Measure the size of a host-day in the embedded store and the speed of making blocks and reading a month.

The data are made up (`host_day.py`): 64 cores, 8 GPUs, 4 disks, 3 interfaces, levels that wander with a correlation of
0.95 a second plus noise that no second shares with the next. Times are CPU time of this process.
"""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from flyball_collector.blocks.assembly import build_block
from flyball_collector.blocks.block import Block, BlockKey, RowGroup
from flyball_collector.blocks.codec import decode, encode
from flyball_collector.blocks.testing import START_NS, rows
from flyball_collector.store.definitions import definition_id
from flyball_collector.store.minutes import HOUR_NS
from flyball_collector.store.sqlite import SqliteStore
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge
from flyball_proto.ranges import RangeSet
from tests.benchmarks.figure import Figure, at_most, plain, report
from tests.benchmarks.host_day import host_day

EPOCH = b"e" * 16
MINUTES = 240  # of a day; bytes are scaled up
DAY_MINUTES = 1440
MONTH_HOURS = 30 * 24
POWER = gauge("gpu_power_watts", "watts", "Power drawn by the board.", ("gpu",), 1000)


def main() -> None:
    """Measure and report."""
    layout, values = host_day(MINUTES * 60)
    groups = list(_minutes(layout, values))
    with tempfile.TemporaryDirectory() as name:
        figures = [
            *_codec(groups, layout),
            *_day(Path(name) / "day.db", layout, groups),
            *_month(Path(name) / "month.db"),
        ]
    report(figures)


def _minutes(layout: KnownLayout, values: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Iterator[RowGroup]:
    """Rows with clocks that jitter as real ones do."""
    random = np.random.default_rng(2)
    for minute in range(len(values) // 60):
        group = rows(layout, range(60 * minute, 60 * minute + 60), values=values[60 * minute : 60 * minute + 60])
        agent = group.agent_ns + random.integers(0, 400_000, 60)
        boot = agent - START_NS + random.integers(100, 400, 60)
        received = boot + START_NS + random.integers(2_000_000, 9_000_000, 60)
        yield replace(group, agent_ns=agent, boot_ns=boot, corrected_ns=boot + START_NS, received_ns=received)


def _codec(groups: list[RowGroup], layout: KnownLayout) -> Iterator[Figure]:
    for columns, bound in ((171, 1.5), (500, 4.0)):
        narrow = [replace(group, values=group.values[:, :columns], valid=group.valid[:, :columns]) for group in groups]
        payloads = [encode([group]) for group in narrow]
        made, read = _cpu_ms(partial(_encode_each, narrow)), _cpu_ms(partial(_decode_each, payloads))
        yield at_most(f"encode a block of 60 × {columns}", made / len(groups), bound, "ms")
        yield plain(f"decode a block of 60 × {columns}", read / len(groups), "ms")
    blocks: list[Block] = []
    milliseconds = _cpu_ms(lambda: blocks.extend(_blocks("a", layout, groups))) / len(groups)
    yield plain(f"make a block of 60 × {layout.count}, summary included", milliseconds, "ms")


def _encode_each(groups: list[RowGroup]) -> None:
    for group in groups:
        encode([group])


def _decode_each(payloads: list[bytes]) -> None:
    for payload in payloads:
        decode(payload)


def _blocks(host: str, layout: KnownLayout, groups: list[RowGroup]) -> Iterator[Block]:
    empty, layouts = RangeSet(), {layout.digest: layout}
    for group in groups:
        key = BlockKey(host, EPOCH, int(group.sequences[0]) // 60)
        yield build_block(key, 60, [group], empty, empty, int(group.received_ns[-1]), layouts)


def _day(path: Path, layout: KnownLayout, groups: list[RowGroup]) -> Iterator[Figure]:
    store = SqliteStore(path)
    store.put_document("layout", definition_id(layout.digest), layout.layout.body)
    blocks = list(_blocks("a", layout, groups))
    milliseconds = _cpu_ms(lambda: store.put_blocks(blocks)) / len(blocks)
    yield plain("write a block, 240 a transaction", milliseconds, "ms")
    milliseconds = _cpu_ms(lambda: store.roll_up(START_NS + 1000 * HOUR_NS)) / (MINUTES / 60)
    yield plain("roll a host's hour up", milliseconds, "ms")
    both = _used_bytes(path)
    store.expire(blocks_before_ns=START_NS + 1000 * HOUR_NS, minutes_before_ns=0, max_bytes=None)
    minutes = _used_bytes(path)
    scale, note = DAY_MINUTES / MINUTES / 1e6, f"{layout.count} columns, {MINUTES // 60} hours scaled to a day"
    yield at_most("a host-day of seconds in SQLite", (both - minutes) * scale, 60, "MB", note)
    yield at_most("a host-day of minutes in SQLite", minutes * scale, 8, "MB", note)
    store.close()


def _month(path: Path) -> Iterator[Figure]:
    """A month of one metric of a run's host, a point a minute and GPU, out of 43,200 blocks."""
    layout = KnownLayout(Layout(tuple(Column(POWER, (f"GPU-{gpu}",)) for gpu in range(8))))
    store = SqliteStore(path)
    store.put_document("layout", definition_id(layout.digest), layout.layout.body)
    values = np.random.default_rng(3).normal(620_000, 45_000, (3600, layout.count)).astype(np.int64)
    for hour in range(MONTH_HOURS):
        groups = (
            rows(layout, range(3600 * hour + 60 * minute, 3600 * hour + 60 * minute + 60), values=values[:60] + minute)
            for minute in range(60)
        )
        store.put_blocks(list(_blocks("a", layout, list(groups))))
    end_ns = START_NS + MONTH_HOURS * HOUR_NS
    store.roll_up(end_ns)
    store.close()
    store = SqliteStore(path)
    points: list[int] = []
    reads = [
        1000
        * _seconds(lambda: points.extend(len(s.times_ns) for s in store.read_minutes("a", [POWER.name], 0, end_ns)))
        for _ in range(5)
    ]
    store.close()
    note = f"{sum(points) // len(reads):,} points of 8 columns; the first read of five, the file in the page cache"
    yield at_most("read 30 days of one metric at 1 minute", reads[0], 200, "ms", note)


def _used_bytes(path: Path) -> int:
    """Return the bytes in use in the file, without its log and free pages."""
    with closing(sqlite3.connect(path)) as connection:
        pages, free, size = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def _cpu_ms(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
