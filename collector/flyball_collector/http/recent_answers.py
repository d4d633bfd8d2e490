"""Answers that several viewers share for a moment, so that a page that polls costs the same for one and for many."""

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

FRESH_SECONDS = 0.9
"""A little less than the second after which the page asks again."""

MOST_OF_TIME = 0.05
"""An answer that takes long to make is kept for longer: making it takes at most this share of the time."""

MAX_ANSWERS = 64


class RecentAnswers(Generic[Answer]):
    """The newest answers by key. Errors are not kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[Hashable, tuple[float, Answer]] = {}  # by key: until when, and the answer

    def get(self, key: Hashable, make: Callable[[], Answer]) -> Answer:
        """Return a fresh answer for a key; make one if there is none."""
        started = self._clock()
        until, known = self._kept.get(key, (0.0, None))
        if known is not None and started < until:
            return known
        answer = make()
        ended = self._clock()
        self._kept.pop(key, None)
        self._kept[key] = ended + max(FRESH_SECONDS, (ended - started) / MOST_OF_TIME), answer
        while len(self._kept) > MAX_ANSWERS:
            del self._kept[next(iter(self._kept))]  # the oldest
        return answer
