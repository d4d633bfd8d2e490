"""Writes changes of documents to the store: in order, in batches, in a thread, and again after a failure."""

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import structlog

from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.contract import Store, StoreError, StoreUnavailable
from flyball_collector.timeline.entry_documents import Name, Put

_log = structlog.get_logger(__name__)

_BATCH = 1000
_FIRST_DELAY_SECONDS = 0.25
_MAX_DELAY_SECONDS = 10.0

MAX_WAITING = 50_000
"""Changes kept while the store is down: about 100 MB. Minor changes are kept up to four fifths of this."""


class Change(NamedTuple):
    """Documents that are written and deleted together."""

    puts: Sequence[Put]
    forgets: Sequence[Name]


class Journal:
    """Accepts changes on the event loop. Each is written once, in the order of arrival."""

    def __init__(self, store: Store, metrics: OwnMetrics, *, max_waiting: int = MAX_WAITING) -> None:
        self._store = store
        self._metrics = metrics
        self._max_waiting = max_waiting
        self._waiting: deque[Change] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="timeline-writer")
        self._wake = asyncio.Event()
        self._written = asyncio.Event()
        self._written.set()
        self._closing = False
        self._failures = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def failing(self) -> bool:
        """Return True while the store accepts no writes."""
        return self._failures > 0

    def add(self, puts: Sequence[Put], forgets: Sequence[Name] = (), *, minor: bool = False) -> None:
        """Queue a change. When too many wait, new minor changes are dropped, and then the oldest of all."""
        if minor and len(self._waiting) >= self._max_waiting * 4 // 5:
            self._dropped()
            return
        if len(self._waiting) >= self._max_waiting:
            self._waiting.popleft()
            self._dropped()
        self._waiting.append(Change(puts, forgets))
        self._metrics.journal_waiting.set(len(self._waiting))
        self._written.clear()
        self._wake.set()

    async def run(self) -> None:
        """Write until closed, and then the rest once."""
        delay = _FIRST_DELAY_SECONDS
        while True:
            if not self._waiting:
                self._written.set()
                if self._closing:
                    return
                await self._wake.wait()
                self._wake.clear()
                continue
            if await self._write():
                delay = _FIRST_DELAY_SECONDS
            elif self._closing:
                return
            else:
                await asyncio.sleep(random.uniform(0.1, 1.0) * delay)  # noqa: S311  jitter, not a secret
                delay = min(_MAX_DELAY_SECONDS, 2 * delay)

    async def written(self) -> None:
        """Wait until everything is written."""
        await self._written.wait()

    def close(self) -> None:
        """Write what is left, then end."""
        self._closing = True
        self._wake.set()

    def shut_down(self) -> None:
        """Release the thread. A call that hangs is abandoned."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _write(self) -> bool:
        batch = [self._waiting[index] for index in range(min(_BATCH, len(self._waiting)))]
        try:
            await self._call(batch)
        except StoreUnavailable as error:
            self._failed(error)
            return False
        except StoreError as error:
            return await self._write_alone(batch, error)
        self._done(batch)
        return True

    async def _write_alone(self, batch: Sequence[Change], error: StoreError) -> bool:
        """Write each change of a failed batch alone, and give up those that the store refuses."""
        _log.warning("timeline_batch_refused", changes=len(batch), error=str(error))
        for change in batch:
            try:
                await self._call([change])
            except StoreUnavailable as unavailable:
                self._failed(unavailable)
                return False
            except StoreError as refusal:
                _log.error("timeline_change_refused", documents=[name[:2] for name in change.puts], error=str(refusal))
                self._metrics.journal_dropped.inc()
            self._done([change])
        return True

    async def _call(self, batch: Sequence[Change]) -> None:
        puts, forgets = _merged(batch)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, lambda: self._store.put_documents(puts, forget=forgets))

    def _done(self, batch: Sequence[Change]) -> None:
        """Remove written changes. Some of them may have been dropped meanwhile."""
        written = {id(change) for change in batch}
        while self._waiting and id(self._waiting[0]) in written:
            self._waiting.popleft()
        self._metrics.journal_waiting.set(len(self._waiting))
        if self._failures:
            _log.warning("timeline_store_recovered", failures=self._failures, waiting=len(self._waiting))
        self._failures = 0

    def _failed(self, error: StoreUnavailable) -> None:
        if not self._failures:
            remedy = "none needed: events are kept in memory meanwhile"
            _log.error("timeline_write_failed", error=str(error), remedy=remedy)
        self._failures += 1
        self._metrics.store_errors.labels("timeline").inc()

    def _dropped(self) -> None:
        self._metrics.journal_dropped.inc()


def _merged(batch: Sequence[Change]) -> tuple[list[Put], list[Name]]:
    """Return the last change of each document."""
    last: dict[Name, bytes | None] = {}
    for change in batch:
        last |= {(kind, id_): body for kind, id_, body in change.puts}
        last |= dict.fromkeys(change.forgets)
    puts = [(kind, id_, body) for (kind, id_), body in last.items() if body is not None]
    return puts, [name for name, body in last.items() if body is None]
