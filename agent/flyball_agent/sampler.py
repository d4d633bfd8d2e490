"""Builds a record near each multiple of the interval, in its own thread."""

import os
import threading
from collections.abc import Callable, Sequence

import structlog

from flyball_agent.clock import HostClock
from flyball_agent.record import Epoch, Extras, RecordMaker, TickRecord
from flyball_agent.runner import Runner
from flyball_agent.schedule import NANOSECONDS, due_ns
from flyball_agent.self_metrics import SelfMetrics

_log = structlog.get_logger(__name__)

SAMPLER_NICE = -10

Sink = Callable[[TickRecord], None]


class Sampler:
    """Reads the probes at each tick, builds the record and passes it to the sinks in order (spool, then uplink)."""

    def __init__(
        self,
        *,
        epoch: Epoch,
        runner: Runner,
        extras: Callable[[int], Extras],
        sinks: Sequence[Sink],
        clock: HostClock,
        self_metrics: SelfMetrics,
    ) -> None:
        self.epoch = epoch
        self.runner = runner
        self.heartbeat_boot_ns = clock.boot_ns()
        self.sequence = 0
        self.maker = RecordMaker()
        self._extras = extras
        self._sinks = tuple(sinks)
        self._clock = clock
        self._metrics = self_metrics
        self._interval_ns = epoch.interval_ms * 1_000_000
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self_metrics.slots = runner.slots

    def start(self) -> None:
        """Start sampling."""
        self._thread = threading.Thread(target=self.run, name="sampler", daemon=True)
        self._thread.start()

    def stop(self, wait_seconds: float) -> bool:
        """Ask the thread to end. Return False if it did not end in time."""
        self._stop.set()
        self.runner.stop()
        if self._thread is not None:
            self._thread.join(wait_seconds)
        return self._thread is None or not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        """True while the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def run(self) -> None:
        """Sample until `stop` is called."""
        _raise_priority()
        last_ns = self._clock.boot_ns() - self._interval_ns
        while self._await_due(last_ns):
            now_ns = self._clock.boot_ns()
            self._update_metrics(now_ns - last_ns)
            last_ns = now_ns
            self.tick()

    def tick(self) -> TickRecord:
        """Build one record now."""
        wall_ns, boot_ns = self._clock.wall_ns(), self._clock.boot_ns()
        slots = self.runner.run(boot_ns)
        tick = self.maker.make(self.sequence, wall_ns, boot_ns, slots, self._extras(wall_ns))
        self.sequence += 1
        for sink in self._sinks:
            sink(tick)
        self.heartbeat_boot_ns = self._clock.boot_ns()
        return tick

    def _await_due(self, last_ns: int) -> bool:
        """Wait for the next tick, never longer than one interval at a time. Return False if sampling must stop."""
        while True:
            due = due_ns(self._clock.wall_ns(), self._clock.boot_ns() - last_ns, self._interval_ns)
            if self._stop.wait(min(due, self._interval_ns) / NANOSECONDS):
                return False
            if due <= self._interval_ns:
                return True

    def _update_metrics(self, gap_ns: int) -> None:
        past = self._clock.wall_ns() % self._interval_ns
        if past < self._interval_ns // 2:
            self._metrics.tick_lateness_seconds = past / NANOSECONDS
        self._metrics.ticks_missed += max(0, round(gap_ns / self._interval_ns) - 1)


def _raise_priority() -> None:
    """Raise the priority of this thread if the kernel permits it (root, CAP_SYS_NICE).

    It needs a millisecond a second, but it needs it at once.
    """
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), SAMPLER_NICE)
    except OSError:
        return
