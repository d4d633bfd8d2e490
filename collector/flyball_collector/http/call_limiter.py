"""Limits expensive calls: a few run at once, some wait, and the rest are refused."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from flyball_collector.http.errors import ApiError
from flyball_collector.store.contract import StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")


class CallLimiter:
    """Runs `at_once` calls in threads, queues `waiting` more, and refuses the rest."""

    def __init__(self, *, at_once: int, waiting: int, time_limit_seconds: float) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._max_inside = at_once + waiting
        self._inside = 0
        self._time_limit_seconds = time_limit_seconds

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking call in a thread. A thread over the time limit is abandoned but still counted."""
        if self._inside >= self._max_inside:
            what = f"{self._inside} such requests are in progress"
            raise ApiError(503, "busy", what, "try again later", retry_seconds=2)
        self._inside += 1
        try:
            await self._slots.acquire()
        except BaseException:
            self._inside -= 1
            raise
        work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        work.add_done_callback(self._release)
        try:
            return await asyncio.wait_for(asyncio.shield(work), self._time_limit_seconds)
        except TimeoutError:
            raise StoreUnavailable(f"no answer within {self._time_limit_seconds:g} s") from None

    def _release(self, work: "asyncio.Future[T]") -> None:
        self._inside -= 1
        self._slots.release()
        if not work.cancelled():
            work.exception()  # retrieved, because nobody awaits a late failure
