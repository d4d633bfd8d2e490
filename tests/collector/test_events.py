"""The path of events: added, stored and notified; and the conditions from before a restart."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import pytest

from flyball_collector.blocks.testing import START_NS, small_block
from flyball_collector.diagnosis.claims import Floats
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.start_up import StartUp
from flyball_collector.events import Events
from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.settings import CollectorSettings
from flyball_collector.store.contract import Store
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import FlakyStore
from flyball_collector.tick import KnownLayout
from flyball_collector.timeline.entry_documents import EVENT
from flyball_collector.timeline.testing import make_event
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge


class Setup:
    """Events with a diagnosis without detectors."""

    def __init__(self, store: Store) -> None:
        settings = CollectorSettings()
        self.fleet, self.metrics = Fleet(), OwnMetrics()
        self.start_up = StartUp.cold()
        self.diagnosis = Diagnosis(self.fleet, settings.diagnosis, (), start_up=self.start_up)
        self.events = Events(settings, store, self.fleet, self.diagnosis, self.start_up, self.metrics, lambda: START_NS)
        self.warming = self.catching_up = False


@contextlib.asynccontextmanager
async def running(made: Setup) -> AsyncIterator[Setup]:
    task = asyncio.create_task(made.events.run(lambda: made.warming, lambda: made.catching_up))
    try:
        yield made
    finally:
        await made.events.stop()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until_released(made: Setup) -> None:
    async with asyncio.timeout(60):
        while not made.start_up.windows_warm:  # noqa: ASYNC110  a test may
            await asyncio.sleep(0.01)


async def test_nothing_is_raised_before_active_conditions_are_loaded() -> None:
    """The diagnosis waits while the store is down or windows are empty; then it has the active conditions."""
    store, event = FlakyStore(), make_event()
    async with running(Setup(store)) as first:
        await until_released(first)
        first.events.report([event])
    store.down = True
    again = Setup(store)
    again.warming = True
    async with running(again):
        await asyncio.sleep(0.3)
        assert not again.start_up.windows_warm
        early = again.start_up.conditions_loaded
        store.down = False
        async with asyncio.timeout(60):
            await again.events.timeline.loaded.wait()
        await asyncio.sleep(0.3)
        assert not again.start_up.windows_warm
        assert (early, again.start_up.conditions_loaded) == (
            False,
            True,
        )  # urgent conditions may be raised while windows are empty
        again.warming = False
        await until_released(again)
        assert [active.event for active in again.diagnosis.conditions.active()] == [event]


async def test_very_many_events_do_not_block_the_loop() -> None:
    """Tens of thousands in one second are all stored, in order, while the event loop runs other tasks."""
    store = MemoryStore()
    longest = 0.0
    events = [
        make_event("bottleneck_gpu_compute", at=n / 1e5, subject=Subject(f"n{n // 8}", gpu=str(n)))
        for n in range(20_000)
    ]

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - began)

    async with running(Setup(store)) as made:
        await until_released(made)
        watching = asyncio.create_task(watch())
        await asyncio.sleep(0)
        made.events.report(events)
        async with asyncio.timeout(60):
            while len(made.events.timeline.active()) < len(events):  # noqa: ASYNC110  a test may
                await asyncio.sleep(0.05)
        watching.cancel()
    assert longest < 0.25  # it would take longer in one piece
    assert len(store.list_documents(EVENT)) == len(events)
    labels = {"kind": "bottleneck_gpu_compute", "state": "raised"}
    assert made.metrics.registry.get_sample_value("flyball_collector_events_total", labels) == len(events)


async def test_a_hosts_event_is_added_to_the_timeline() -> None:
    """It is noted and stored."""
    store = MemoryStore()
    async with running(Setup(store)) as made:
        await until_released(made)
        made.fleet.ensure("a").events = (HostEvent(START_NS, "oom_kill", "", 0, "python was killed"),)
        async with asyncio.timeout(60):
            while not made.events.timeline.recent():  # noqa: ASYNC110  a test may
                await asyncio.sleep(0.05)
    (note,) = made.events.timeline.recent()
    assert (note.host, note.because) == ("a", "oom_kill: python was killed")
    assert len(store.list_documents(EVENT)) == 1


async def test_stopping_writes_the_last_events() -> None:
    """Even very many of them."""
    store = MemoryStore()
    async with running(Setup(store)) as made:
        await until_released(made)
        made.events.report([make_event(at=n) for n in range(5000)])
    assert len(store.list_documents(EVENT)) == 5000


def _with_history() -> tuple[Setup, "_MemoryDouble"]:
    """Return a host with stored memory series, in a fleet that replays."""
    layout = KnownLayout(Layout((Column(gauge("memory_used_ratio", "ratio", "Used.", scale=10_000)),)))
    store = MemoryStore()
    store.put_document("layout", f"{layout.digest:016x}", layout.layout.body)
    store.put_blocks([small_block("a", layout=layout, epoch_start_ns=START_NS - 3600 * 10**9)])
    made = Setup(store)
    memory = _MemoryDouble(ForecastSettings())
    made.diagnosis.detectors.append(memory)
    made.fleet.ensure("a")
    made.catching_up = True
    return made, memory


async def test_forecasts_get_memory_series_from_before_a_restart() -> None:
    """The minutes of every known host are read from the store once the fleet does not replay any more."""
    made, memory = _with_history()
    async with running(made):
        await until_released(made)
        await asyncio.sleep(0.2)
        assert memory.loaded == []
        made.catching_up = False
        async with asyncio.timeout(60):
            while not memory.loaded:  # noqa: ASYNC110  a test may
                await asyncio.sleep(0.01)
    assert memory.loaded == [Subject("a", resource="host")]


async def test_forecasts_do_not_wait_forever_for_a_fleet_that_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """They get the series after a while even if the replay continues."""
    monkeypatch.setattr("flyball_collector.events.MAX_CATCH_UP_SECONDS", 0.3)
    made, memory = _with_history()
    async with running(made):
        async with asyncio.timeout(60):
            while not memory.loaded:  # noqa: ASYNC110  a test may
                await asyncio.sleep(0.01)
    assert made.catching_up


class _MemoryDouble(MemoryExhaustion):
    """Records the subjects whose history was loaded."""

    def __init__(self, settings: ForecastSettings) -> None:
        super().__init__(settings)
        self.loaded: list[Subject] = []

    def load_history(self, subject: Subject, times: Floats, low: Floats, high: Floats) -> None:
        super().load_history(subject, times, low, high)
        self.loaded.append(subject)
