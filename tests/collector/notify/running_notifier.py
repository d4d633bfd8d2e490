"""A running timeline with its notifier, and settings of receivers."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from flyball_collector.notify.notifier import Notifier
from flyball_collector.notify.settings import AlertmanagerSettings, NotifySettings, WebhookSettings
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.contract import Store
from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.journal import Journal
from flyball_collector.timeline.timeline import Timeline
from tests.receiver import Receiver


def webhook(receiver: Receiver, **settings: Any) -> NotifySettings:
    chosen = {"group_wait_seconds": 0.0, "group_interval_seconds": 0.0, **settings}
    return NotifySettings(webhook=WebhookSettings(urls=(f"{receiver.url}/hook/secret-path",), **chosen))


def alertmanager(receiver: Receiver, **settings: Any) -> NotifySettings:
    return NotifySettings(alertmanager=AlertmanagerSettings(urls=(receiver.url,), **settings))


class RunningNotifier:
    """A running timeline with its notifier."""

    def __init__(self, settings: NotifySettings, store: Store) -> None:
        self.metrics = OwnMetrics()
        journal, active = Journal(store, self.metrics), ActiveEntries()
        self.notifier = Notifier(settings, journal, active, store, self.metrics, time.time_ns)
        self.timeline = Timeline(store, journal, active, self.notifier.entry_added)

    def outcomes(self) -> dict[str, float]:
        samples = [s for m in self.metrics.notifications.collect() for s in m.samples if s.name.endswith("_total")]
        return {sample.labels["outcome"]: sample.value for sample in samples if sample.value}

    @property
    def waiting(self) -> float:
        return sum(sample.value for m in self.metrics.notifications_waiting.collect() for sample in m.samples)


@contextlib.asynccontextmanager
async def running(settings: NotifySettings, store: Store, *, killed: bool = False) -> AsyncIterator[RunningNotifier]:
    """Run it like the collector; with `killed`, unwritten data are lost at the end."""
    made = RunningNotifier(settings, store)
    await made.timeline.load()
    await made.notifier.load()
    tasks = [asyncio.create_task(made.timeline.run()), asyncio.create_task(made.notifier.run())]
    try:
        yield made
    finally:
        tasks[1].cancel()
        if killed:
            tasks[0].cancel()
        made.timeline.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        made.notifier.shut_down()
        made.timeline.journal.shut_down()


async def until(what: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
