"""Lets few callers do what is expensive at once: the others wait a moment, or are told to come again."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from flyball_collector.http.errors import ApiError
from flyball_collector.store.contract import StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")


class Turnstile:
    """`at_once` calls run in threads, `waiting` more queue, the rest are refused."""

    def __init__(self, *, at_once: int, waiting: int, time_limit_seconds: float) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._room = at_once + waiting
        self._inside = 0
        self._time_limit_seconds = time_limit_seconds

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking call in a thread of its own; a thread past the limit is left behind and still counts."""
        if self._inside >= self._room:
            raise ApiError(503, "busy", f"{self._inside} such requests are at work", "try again", retry_seconds=2)
        self._inside += 1
        try:
            await self._free.acquire()
        except BaseException:
            self._inside -= 1
            raise
        work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        work.add_done_callback(self._leave)
        try:
            return await asyncio.wait_for(asyncio.shield(work), self._time_limit_seconds)
        except TimeoutError:
            raise StoreUnavailable(f"no answer within {self._time_limit_seconds:g} s") from None

    def _leave(self, work: "asyncio.Future[T]") -> None:
        self._inside -= 1
        self._free.release()
        if not work.cancelled():
            work.exception()  # looked at: a late failure of a call that was given up is nobody's any more
