"""What the fleet does each second of itself: a line of the window, and what its own metrics say of it."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_proto.silence import Reason

_SECOND = 10**9
_COUNT_ABSENCES_EVERY = 10  # beats: each host's silences are walked through


class FleetPulse:
    """Beats once a second on the wall clock, so that lines of the window are whole seconds."""

    def __init__(
        self,
        fleet: Fleet,
        metrics: OwnMetrics,
        *,
        vanish_after_seconds: float = 15.0,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._fleet = fleet
        self._metrics = metrics
        self._vanish_after_ns = int(vanish_after_seconds * _SECOND)
        self._clock = clock
        self._beats = 0

    async def run(self) -> None:
        """Never returns. It never waits longer than a second, whatever the clock does."""
        while True:
            await asyncio.sleep(1 - self._clock() % _SECOND / _SECOND)
            self.beat(self._clock())

    def beat(self, now_ns: int) -> None:
        """One second's work."""
        started = time.perf_counter()
        self._fleet.advance(now_ns)
        self._metrics.window_seconds.observe(time.perf_counter() - started)
        self._metrics.window_rows.set(self._fleet.window.rows)
        self._metrics.window_bytes.set(self._fleet.window.bytes)
        hosts = self._fleet.hosts()
        self._metrics.hosts.set(len(hosts))
        self._metrics.hosts_up.set(sum(now_ns - host.received_ns <= self._vanish_after_ns for host in hosts))
        if self._beats % _COUNT_ABSENCES_EVERY == 0:
            reasons = Counter(silence.reason for host in hosts for silence in host.silences)
            for reason in Reason:
                self._metrics.absences.labels(reason.word).set(reasons[reason])
        self._beats += 1
