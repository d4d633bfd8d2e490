"""The event loop's pulse: how late it wakes is measured, and only while it wakes does systemd hear that we live."""

import asyncio
from collections.abc import Callable

from flyball_collector.own_metrics import OwnMetrics
from flyball_daemon.systemd_notifier import SystemdNotifier

_BEAT_SECONDS = 0.25
_STATUS_SECONDS = 10.0


class Heartbeat:
    """Beats four times a second, for as long as it is let."""

    def __init__(self, notifier: SystemdNotifier, metrics: OwnMetrics, status: Callable[[], str]) -> None:
        self._notifier = notifier
        self._metrics = metrics
        self._status = status
        self._fed = self._told = float("-inf")

    async def run(self) -> None:
        """Never returns."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _BEAT_SECONDS
            await asyncio.sleep(_BEAT_SECONDS)
            now = loop.time()
            self._metrics.event_loop_lag.observe(max(0.0, now - due))
            self.beat(now)

    def beat(self, now: float) -> None:
        """Feed the watchdog thrice in its interval, and tell the status now and then."""
        interval = self._notifier.watchdog_seconds
        if interval is not None and now - self._fed >= interval / 3:
            self._notifier.watchdog()
            self._fed = now
        if now - self._told >= _STATUS_SECONDS:
            self._notifier.status(self._status())
            self._told = now
