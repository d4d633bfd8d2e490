"""Writes captures to the store: in order, in a thread of its own, so that a slow store delays nothing else."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import structlog

from flyball_collector.store.contract import StoreError

_log = structlog.get_logger(__name__)


class _Job(NamedTuple):
    work: Callable[[], int]
    then: Callable[[int], None]
    failed: Callable[[StoreError], None]


class CaptureWriter:
    """A queue of calls to the store. What follows a call runs on the event loop."""

    def __init__(self) -> None:
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="captures-store")

    def add(
        self,
        work: Callable[[], int],
        then: Callable[[int], None] = lambda _: None,
        failed: Callable[[StoreError], None] | None = None,
    ) -> None:
        """Queue a call."""
        self._jobs.put_nowait(_Job(work, then, failed or _log_failure))

    async def run(self) -> None:
        """Work until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            job = await self._jobs.get()
            try:
                result = await loop.run_in_executor(self._thread, job.work)
            except StoreError as error:
                job.failed(error)
            else:
                job.then(result)
            finally:
                self._jobs.task_done()

    async def written(self) -> None:
        """Wait until everything is written."""
        await self._jobs.join()

    def shut_down(self) -> None:
        """Release the thread. A call that hangs is abandoned."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _log_failure(error: StoreError) -> None:
    _log.warning("capture_not_stored", error=str(error))
