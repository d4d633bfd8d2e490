"""What becomes of events: taken, written, told; and what stood before a restart."""

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
from flyball_collector.timeline.documents import EVENT
from flyball_collector.timeline.testing import make_event
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge


class Made:
    """Events around a diagnosis without detectors."""

    def __init__(self, store: Store) -> None:
        settings = CollectorSettings()
        self.fleet, self.metrics = Fleet(), OwnMetrics()
        self.start_up = StartUp.cold()
        self.diagnosis = Diagnosis(self.fleet, settings.diagnosis, (), start_up=self.start_up)
        self.events = Events(settings, store, self.fleet, self.diagnosis, self.start_up, self.metrics, lambda: START_NS)
        self.warming = self.behind = False


@contextlib.asynccontextmanager
async def running(made: Made) -> AsyncIterator[Made]:
    task = asyncio.create_task(made.events.run(lambda: made.warming, lambda: made.behind))
    try:
        yield made
    finally:
        await made.events.stop()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until_released(made: Made) -> None:
    async with asyncio.timeout(10):
        while not made.start_up.windows_warm:  # noqa: ASYNC110  a test may
            await asyncio.sleep(0.01)


async def test_nothing_is_raised_before_what_stood_is_known() -> None:
    """The diagnosis is held while the store is down or the windows are cold; then it knows what stood."""
    store, event = FlakyStore(), make_event()
    async with running(Made(store)) as first:
        await until_released(first)
        first.events.tell([event])
    store.down = True
    again = Made(store)
    again.warming = True
    async with running(again):
        await asyncio.sleep(0.3)
        assert not again.start_up.windows_warm
        early = again.start_up.conditions_loaded
        store.down = False
        async with asyncio.timeout(10):
            await again.events.timeline.loaded.wait()
        await asyncio.sleep(0.3)
        assert not again.start_up.windows_warm
        assert (early, again.start_up.conditions_loaded) == (
            False,
            True,
        )  # what is urgent may be told while windows are cold
        again.warming = False
        await until_released(again)
        assert [active.event for active in again.diagnosis.conditions.active()] == [event]


async def test_very_many_events_do_not_stall_the_loop() -> None:
    """Of tens of thousands in one second all are stored, in order, while the event loop serves others."""
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

    async with running(Made(store)) as made:
        await until_released(made)
        watching = asyncio.create_task(watch())
        await asyncio.sleep(0)
        made.events.tell(events)
        async with asyncio.timeout(60):
            while len(made.events.timeline.active()) < len(events):  # noqa: ASYNC110  a test may
                await asyncio.sleep(0.05)
        watching.cancel()
    assert longest < 0.25  # of all at once it would be more
    assert len(store.list_documents(EVENT)) == len(events)
    labels = {"kind": "bottleneck_gpu_compute", "state": "raised"}
    assert made.metrics.registry.get_sample_value("flyball_collector_events_total", labels) == len(events)


async def test_what_happens_on_a_host_comes_into_the_timeline() -> None:
    """A host's own event is noted and stored."""
    store = MemoryStore()
    async with running(Made(store)) as made:
        await until_released(made)
        made.fleet.ensure("a").events = (HostEvent(START_NS, "oom_kill", "", 0, "python was killed"),)
        async with asyncio.timeout(10):
            while not made.events.timeline.recent():  # noqa: ASYNC110  a test may
                await asyncio.sleep(0.05)
    (note,) = made.events.timeline.recent()
    assert (note.host, note.because) == ("a", "oom_kill: python was killed")
    assert len(store.list_documents(EVENT)) == 1


async def test_stopping_writes_what_was_just_said() -> None:
    """Even if it is very much."""
    store = MemoryStore()
    async with running(Made(store)) as made:
        await until_released(made)
        made.events.tell([make_event(at=n) for n in range(5000)])
    assert len(store.list_documents(EVENT)) == 5000


def _with_a_past() -> tuple[Made, "_Remembers"]:
    """A host whose memory was stored before, while the fleet replays."""
    layout = KnownLayout(Layout((Column(gauge("memory_used_ratio", "ratio", "Used.", scale=10_000)),)))
    store = MemoryStore()
    store.put_document("layout", f"{layout.digest:016x}", layout.layout.body)
    store.put_blocks([small_block("a", layout=layout, epoch_start_ns=START_NS - 3600 * 10**9)])
    made = Made(store)
    memory = _Remembers(ForecastSettings())
    made.diagnosis.detectors.append(memory)
    made.fleet.ensure("a")
    made.behind = True
    return made, memory


async def test_forecasts_are_told_what_memories_did_before_a_restart() -> None:
    """The minutes of every known host are read from the store, and handed to who forecasts its memory: when there is
    time for it, that is not while the fleet replays."""
    made, memory = _with_a_past()
    async with running(made):
        await until_released(made)
        await asyncio.sleep(0.2)
        assert memory.told == []
        made.behind = False
        async with asyncio.timeout(10):
            while not memory.told:  # noqa: ASYNC110  a test may
                await asyncio.sleep(0.01)
    assert memory.told == [Subject("a", resource="host")]


async def test_forecasts_do_not_wait_for_ever_for_a_fleet_that_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much there is to replay, after a while they are told of the past."""
    monkeypatch.setattr("flyball_collector.events.LONGEST_BEHIND_SECONDS", 0.3)
    made, memory = _with_a_past()
    async with running(made):
        async with asyncio.timeout(10):
            while not memory.told:  # noqa: ASYNC110  a test may
                await asyncio.sleep(0.01)
    assert made.behind


class _Remembers(MemoryExhaustion):
    """Notes of whom it was told."""

    def __init__(self, settings: ForecastSettings) -> None:
        super().__init__(settings)
        self.told: list[Subject] = []

    def recall(self, subject: Subject, times: Floats, low: Floats, high: Floats) -> None:
        super().recall(subject, times, low, high)
        self.told.append(subject)
