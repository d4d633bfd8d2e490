"""The periodic jobs."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import structlog

from flyball_collector.blocks.testing import START_NS, TEMPERATURE, small_block, small_layout
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.jobs.jobs import Jobs, tidy
from flyball_collector.jobs.schedule import start_jobs
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.settings import CollectorSettings, StoreSettings
from flyball_collector.store.definitions import definition_id
from flyball_collector.store.memory import MemoryStore
from flyball_collector.store.minutes import HOUR_NS
from flyball_collector.store.sqlite import SqliteStore
from flyball_collector.testing import FlakyStore
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.entry_documents import EVENT, puts_of
from flyball_collector.timeline.testing import make_event

SETTINGS = CollectorSettings(store=StoreSettings(seconds_hours=2, minutes_days=1))


def filled() -> MemoryStore:
    store, layout = MemoryStore(), small_layout(gpus=1)
    store.put_document("layout", definition_id(layout.digest), layout.layout.body)
    store.put_blocks([small_block(number=number, layout=layout) for number in range(90)])
    return store


def runs(metrics: OwnMetrics, job: str, outcome: str) -> float | None:
    labels = {"job_name": job, "outcome": outcome}
    return metrics.registry.get_sample_value("flyball_collector_job_runs_total", labels)


def test_seconds_are_deleted_after_their_minutes_are_stored() -> None:
    """Blocks that were never rolled up, because the collector was down, are rolled up before they expire."""
    store = filled()
    dropped, size = tidy(store, SETTINGS.store, START_NS + 10 * HOUR_NS)
    assert (dropped, size) == (90, store.size_bytes())
    (series,) = store.read_minutes("a", [TEMPERATURE.name], 0, START_NS + HOUR_NS * 100)
    assert len(series.times_ns) == 90


def test_minutes_are_deleted_after_their_time() -> None:
    """Minute series expire as well, and recent ones stay."""
    store = filled()
    assert tidy(store, SETTINGS.store, START_NS + HOUR_NS)[0] == 0
    tidy(store, SETTINGS.store, START_NS + 26 * HOUR_NS)
    assert store.read_minutes("a", [TEMPERATURE.name], 0, START_NS + HOUR_NS * 100) == []


async def test_jobs_run_until_the_stack_is_closed() -> None:
    """The scheduler runs each job, and stops with its owner."""
    metrics = OwnMetrics()
    async with AsyncExitStack() as stack:
        start_jobs(
            stack, filled(), SETTINGS, Fleet(), metrics, lambda: START_NS + 3 * HOUR_NS, first_after_seconds=0.01
        )
        async with asyncio.timeout(60):
            while not (runs(metrics, "tidy_store", "done") and runs(metrics, "forget_hosts", "done")):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert metrics.registry.get_sample_value("flyball_collector_expired_blocks_total") == 59
    assert (metrics.registry.get_sample_value("flyball_collector_store_bytes") or 0) > 0


async def test_hosts_without_recent_records_are_removed() -> None:
    """A host without a stream is removed after its time; the others stay."""
    fleet, metrics = Fleet(), OwnMetrics()
    for name, hours in (("old", 0), ("young", 20)):
        fleet.ensure(name).received_ns = START_NS + hours * HOUR_NS
    await Jobs(MemoryStore(), SETTINGS, fleet, metrics, lambda: START_NS + 30 * HOUR_NS).forget_hosts()
    assert [host.name for host in fleet.hosts()] == ["young"]


async def test_a_store_that_fails_is_logged_once_and_counted(tmp_path: Path) -> None:
    """Each failure is counted; only the first and the recovery are logged."""
    metrics, path = OwnMetrics(), tmp_path / "flyball.db"
    store = SqliteStore(path)
    store.close()
    jobs = Jobs(store, SETTINGS, Fleet(), metrics, lambda: START_NS)
    with structlog.testing.capture_logs() as logs:
        await jobs.tidy_store()
        await jobs.tidy_store()
    assert [(line["event"], line["log_level"]) for line in logs] == [("store_tidy_failed", "error")]
    assert runs(metrics, "tidy_store", "failed") == 2


def test_zero_means_no_size_limit() -> None:
    """`max_bytes = 0` deletes nothing because of its size."""
    store = filled()
    settings = msgspec.structs.replace(SETTINGS.store, seconds_hours=1000, max_bytes=0)
    assert tidy(store, settings, START_NS + HOUR_NS)[0] == 0


async def test_events_are_deleted_after_their_time() -> None:
    """Entries older than `events_days` are deleted; a store that is down is counted."""
    metrics, store = OwnMetrics(), FlakyStore()
    entries = [entry_of(make_event(at=day * 86400.0)) for day in range(40)]
    store.put_documents([put for entry in entries for put in puts_of(entry)])
    jobs = Jobs(store, SETTINGS, Fleet(), metrics, lambda: entries[-1].time_ns)
    await jobs.forget_events()
    assert [document.id for document in store.list_documents(EVENT)] == [entry.id for entry in entries[-31:]]
    store.down = True
    await jobs.forget_events()
    assert (runs(metrics, "forget_events", "done"), runs(metrics, "forget_events", "failed")) == (1, 1)
