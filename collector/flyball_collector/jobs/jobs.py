"""The jobs. Each may run at any time, and reports its outcome as a metric."""

import asyncio
from collections.abc import Callable

import structlog

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.settings import CollectorSettings, StoreSettings
from flyball_collector.store.contract import Store, StoreError
from flyball_collector.timeline.timeline import forget_before

_log = structlog.get_logger(__name__)

_SECOND_NS = 1_000_000_000
_HOUR_NS = 3600 * _SECOND_NS
_GRACE_NS = 300 * _SECOND_NS  # by then the hour's blocks are written; later ones are rolled up again


class Jobs:
    """The jobs with the objects that they need."""

    def __init__(
        self, store: Store, settings: CollectorSettings, fleet: Fleet, metrics: OwnMetrics, now_ns: Callable[[], int]
    ) -> None:
        self._store = store
        self._settings = settings
        self._fleet = fleet
        self._metrics = metrics
        self._now_ns = now_ns
        self._failing = False

    async def tidy_store(self) -> None:
        """Roll whole hours up into minute series, then delete what is too old or too much.

        The order matters: no second may be deleted before its minute is stored.
        """
        try:
            dropped, size = await asyncio.to_thread(tidy, self._store, self._settings.store, self._now_ns())
        except StoreError as error:
            self._count("tidy_store", "failed")
            if not self._failing:
                _log.error("store_tidy_failed", reason=str(error))
            self._failing = True
            return
        if self._failing:
            _log.info("store_tidy_recovered")
        self._failing = False
        self._metrics.expired_blocks.inc(dropped)
        self._metrics.store_bytes.set(size)
        self._count("tidy_store", "done")

    async def forget_hosts(self) -> None:
        """Remove hosts without recent records from the fleet. Their stored data expire later."""
        before_ns = self._now_ns() - int(self._settings.forget_host_hours * _HOUR_NS)
        for name in self._fleet.forget_before(before_ns):
            _log.info("host_removed", host=name, hours=self._settings.forget_host_hours)
        self._count("forget_hosts", "done")

    async def forget_events(self) -> None:
        """Delete old entries of the timeline. While the store is down, only `tidy_store` logs it."""
        before_ns = self._now_ns() - int(self._settings.store.events_days * 24 * _HOUR_NS)
        try:
            await asyncio.to_thread(forget_before, self._store, before_ns)
        except StoreError:
            self._count("forget_events", "failed")
        else:
            self._count("forget_events", "done")

    def _count(self, job: str, outcome: str) -> None:
        self._metrics.job_runs.labels(job, outcome).inc()


def tidy(store: Store, settings: StoreSettings, now_ns: int) -> tuple[int, int]:
    """Roll up and expire. Return the number of deleted blocks, and the size of the store."""
    store.roll_up(now_ns - _GRACE_NS)
    dropped = store.expire(
        blocks_before_ns=now_ns - int(settings.seconds_hours * _HOUR_NS),
        minutes_before_ns=now_ns - int(settings.minutes_days * 24 * _HOUR_NS),
        max_bytes=settings.max_bytes or None,
    )
    return dropped, store.size_bytes()
