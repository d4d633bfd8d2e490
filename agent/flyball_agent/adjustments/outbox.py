"""Messages about adjustments that wait for the stream, and outcomes that wait for the next record."""

from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import count

from flyball_proto.v1 import adjust_pb2 as adjust
from flyball_proto.v1 import telemetry_pb2 as pb

MAX_MESSAGES = 2048
MAX_OUTCOMES = 512
"""Outcomes that wait for a record. Beyond it, the oldest are lost."""

OUTCOMES_OF_RECORD = 64
"""A record stays far below the 256 KiB of steps and events that a collector accepts."""

KEPT_ANSWERS = 512
KEPT_SECONDS = 600.0
"""Answers are sent again to a new stream for this long: the old one may have ended before they arrived."""


class AdjustmentOutbox:
    """The event loop fills it. The stream takes messages on the loop; the sampler takes outcomes in its thread."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._messages: OrderedDict[object, adjust.AgentAdjust] = OrderedDict()
        self._recent: deque[tuple[float, adjust.AgentAdjust]] = deque(maxlen=KEPT_ANSWERS)
        self._outcomes: deque[pb.AdjustmentOutcome] = deque(maxlen=MAX_OUTCOMES)
        self._number = count()
        self._wake: Callable[[], None] | None = None  # of the stream; without one nothing waits

    def begin_stream(self, wake: Callable[[], None]) -> None:
        """Keep messages for a new stream from now on, beginning with the recent answers."""
        self._messages.clear()
        self._wake = wake
        oldest = self._now() - KEPT_SECONDS
        for at, message in self._recent:
            if at >= oldest:
                self._put(next(self._number), message)

    def end_stream(self) -> None:
        """Keep nothing while there is no stream."""
        self._wake = None
        self._messages.clear()

    def add(self, message: adjust.AgentAdjust, *, of: object = None) -> None:
        """Add a message. With `of`, it replaces one of the same that still waits."""
        key = of if of is not None else next(self._number)
        self._messages.pop(key, None)
        self._put(key, message)

    def add_answer(self, message: adjust.AgentAdjust, outcome: pb.AdjustmentOutcome) -> None:
        """Add an answer of a process: for the stream, and for the next record, where it is durable."""
        self._recent.append((self._now(), message))
        self.add(message)
        self._outcomes.append(outcome)

    def add_outcome(self, outcome: pb.AdjustmentOutcome) -> None:
        """Add what only the record needs."""
        self._outcomes.append(outcome)

    def take(self, most: int = MAX_MESSAGES) -> list[adjust.AgentAdjust]:
        """Remove and return messages that wait, oldest first."""
        return [self._messages.popitem(last=False)[1] for _ in range(min(most, len(self._messages)))]

    def take_outcomes(self) -> list[pb.AdjustmentOutcome]:
        """Remove and return the outcomes for the next record. Another thread may call it."""
        taken: list[pb.AdjustmentOutcome] = []
        while self._outcomes and len(taken) < OUTCOMES_OF_RECORD:
            taken.append(self._outcomes.popleft())
        return taken

    def _put(self, key: object, message: adjust.AgentAdjust) -> None:
        if self._wake is None:
            return
        self._messages[key] = message
        if len(self._messages) > MAX_MESSAGES:
            self._messages.popitem(last=False)
        self._wake()
