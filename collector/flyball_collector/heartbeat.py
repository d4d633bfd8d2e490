"""Measures how late the event loop wakes, and feeds systemd's watchdog only while it does."""

import asyncio
from collections.abc import Callable

from flyball_collector.own_metrics import OwnMetrics
from flyball_daemon.systemd_notifier import SystemdNotifier

_BEAT_SECONDS = 0.25
_STATUS_SECONDS = 10.0


class Heartbeat:
    """Beats four times a second while it runs."""

    def __init__(self, notifier: SystemdNotifier, metrics: OwnMetrics, status: Callable[[], str]) -> None:
        self._notifier = notifier
        self._metrics = metrics
        self._status = status
        self._fed_at = self._status_at = float("-inf")

    async def run(self) -> None:
        """Run until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _BEAT_SECONDS
            await asyncio.sleep(_BEAT_SECONDS)
            now = loop.time()
            self._metrics.event_loop_lag.observe(max(0.0, now - due))
            self.beat(now)

    def beat(self, now: float) -> None:
        """Feed the watchdog three times in its interval, and set the status every ten seconds."""
        interval = self._notifier.watchdog_seconds
        if interval is not None and now - self._fed_at >= interval / 3:
            self._notifier.watchdog()
            self._fed_at = now
        if now - self._status_at >= _STATUS_SECONDS:
            self._notifier.status(self._status())
            self._status_at = now
