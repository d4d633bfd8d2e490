"""Takes records from the sampler to the spool in a thread of its own: a disk that hangs must not hold up a tick."""

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

import structlog

from flyball_agent.record import Tick
from flyball_agent.self_metrics import SelfMetrics

_log = structlog.get_logger(__name__)

HANGS_AFTER_RECORDS = 5
"""So many records that wait are no hiccup any more: it is said that the disk hangs."""

Announce = Callable[[str, str], None]


class SpoolWriter:
    """Hands each record to its sinks in order (spool first, then uplink) as soon as they take it.

    Behind a disk that hangs records wait, bounded in bytes; those beyond are dropped. The spool finds the gap when it
    gets the next one, and declares it lost.
    """

    def __init__(
        self, sinks: Sequence[Callable[[Tick], None]], max_bytes: int, *, self_metrics: SelfMetrics, announce: Announce
    ) -> None:
        self._sinks = tuple(sinks)
        self._max_bytes = max_bytes
        self._self_metrics = self_metrics
        self._announce = announce
        self._queue: SimpleQueue[Tick | None] = SimpleQueue()
        self._put_bytes = 0  # written by the sampler alone; the next one by our thread alone
        self._taken_bytes = 0
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="spool-writer", daemon=True)
        self._thread.start()

    def put(self, tick: Tick) -> None:
        """Called by the sampler; never waits. A fault of a sink comes out here, at the next record."""
        if self._fault is not None:
            raise self._fault
        if self._put_bytes - self._taken_bytes < self._max_bytes:
            self._put_bytes += len(tick.record)
            self._queue.put(tick)
        waiting = self._queue.qsize()
        if waiting >= HANGS_AFTER_RECORDS and not self._self_metrics.spool_hangs:
            self._self_metrics.spool_hangs = True
            _log.error("spool_hangs", records_waiting=waiting)
            self._announce("spool_degraded", "the disk does not answer; records wait in memory")
        elif waiting <= 1 and self._self_metrics.spool_hangs:
            self._self_metrics.spool_hangs = False
            _log.warning("spool_answers_again")
            self._announce("spool_recovered", "the disk answers again")

    def stop(self, wait_seconds: float) -> bool:
        """Hand on what waits, and end; False when the disk does not let us within the time."""
        self._queue.put(None)
        self._thread.join(wait_seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (tick := self._queue.get()) is not None:
            try:
                for sink in self._sinks:
                    sink(tick)
            except BaseException as fault:
                self._fault = fault
                raise
            self._taken_bytes += len(tick.record)
