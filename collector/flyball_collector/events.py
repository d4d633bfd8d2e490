"""What becomes of events: from the diagnosis and the hosts into the timeline, from there to receivers; and back."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import structlog

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.forecast.past import read_past
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.start_up import StartUp
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.notify.notifier import Notifier
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.settings import CollectorSettings
from flyball_collector.store.contract import Store, StoreError
from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.host_news import HostNews
from flyball_collector.timeline.journal import Journal
from flyball_collector.timeline.timeline import Timeline

_log = structlog.get_logger(__name__)

_LOOK_SECONDS = 1.0
_STOP_SECONDS = 5.0
_AT_ONCE = 1000  # events, some 15 ms

LONGEST_BEHIND_SECONDS = 120.0
"""So long forecasts wait for what was before, while hosts replay what the collector missed."""


class Events:
    """Holds the diagnosis until everything that stood before a restart is known again."""

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
        self.notifier = Notifier(settings.notify, self.journal, active, store, metrics, clock)
        self.timeline = Timeline(store, self.journal, active, self.notifier.hear)
        self._store = store
        self._fleet = fleet
        self._diagnosis = diagnosis
        self._metrics = metrics
        self._clock = clock
        self._news = HostNews()
        self._untold: deque[Event] = deque()
        self._more = asyncio.Event()
        self._written = asyncio.Event()
        self._start_up = start_up

    def tell(self, events: Sequence[Event]) -> None:
        """What diagnosis found in this second; of very much the rest is taken in slices, so that the loop goes on."""
        self._untold.extend(events)
        self._take()
        if self._untold:
            self._more.set()

    async def run(self, warming: Callable[[], bool] = bool, behind: Callable[[], bool] = bool) -> None:
        """Load, once windows are warm too; then write, notify, and look for news of hosts. Never returns.

        `behind` says whether much that was missed is still to be taken, which comes first.
        """
        stood = await self.timeline.load()
        await self.notifier.load()
        self._diagnosis.conditions.load(stood, self._clock())
        self._start_up.conditions_loaded = True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._write(), name="timeline")
            tasks.create_task(self._take_rest(), name="timeline-rest")
            tasks.create_task(self.notifier.run(), name="notifier")
            while warming():  # noqa: ASYNC110  it ends once, and nobody needs to know when at once
                await asyncio.sleep(_LOOK_SECONDS / 10)
            self._start_up.windows_warm = True
            tasks.create_task(self._look(), name="host-news")
            tasks.create_task(self._recall(behind), name="past")

    async def _recall(self, behind: Callable[[], bool]) -> None:
        """What memories did in the last day, host by host; forecasts take it as it comes."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + LONGEST_BEHIND_SECONDS
        for name in [host.name for host in self._fleet.hosts()]:
            while behind() and loop.time() < latest:  # noqa: ASYNC110  nobody needs to know when at once
                await asyncio.sleep(_LOOK_SECONDS / 10)
            try:
                told = await asyncio.to_thread(lambda host: list(read_past(self._store, host, self._clock())), name)
            except StoreError as error:
                _log.warning("past_not_recalled", host=name, error=str(error), remedy="forecasts begin anew")
                return
            for past in told:
                self._diagnosis.recall(past)

    async def stop(self) -> None:
        """Have everything written; what the store does not take in time is lost but for what is in it already."""
        while self._untold:
            self._take()
        self.timeline.close()
        if self.timeline.loaded.is_set():
            try:
                await asyncio.wait_for(self._written.wait(), _STOP_SECONDS)
            except TimeoutError:
                _log.error("timeline_not_written_at_end", waiting=len(self.journal))
        self.notifier.shut_down()
        self.journal.shut_down()

    def _take(self) -> None:
        events = [self._untold.popleft() for _ in range(min(_AT_ONCE, len(self._untold)))]
        for event in events:
            self._metrics.events.labels(event.kind.name, event.state).inc()
        self.timeline.take(events)

    async def _take_rest(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._untold:
                await asyncio.sleep(0)
                self._take()

    async def _write(self) -> None:
        await self.timeline.run()
        if len(self.journal):
            _log.error("timeline_not_written_at_end", waiting=len(self.journal))
        self._written.set()

    async def _look(self) -> None:
        while True:
            for note in self._news.look(self._fleet.hosts(), self._clock()):
                self._metrics.events.labels(note.kind, note.state).inc()
                self.timeline.add(note)
            await asyncio.sleep(_LOOK_SECONDS)
