"""MongoDB for a hierarchical learner: its disk, its cache, its memory and the writes it must take."""

import numpy as np
from msgspec import Struct

from flyball_planner.interval import Interval
from flyball_planner.recommend.demand import Demand
from flyball_planner.storage.estimator import LevelEstimate, StorageEstimate
from flyball_reports.figures import percent

HOT_SHARE = 0.9
"""Of all accesses that the cache should answer."""

CACHE_USED = 0.8
"""WiredTiger evicts from 80 % of its cache on (MongoDB: eviction_target)."""

OTHER_BYTES = 1e9
"""WiredTiger's cache is half of the memory above 1 GB, by default (mongodb.com, WiredTiger storage engine)."""

OPLOG_SHARE = 0.05
"""Of the disk, for the log of operations (mongodb.com, replica set oplog)."""

CORE_WRITES = 4
"""Cores of the database's host, at least: MongoDB's guide for production asks for two and more; its threads for
eviction, checkpoints and clients are more than that."""


class Database(Struct, frozen=True):
    """What MongoDB needs."""

    disk_bytes: Interval
    cache_bytes: Interval  # what 90 % of all accesses touch
    ram_bytes: Interval
    cores: int
    writes_per_second: Interval
    shards: int | None  # None: not known, since nobody measured how fast one is
    because: tuple[str, ...]


def size_database(estimate: StorageEstimate, demand: Demand, seconds: Interval) -> Database:
    """For the patterns of all levels, written within so many seconds."""
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
            f"{percent(hot)} of what is stored answer {percent(HOT_SHARE)} of all accesses, by Zipf's law",
            f"{writes.middle:,.0f} patterns a second are looked up and written",
            _said(measured, shards),
        ),
    )


def hot_share(level: LevelEstimate) -> float:
    """The share of a level's patterns that most accesses fall on."""
    ranks, frequencies = level.distribution(points=2_000)
    widths = np.diff(np.append(ranks, ranks[-1] + 1))
    accesses = np.cumsum(frequencies * widths)
    return float(ranks[np.searchsorted(accesses, HOT_SHARE * accesses[-1])] / ranks[-1])


def _said(measured: float | None, shards: int | None) -> str:
    if measured is None:
        return "whether one server takes them is not known: measure how many it writes, for example with flyball sweep"
    return f"a server that writes {measured:,.0f} a second was measured: {shards} of them"
