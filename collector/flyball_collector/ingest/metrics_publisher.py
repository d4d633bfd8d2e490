"""Adds the counts of ingest to the collector's own metrics, once a second."""

from copy import deepcopy
from typing import TYPE_CHECKING

from flyball_collector.ingest.counts import Counts
from flyball_collector.own_metrics import OwnMetrics

if TYPE_CHECKING:
    from prometheus_client import Counter


class MetricsPublisher:
    """Adds the difference since the last call to each metric."""

    def __init__(self, counts: Counts, metrics: OwnMetrics) -> None:
        self._counts = counts
        self._metrics = metrics
        self._then = Counts()
        self._plain: dict[str, Counter] = {
            "messages": metrics.messages,
            "message_bytes": metrics.received_bytes,
            "records": metrics.records,
            "replayed_records": metrics.replayed_records,
            "duplicate_records": metrics.duplicates,
            "lost_records": metrics.lost,
            "throttled_records": metrics.throttled,
            "blocks_stored": metrics.written_blocks,
            "blocks_bytes": metrics.written_bytes,
            "blocks_dropped": metrics.dropped_blocks,
            "rewinds": metrics.rewinds,
            "superseded": metrics.superseded_streams,
            "duplicate_hosts": metrics.duplicate_hosts,
            "blocks_failed": metrics.failed_blocks,
            "builder_failures": metrics.builder_failures,
            "refused_definitions": metrics.refused_definitions,
        }
        self._labelled: dict[str, Counter] = {
            "refused_records": metrics.refused,
            "rejected_streams": metrics.rejected_streams,
            "definitions": metrics.definitions,
        }

    def publish(self) -> None:
        """Update the exported metrics."""
        now, then = self._counts, self._then
        for name, counter in self._plain.items():
            if increase := getattr(now, name) - getattr(then, name):
                counter.inc(increase)
        for name, counter in self._labelled.items():
            for label, count in (getattr(now, name) - getattr(then, name)).items():
                counter.labels(label).inc(count)
        if increase := now.store_failures - then.store_failures:
            self._metrics.store_errors.labels("write").inc(increase)
        for lag in now.lags_seconds:
            self._metrics.lag.observe(max(0.0, lag))
        now.lags_seconds.clear()
        for seconds in now.write_seconds:
            self._metrics.store_seconds.labels("write").observe(seconds)
        now.write_seconds.clear()
        self._then = deepcopy(now)
