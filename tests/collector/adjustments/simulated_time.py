"""A time that only passes when a simulation lets it: what is due happens in its order."""

import heapq
from collections.abc import Callable
from itertools import count

from tests.collector.adjustments.core_case import SECOND, START_NS


class SimulatedTime:
    """The seconds since the beginning, and what is to happen later."""

    def __init__(self) -> None:
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._now = 0.0

    def _at(self, when: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (when, next(self._order), action))

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        self._at(self._now + seconds, action)

    def _advance(self, seconds: float) -> None:
        until = self._now + seconds
        while self._queue and self._queue[0][0] <= until:
            self._now, _, action = heapq.heappop(self._queue)
            action()
        self._now = until

    def _now_ns(self) -> int:
        return START_NS + int(self._now * SECOND)
