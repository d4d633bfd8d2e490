"""The schedule of the jobs."""

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.jobs.jobs import Jobs
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.settings import CollectorSettings
from flyball_collector.store.contract import Store

_TIDY_EVERY_SECONDS = 600.0
_FORGET_EVERY_SECONDS = 600.0
_FIRST_AFTER_SECONDS = 60.0  # agents that waited for the collector are served first


def start_jobs(
    stack: AsyncExitStack,
    store: Store,
    settings: CollectorSettings,
    fleet: Fleet,
    metrics: OwnMetrics,
    now_ns: Callable[[], int],
    *,
    first_after_seconds: float = _FIRST_AFTER_SECONDS,
) -> Jobs:
    """Run jobs on this event loop until the stack is closed. A job that missed several times runs once."""
    logging.getLogger("apscheduler").setLevel(logging.WARNING)  # it logs every run
    jobs = Jobs(store, settings, fleet, metrics, now_ns)
    scheduler = AsyncIOScheduler(
        timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
    )
    first = datetime.now(UTC) + timedelta(seconds=first_after_seconds)
    for job, every_seconds in (
        (jobs.tidy_store, _TIDY_EVERY_SECONDS),
        (jobs.forget_hosts, _FORGET_EVERY_SECONDS),
        (jobs.forget_events, _FORGET_EVERY_SECONDS),
    ):
        scheduler.add_job(job, "interval", seconds=every_seconds, next_run_time=first, id=job.__name__)
    scheduler.start()
    stack.callback(scheduler.shutdown, wait=False)
    return jobs
