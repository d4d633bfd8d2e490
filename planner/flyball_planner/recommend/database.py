"""MongoDB for a hierarchical learner: disk, cache, memory and write rate."""

import numpy as np
from msgspec import Struct

from flyball_planner.interval import Interval
from flyball_planner.recommend.demand import Demand
from flyball_planner.storage.estimator import LevelEstimate, StorageEstimate
from flyball_reports.figures import percent, plural

HOT_SHARE = 0.9
"""The share of accesses that the cache should answer."""

CACHE_USED = 0.8
"""WiredTiger evicts from 80 % of its cache (MongoDB: eviction_target)."""

OTHER_BYTES = 1e9
"""By default, WiredTiger's cache is half of the memory above 1 GB (mongodb.com, WiredTiger storage engine)."""

OPLOG_SHARE = 0.05
"""The share of the disk for the oplog (mongodb.com, replica set oplog)."""

CORE_WRITES = 4
"""Minimum cores of the database host. MongoDB's production notes ask for at least two; its threads for eviction,
checkpoints and clients need more."""


class Database(Struct, frozen=True):
    """The requirements of MongoDB."""

    disk_bytes: Interval
    cache_bytes: Interval  # the data of 90 % of all accesses
    ram_bytes: Interval
    cores: int
    writes_per_second: Interval
    shards: int | None  # None: unknown without a measured write rate
    because: tuple[str, ...]


def size_database(estimate: StorageEstimate, demand: Demand, seconds: Interval) -> Database:
    """Return the requirements for the patterns of all levels, written within some seconds."""
    hot = sum(hot_share(each) * each.storage.middle for each in estimate.level_estimates) / estimate.storage.middle
    cache = estimate.storage.times(hot / CACHE_USED)
    observed = sum(each.observations for each in estimate.level_estimates)
    writes = Interval(observed / seconds.high, observed / seconds.middle, observed / seconds.low)
    measured = demand.database_writes_per_second
    shards = None if measured is None else max(1, int(-(-writes.middle // measured)))
    return Database(
        disk_bytes=estimate.storage.times(1 + OPLOG_SHARE),
        cache_bytes=cache,
        ram_bytes=Interval(*(2 * each + OTHER_BYTES for each in (cache.low, cache.middle, cache.high))),
        cores=CORE_WRITES,
        writes_per_second=writes,
        shards=shards,
        because=(
            f"by Zipf's law, {percent(hot)} of the stored data serves {percent(HOT_SHARE)} of all accesses",
            f"{writes.middle:,.0f} patterns per second are looked up and written (on average)",
            _shards_reason(measured, shards),
        ),
    )


def hot_share(level: LevelEstimate) -> float:
    """Return the share of a level's patterns that most accesses use."""
    ranks, frequencies = level.distribution(points=2_000)
    widths = np.diff(np.append(ranks, ranks[-1] + 1))
    accesses = np.cumsum(frequencies * widths)
    return float(ranks[np.searchsorted(accesses, HOT_SHARE * accesses[-1])] / ranks[-1])


def _shards_reason(measured: float | None, shards: int | None) -> str:
    if measured is None:
        return "it is unknown whether one server is enough: measure its write rate, for example with flyball sweep"
    needed = plural(shards or 1, "server")
    return f"one server writes {measured:,.0f} patterns per second (measured), so {needed} must share the load"
