"""What the fleet does each second of itself: a line of the window, and what its own metrics say of it."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_proto.unavailable_reading import Reason

_SECOND = 10**9

RESTS_SECONDS = 5
"""Between two whole looks of the diagnosis while the collector is behind: what they cost is better spent on catching
up. What is urgent is looked at each second."""

_COUNT_ABSENCES_EVERY = 10  # beats: each host's unavailable readings are walked through


def _nothing_to_do(_now_ns: int, _hurried: bool) -> Iterator[None]:
    return iter(())


class FleetPulse:
    """Beats once a second on the wall clock, so that lines of the window are whole seconds."""

    def __init__(
        self,
        fleet: Fleet,
        metrics: OwnMetrics,
        *,
        diagnose: Callable[[int, bool], Iterator[None]] = _nothing_to_do,
        behind: Callable[[], bool] = bool,
        vanish_after_seconds: float = 15.0,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """`diagnose` looks at the second that was just written, in slices between which the loop serves others;
        hurried, where it is told so: at what is urgent alone.

        `behind` says whether much that was missed is still to be taken.
        """
        self._fleet = fleet
        self._metrics = metrics
        self._vanish_after_ns = int(vanish_after_seconds * _SECOND)
        self._diagnose = diagnose
        self._behind = behind
        self._looked_ns = 0
        self._clock = clock
        self._beats = 0

    async def run(self) -> None:
        """Never returns. It never waits longer than a second, whatever the clock does."""
        while True:
            await asyncio.sleep(1 - self._clock() % _SECOND / _SECOND)
            now_ns = self._clock()
            self.beat(now_ns)
            await self.look(now_ns)

    async def look(self, now_ns: int) -> None:
        """The diagnosis of this second; what it costs is the sum of its slices."""
        hurried = self._behind() and 0 <= now_ns - self._looked_ns < RESTS_SECONDS * _SECOND
        if not hurried:
            self._looked_ns = now_ns // _SECOND * _SECOND
        spent, started = 0.0, time.thread_time()
        for _ in self._diagnose(now_ns, hurried):
            spent += time.thread_time() - started
            await asyncio.sleep(0)
            started = time.thread_time()
        self._metrics.diagnosis_seconds.observe(spent + time.thread_time() - started)

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
            reasons = Counter(unavailable_reading.reason for host in hosts for unavailable_reading in host.unavailable)
            for reason in Reason:
                self._metrics.absences.labels(reason.word).set(reasons[reason])
        self._beats += 1
