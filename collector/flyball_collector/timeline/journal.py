"""Changes of documents on their way to the store: in order, in batches, in a thread, tried again while it is down."""

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import structlog

from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.contract import Store, StoreError, StoreUnavailable
from flyball_collector.timeline.documents import Name, Put

_log = structlog.get_logger(__name__)

_BATCH = 1000
_FIRST_WAIT_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 10.0

MAX_WAITING = 50_000
"""Changes kept while the store is down: some 100 MB. Of what merely changed or was noted, four fifths of that."""


class Change(NamedTuple):
    """What is written and forgotten together."""

    puts: Sequence[Put]
    forgets: Sequence[Name]


class Journal:
    """Takes changes on the event loop; each is written once, in the order in which it was taken."""

    def __init__(self, store: Store, metrics: OwnMetrics, *, max_waiting: int = MAX_WAITING) -> None:
        self._store = store
        self._metrics = metrics
        self._most = max_waiting
        self._waiting: deque[Change] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="timeline-writer")
        self._wake = asyncio.Event()
        self._written = asyncio.Event()
        self._written.set()
        self._closing = False
        self._failures = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, puts: Sequence[Put], forgets: Sequence[Name] = (), *, minor: bool = False) -> None:
        """Write this soon. When too much waits the newest minor changes are left out, and then the oldest of all."""
        if minor and len(self._waiting) >= self._most * 4 // 5:
            self._dropped()
            return
        if len(self._waiting) >= self._most:
            self._waiting.popleft()
            self._dropped()
        self._waiting.append(Change(puts, forgets))
        self._metrics.journal_waiting.set(len(self._waiting))
        self._written.clear()
        self._wake.set()

    async def run(self) -> None:
        """Write until told to close, and then what is left, once."""
        wait = _FIRST_WAIT_SECONDS
        while True:
            if not self._waiting:
                self._written.set()
                if self._closing:
                    return
                await self._wake.wait()
                self._wake.clear()
                continue
            if await self._write():
                wait = _FIRST_WAIT_SECONDS
            elif self._closing:
                return
            else:
                await asyncio.sleep(random.uniform(0.1, 1.0) * wait)  # noqa: S311  jitter, not a secret
                wait = min(_LONGEST_WAIT_SECONDS, 2 * wait)

    async def written(self) -> None:
        """Wait until nothing waits."""
        await self._written.wait()

    def close(self) -> None:
        """Write what waits, then end."""
        self._closing = True
        self._wake.set()

    def shut_down(self) -> None:
        """Let go of the thread; a call that hangs is left behind."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _write(self) -> bool:
        batch = [self._waiting[place] for place in range(min(_BATCH, len(self._waiting)))]
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
        """One change of a batch is poison: write each by itself, and give up those that the store will not have."""
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
        puts, forgets = _united(batch)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, lambda: self._store.put_documents(puts, forget=forgets))

    def _done(self, batch: Sequence[Change]) -> None:
        """What was written goes; some of it may have been dropped meanwhile."""
        written = {id(change) for change in batch}
        while self._waiting and id(self._waiting[0]) in written:
            self._waiting.popleft()
        self._metrics.journal_waiting.set(len(self._waiting))
        if self._failures:
            _log.warning("timeline_written_again", failures=self._failures, waiting=len(self._waiting))
        self._failures = 0

    def _failed(self, error: StoreUnavailable) -> None:
        if not self._failures:
            _log.error("timeline_not_written", error=str(error), remedy="events are kept in memory until it is back")
        self._failures += 1
        self._metrics.store_errors.labels("timeline").inc()

    def _dropped(self) -> None:
        self._metrics.journal_dropped.inc()


def _united(batch: Sequence[Change]) -> tuple[list[Put], list[Name]]:
    """The last word on each document."""
    last: dict[Name, bytes | None] = {}
    for change in batch:
        last |= {(kind, id_): body for kind, id_, body in change.puts}
        last |= dict.fromkeys(change.forgets)
    puts = [(kind, id_, body) for (kind, id_), body in last.items() if body is not None]
    return puts, [name for name, body in last.items() if body is None]
