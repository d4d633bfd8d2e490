"""Reads the memory use of the last day from the store, so that forecasts continue after a restart."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.memory_use import RESOURCES
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.store.contract import Store

Floats = NDArray[np.float64]

DAY_NS = 86_400 * 10**9
USED, TOTAL = "gpu_memory_used_bytes", "gpu_memory_total_bytes"
_NAMES = {metric: resource for resource, metric in RESOURCES.items()}


class MemoryHistory(NamedTuple):
    """The used shares of one memory, one point a minute."""

    subject: Subject
    times: Floats  # seconds
    low: Floats
    high: Floats


def read_memory_history(store: Store, host: str, now_ns: int) -> Iterator[MemoryHistory]:
    """Read the minute series of one host's memories. This blocks, so call it in a thread."""
    totals: dict[str, float] = {}
    series = store.read_minutes(host, (*_NAMES, USED, TOTAL), now_ns - DAY_NS, now_ns)
    for one in series:
        if one.column.metric.name == TOTAL and len(one.maximum):
            totals[dict(one.column.label_pairs())["gpu"]] = float(one.maximum[-1])
    for one in series:
        name, times = one.column.metric.name, one.times_ns / 1e9
        if name in _NAMES:
            yield MemoryHistory(Subject(host, resource=_NAMES[name]), times, one.minimum, one.maximum)
        elif name == USED:
            gpu = dict(one.column.label_pairs())["gpu"]
            if totals.get(gpu):
                yield MemoryHistory(Subject(host, gpu), times, one.minimum / totals[gpu], one.maximum / totals[gpu])
