"""Makes a record near each multiple of the interval, in a thread of its own, whatever else goes on."""

import os
import threading
from collections.abc import Callable, Sequence

import structlog

from flyball_agent.clock import Clock
from flyball_agent.record import Epoch, Extras, RecordMaker, Tick
from flyball_agent.runner import Runner
from flyball_agent.schedule import NANOSECONDS, due_ns
from flyball_agent.self_metrics import SelfMetrics

_log = structlog.get_logger(__name__)

SAMPLER_NICE = -10

Sink = Callable[[Tick], None]


class Sampler:
    """Wakes, asks the runner, makes the record, hands it to the sinks in order (spool first, then uplink)."""

    def __init__(
        self,
        *,
        epoch: Epoch,
        runner: Runner,
        extras: Callable[[int], Extras],
        sinks: Sequence[Sink],
        clock: Clock,
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
        self._self_metrics = self_metrics
        self._interval_ns = epoch.interval_ms * 1_000_000
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self_metrics.slots = runner.slots

    def start(self) -> None:
        """Begin to sample."""
        self._thread = threading.Thread(target=self.run, name="sampler", daemon=True)
        self._thread.start()

    def stop(self, wait_seconds: float) -> bool:
        """Ask the thread to end; False when it did not within the time."""
        self._stop.set()
        self.runner.stop()
        if self._thread is not None:
            self._thread.join(wait_seconds)
        return self._thread is None or not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def run(self) -> None:
        """Tick until told to stop."""
        _come_first()
        last_ns = self._clock.boot_ns() - self._interval_ns
        while self._await_due(last_ns):
            now_ns = self._clock.boot_ns()
            self._account(now_ns - last_ns)
            last_ns = now_ns
            self.tick()

    def tick(self) -> Tick:
        """Make one record now."""
        wall_ns, boot_ns = self._clock.wall_ns(), self._clock.boot_ns()
        slots = self.runner.run(boot_ns)
        tick = self.maker.make(self.sequence, wall_ns, boot_ns, slots, self._extras(wall_ns))
        self.sequence += 1
        for sink in self._sinks:
            sink(tick)
        self.heartbeat_boot_ns = self._clock.boot_ns()
        return tick

    def _await_due(self, last_ns: int) -> bool:
        """Wait for the next tick; no single wait is longer than one interval. False: told to stop."""
        while True:
            due = due_ns(self._clock.wall_ns(), self._clock.boot_ns() - last_ns, self._interval_ns)
            if self._stop.wait(min(due, self._interval_ns) / NANOSECONDS):
                return False
            if due <= self._interval_ns:
                return True

    def _account(self, gap_ns: int) -> None:
        past = self._clock.wall_ns() % self._interval_ns
        if past < self._interval_ns // 2:
            self._self_metrics.tick_lateness_seconds = past / NANOSECONDS
        self._self_metrics.ticks_missed += max(0, round(gap_ns / self._interval_ns) - 1)


def _come_first() -> None:
    """A thread that needs a millisecond a second may have it at once, where the kernel lets us (root, CAP_SYS_NICE)."""
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), SAMPLER_NICE)
    except OSError:
        return
