"""The fleet's work of each second: a row of the window, its own metrics, and the diagnosis."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_proto.unavailable_reading import Reason

_SECOND = 10**9

CATCH_UP_INTERVAL_SECONDS = 5
"""Seconds between two full diagnoses while the collector catches up, which needs the time more. Urgent checks still run
each second."""

_COUNT_UNAVAILABLE_EVERY = 10  # seconds: the count visits each host's unavailable readings


def _no_diagnosis(_now_ns: int, _urgent_only: bool) -> Iterator[None]:
    return iter(())


class FleetLoop:
    """Runs once a second on the wall clock, so that the rows of the window are whole seconds."""

    def __init__(
        self,
        fleet: Fleet,
        metrics: OwnMetrics,
        *,
        diagnose: Callable[[int, bool], Iterator[None]] = _no_diagnosis,
        catching_up: Callable[[], bool] = bool,
        vanish_after_seconds: float = 15.0,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """`diagnose` evaluates the second that was just written, in slices between which the event loop runs other
        tasks. With True as its second argument it makes only the urgent checks.

        `catching_up` returns True while the collector still has much to receive that it missed.
        """
        self._fleet = fleet
        self._metrics = metrics
        self._vanish_after_ns = int(vanish_after_seconds * _SECOND)
        self._diagnose = diagnose
        self._catching_up = catching_up
        self._diagnosed_ns = 0
        self._clock = clock
        self._seconds = 0

    async def run(self) -> None:
        """Run until cancelled. It never waits longer than a second, whatever the clock does."""
        while True:
            await asyncio.sleep(1 - self._clock() % _SECOND / _SECOND)
            now_ns = self._clock()
            self.write_row(now_ns)
            await self.diagnose(now_ns)

    async def diagnose(self, now_ns: int) -> None:
        """Diagnose this second. Its cost is the sum of its slices."""
        urgent_only = self._catching_up() and 0 <= now_ns - self._diagnosed_ns < CATCH_UP_INTERVAL_SECONDS * _SECOND
        if not urgent_only:
            self._diagnosed_ns = now_ns // _SECOND * _SECOND
        spent, started = 0.0, time.thread_time()
        for _ in self._diagnose(now_ns, urgent_only):
            spent += time.thread_time() - started
            await asyncio.sleep(0)
            started = time.thread_time()
        self._metrics.diagnosis_seconds.observe(spent + time.thread_time() - started)

    def write_row(self, now_ns: int) -> None:
        """Write this second's row of the window, and update the metrics."""
        started = time.perf_counter()
        self._fleet.advance(now_ns)
        self._metrics.window_seconds.observe(time.perf_counter() - started)
        self._metrics.window_rows.set(self._fleet.window.rows)
        self._metrics.window_bytes.set(self._fleet.window.bytes)
        hosts = self._fleet.hosts()
        self._metrics.hosts.set(len(hosts))
        self._metrics.hosts_up.set(sum(now_ns - host.received_ns <= self._vanish_after_ns for host in hosts))
        if self._seconds % _COUNT_UNAVAILABLE_EVERY == 0:
            reasons = Counter(reading.reason for host in hosts for reading in host.unavailable)
            for reason in Reason:
                self._metrics.absences.labels(reason.word).set(reasons[reason])
        self._seconds += 1
