"""Writes records to the spool in a separate thread, so that a hanging disk does not delay a tick."""

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

import structlog

from flyball_agent.record import TickRecord
from flyball_agent.self_metrics import SelfMetrics

_log = structlog.get_logger(__name__)

HANGS_AFTER_RECORDS = 5
"""Number of waiting records from which the disk counts as hanging."""

Announce = Callable[[str, str], None]


class SpoolWriter:
    """Passes each record to the sinks in order (spool first, then uplink).

    While the disk hangs, records wait in a queue with a limit in bytes; beyond it they are dropped. The spool notices
    the gap when the next record arrives and declares it lost.
    """

    def __init__(
        self,
        sinks: Sequence[Callable[[TickRecord], None]],
        max_bytes: int,
        *,
        self_metrics: SelfMetrics,
        announce: Announce,
    ) -> None:
        self._sinks = tuple(sinks)
        self._max_bytes = max_bytes
        self._metrics = self_metrics
        self._announce = announce
        self._queue: SimpleQueue[TickRecord | None] = SimpleQueue()
        self._put_bytes = 0  # written only by the sampler; the next one is written only by our thread
        self._taken_bytes = 0
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="spool-writer", daemon=True)
        self._thread.start()

    def put(self, tick: TickRecord) -> None:
        """Queue a record; called by the sampler, never waits. An error of a sink is raised here, at the next record."""
        if self._error is not None:
            raise self._error
        if self._put_bytes - self._taken_bytes < self._max_bytes:
            self._put_bytes += len(tick.record)
            self._queue.put(tick)
        waiting = self._queue.qsize()
        if waiting >= HANGS_AFTER_RECORDS and not self._metrics.spool_hangs:
            self._metrics.spool_hangs = True
            _log.error("spool_disk_hangs", records_waiting=waiting)
            self._announce("spool_degraded", "the disk hangs; records wait in memory")
        elif waiting <= 1 and self._metrics.spool_hangs:
            self._metrics.spool_hangs = False
            _log.warning("spool_disk_recovered")
            self._announce("spool_recovered", "the disk works again")

    def stop(self, wait_seconds: float) -> bool:
        """Pass on the waiting records and end. Return False if that does not finish in time."""
        self._queue.put(None)
        self._thread.join(wait_seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (tick := self._queue.get()) is not None:
            try:
                for sink in self._sinks:
                    sink(tick)
            except BaseException as error:
                self._error = error
                raise
            self._taken_bytes += len(tick.record)
