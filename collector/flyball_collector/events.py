"""The path of events: from the diagnosis and the hosts into the timeline, and from there to receivers."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.forecast.memory_history import read_memory_history
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.start_up import StartUp
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.notify.affected_runs import affected_runs
from flyball_collector.notify.notifier import Notifier
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.settings import CollectorSettings
from flyball_collector.store.contract import Store, StoreError
from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.host_notes import HostNotes
from flyball_collector.timeline.journal import Journal
from flyball_collector.timeline.live_entries import live_entry
from flyball_collector.timeline.timeline import Timeline

_log = structlog.get_logger(__name__)

_INTERVAL_SECONDS = 1.0
_STOP_SECONDS = 5.0
_AT_ONCE = 1000  # events, some 15 ms

MAX_CATCH_UP_SECONDS = 120.0
"""Maximum time for which loading of history waits while hosts replay what the collector missed."""


class Events:
    """Holds the diagnosis back until the conditions from before a restart are loaded."""

    def __init__(
        self,
        settings: CollectorSettings,
        store: Store,
        fleet: Fleet,
        diagnosis: Diagnosis,
        start_up: StartUp,
        metrics: OwnMetrics,
        clock: Callable[[], int],
    ) -> None:
        self.journal = Journal(store, metrics)
        active = ActiveEntries()
        self.notifier = Notifier(
            settings.notify,
            self.journal,
            active,
            store,
            metrics,
            clock,
            lambda e: affected_runs(fleet, e, clock()),
            partial(live_entry, diagnosis.conditions),
        )
        self.timeline = Timeline(store, self.journal, active, self.notifier.entry_added)
        self._store = store
        self._fleet = fleet
        self._diagnosis = diagnosis
        self._metrics = metrics
        self._clock = clock
        self._host_notes = HostNotes()
        self._waiting: deque[Event] = deque()
        self._more = asyncio.Event()
        self._written = asyncio.Event()
        self._start_up = start_up

    def report(self, events: Sequence[Event]) -> None:
        """Add the diagnosis's events of this second. Very many are added in slices, so that the loop can continue."""
        self._waiting.extend(events)
        self._add_some()
        if self._waiting:
            self._more.set()

    async def run(self, warming: Callable[[], bool] = bool, catching_up: Callable[[], bool] = bool) -> None:
        """Load conditions; then write, notify, and note the hosts' events. Run until cancelled.

        `catching_up` returns True while hosts replay what the collector missed, which takes precedence.
        """
        conditions = await self.timeline.load()
        await self.notifier.load()
        self._diagnosis.conditions.load(conditions, self._clock())
        self._start_up.conditions_loaded = True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._write(), name="timeline")
            tasks.create_task(self._add_rest(), name="timeline-rest")
            tasks.create_task(self.notifier.run(), name="notifier")
            while warming():  # noqa: ASYNC110  it happens once and is not urgent
                await asyncio.sleep(_INTERVAL_SECONDS / 10)
            self._start_up.windows_warm = True
            tasks.create_task(self._note_hosts(), name="host-notes")
            tasks.create_task(self._load_history(catching_up), name="history")

    async def _load_history(self, catching_up: Callable[[], bool]) -> None:
        """Load the last day's memory series for the forecasts, host by host."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + MAX_CATCH_UP_SECONDS
        for name in [host.name for host in self._fleet.hosts()]:
            while catching_up() and loop.time() < deadline:  # noqa: ASYNC110  it is not urgent
                await asyncio.sleep(_INTERVAL_SECONDS / 10)
            try:
                histories = await asyncio.to_thread(
                    lambda host: list(read_memory_history(self._store, host, self._clock())), name
                )
            except StoreError as error:
                _log.warning(
                    "loading_history_failed",
                    host=name,
                    error=str(error),
                    remedy="none needed: forecasts begin with new readings",
                )
                return
            for history in histories:
                self._diagnosis.load_memory_history(history)

    async def stop(self) -> None:
        """Write everything. What the store does not accept in time is lost."""
        while self._waiting:
            self._add_some()
        self.timeline.close()
        if self.timeline.loaded.is_set():
            try:
                await asyncio.wait_for(self._written.wait(), _STOP_SECONDS)
            except TimeoutError:
                _log.error("timeline_incomplete_at_exit", waiting=len(self.journal))
        self.notifier.shut_down()
        self.journal.shut_down()

    def _add_some(self) -> None:
        events = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
        for event in events:
            self._metrics.events.labels(event.kind.name, event.state).inc()
        self.timeline.add_events(events)

    async def _add_rest(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                await asyncio.sleep(0)
                self._add_some()

    async def _write(self) -> None:
        await self.timeline.run()
        if len(self.journal):
            _log.error("timeline_incomplete_at_exit", waiting=len(self.journal))
        self._written.set()

    async def _note_hosts(self) -> None:
        while True:
            for note in self._host_notes.update(self._fleet.hosts(), self._clock()):
                self._metrics.events.labels(note.kind, note.state).inc()
                self.timeline.add(note)
            await asyncio.sleep(_INTERVAL_SECONDS)
