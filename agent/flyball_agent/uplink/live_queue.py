"""Live records on their way from the sampler's thread to the stream. The queue is small, since the spool has them."""

import threading
from collections import deque

from flyball_agent.record import TickRecord
from flyball_proto.ranges import RangeSet

MAX_BYTES = 1024 * 1024


class LiveQueue:
    """Records of one epoch that a stream is about to send. When it is full, the oldest records go to the backlog."""

    def __init__(self, epoch: bytes, max_bytes: int = MAX_BYTES) -> None:
        self.epoch = epoch
        self._max_bytes = max_bytes
        self._bytes = 0
        self._ticks: deque[TickRecord] = deque()
        self._spilled: list[int] = []
        self._lock = threading.Lock()

    def put(self, tick: TickRecord) -> None:
        """Add a record; called after the spool has it."""
        with self._lock:
            self._ticks.append(tick)
            self._bytes += len(tick.record)
            while self._bytes > self._max_bytes and len(self._ticks) > 1:
                oldest = self._ticks.popleft()
                self._bytes -= len(oldest.record)
                self._spilled.append(oldest.sequence)

    def take(self, max_bytes: int) -> list[TickRecord]:
        """Remove and return the oldest records, as many as fit in a message, at least one if there is one."""
        taken: list[TickRecord] = []
        total = 0
        with self._lock:
            while self._ticks and (not taken or total + len(self._ticks[0].record) <= max_bytes):
                tick = self._ticks.popleft()
                total += len(tick.record)
                taken.append(tick)
            self._bytes -= total
        return taken

    def take_spilled(self) -> RangeSet:
        """Return the sequences that did not fit since the last call."""
        if not self._spilled:
            return RangeSet()
        with self._lock:
            spilled, self._spilled = self._spilled, []
        return RangeSet.of(spilled)

    def __len__(self) -> int:
        return len(self._ticks)
