"""The jobs themselves: each may be called at any time, and says by its outcome how it went."""

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
_GRACE_NS = 300 * _SECOND_NS  # by now the blocks of the hour are written; what comes later is rolled up again


class Jobs:
    """What is to be done, with what it needs."""

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
        """Roll whole hours up into minute series, then drop what is too old or too much.

        In this order, so that no second goes before its minute is kept.
        """
        try:
            dropped, size = await asyncio.to_thread(tidy, self._store, self._settings.store, self._now_ns())
        except StoreError as error:
            self._count("tidy_store", "failed")
            if not self._failing:
                _log.error("store_not_tidied", reason=str(error))
            self._failing = True
            return
        if self._failing:
            _log.info("store_tidied_again")
        self._failing = False
        self._metrics.expired_blocks.inc(dropped)
        self._metrics.store_bytes.set(size)
        self._count("tidy_store", "done")

    async def forget_hosts(self) -> None:
        """Hosts long unheard of leave the fleet; what the store has of them stays its time."""
        before_ns = self._now_ns() - int(self._settings.forget_host_hours * _HOUR_NS)
        for name in self._fleet.forget_before(before_ns):
            _log.info("host_forgotten", host=name, hours=self._settings.forget_host_hours)
        self._count("forget_hosts", "done")

    async def forget_events(self) -> None:
        """Entries of the timeline go after their time; while the store is down `tidy_store` is the one to say so."""
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
    """Roll up and expire; returns the blocks dropped, and what the store takes now."""
    store.roll_up(now_ns - _GRACE_NS)
    dropped = store.expire(
        blocks_before_ns=now_ns - int(settings.seconds_hours * _HOUR_NS),
        minutes_before_ns=now_ns - int(settings.minutes_days * 24 * _HOUR_NS),
        max_bytes=settings.max_bytes or None,
    )
    return dropped, store.size_bytes()
