"""The memory history in the store is used after a restart."""

import numpy as np
import pytest

from flyball_collector.blocks.assembly import build_block
from flyball_collector.blocks.block import BlockKey
from flyball_collector.blocks.testing import START_NS, rows
from flyball_collector.diagnosis.forecast.leak import MemoryLeak
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.memory_history import read_memory_history
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.store.memory import MemoryStore
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge
from flyball_proto.ranges import RangeSet

HOST = "host-00000"
HOST_USE = gauge("memory_used_ratio", "ratio", "Used.", scale=10_000)
GPU_USE = gauge("gpu_memory_used_bytes", "bytes", "Used.", ("gpu", "index"))
GPU_TOTAL = gauge("gpu_memory_total_bytes", "bytes", "There.", ("gpu", "index"))


def test_minutes_are_returned_as_shares() -> None:
    """For a host this is its ratio, for a GPU its bytes relative to its memory; with lows and highs of each minute."""
    layout = KnownLayout(Layout((Column(HOST_USE), Column(GPU_USE, ("G", "0")), Column(GPU_TOTAL, ("G", "0")))))
    store = MemoryStore()
    store.put_document("layout", f"{layout.digest:016x}", layout.layout.body)
    values = np.tile(np.array([5000, 40, 80]), (60, 1))
    values[30:, 0], values[30:, 1] = 6000, 60
    group = rows(layout, range(60), values=values)
    block = build_block(
        BlockKey(HOST, b"e" * 16, 0), 60, [group], RangeSet(), RangeSet(), START_NS, {layout.digest: layout}
    )
    store.put_blocks([block])
    found = {past.subject: past for past in read_memory_history(store, HOST, START_NS + 3600 * 10**9)}
    host, gpu = found[Subject(HOST, resource="host")], found[Subject(HOST, "G")]
    assert (host.low.tolist(), host.high.tolist()) == ([0.5], [0.6])
    assert (gpu.low.tolist(), gpu.high.tolist()) == ([0.5], [0.75])


@pytest.mark.parametrize("updates", [0, 3, None])
def test_a_leak_is_reported_soon_after_a_restart(updates: int | None) -> None:
    """With the history of a day, loaded first or after some updates, this takes a quarter of an hour.

    Without it, it takes most of a day.
    """
    machines, memory = Machines(1), MemoryExhaustion(ForecastSettings())
    leak = MemoryLeak(memory, ForecastSettings())
    times = 1.7e9 + 60 * np.arange(1350.0)
    use = 0.4 + 0.02 * np.arange(1350) / 60
    reported = False
    for number, (time, value) in enumerate(zip(times[1320:], use[1320:], strict=True)):
        if number == updates:
            memory.load_history(Subject(HOST, resource="host"), times[:1320], use[:1320], use[:1320])
        view = ArrayView(machines, time, host={"memory_used_ratio": np.array([value])})
        memory.observe(view)
        reported |= bool(next(iter(leak.observe(view))).enters.any())
    assert reported == (updates is not None)
