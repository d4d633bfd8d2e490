"""The collector's own metrics `flyball_collector_…`, and those of its process.

The object is passed to the code that does the work, which counts with it, for example `metrics.records.inc(5)`.
"""

import sys
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

_LAG_SECONDS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_WORK_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class OwnMetrics:
    """The collector's own metrics, in a separate registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._ingest()
        self._blocks()
        self._store()
        self._fleet()
        self._diagnosis()
        self._exporter()
        self._timeline()
        self._captures()
        self._process()

    def _ingest(self) -> None:
        self.messages = self._counter("messages_total", "Messages received from agents.")
        self.received_bytes = self._counter("received_bytes_total", "Bytes of records received from agents.")
        self.records = self._counter("records_total", "Records accepted: live ones and those replayed from spools.")
        self.replayed_records = self._counter(
            "replayed_records_total", "Records accepted that agents replayed from their spools."
        )
        self.duplicates = self._counter("duplicate_records_total", "Records received more than once.")
        self.refused = self._counter("refused_records_total", "Records that were refused, by reason.", "reason")
        self.lost = self._counter("lost_records_total", "Records that agents reported as lost.")
        self.rejected_streams = self._counter(
            "rejected_streams_total", "Streams that ended with an error, by reason.", "reason"
        )
        self.superseded_streams = self._counter(
            "superseded_streams_total", "Streams replaced by a newer stream of the same host."
        )
        self.duplicate_hosts = self._counter("duplicate_hosts_total", "Times that two machines used one host name.")
        self.refused_definitions = self._counter(
            "refused_definitions_total", "Definitions refused because a host sent more than its limit."
        )
        self.throttled = self._counter(
            "throttled_records_total", "Live records refused because a host exceeded its rate limit."
        )
        self.definitions = self._counter("definitions_total", "Definitions accepted, by kind.", "kind")
        self.rewinds = self._counter("rewinds_total", "Times that an agent was asked to send records again.")
        self.replaying_hosts = self._gauge("replaying_hosts", "Hosts that may replay their spool now.")
        self.streams = self._gauge("streams", "Open streams of agents.")
        self.lag = Histogram(
            "flyball_collector_lag_seconds",
            "Time from the sample on the host until the collector has it, with corrected clocks.",
            registry=self.registry,
            buckets=_LAG_SECONDS,
        )

    def _blocks(self) -> None:
        self.open_blocks = self._gauge("open_blocks", "Blocks that still receive records.")
        self.open_blocks_bytes = self._gauge("open_blocks_bytes", "Memory used by records that are not stored yet.")
        self.dropped_blocks = self._counter("dropped_blocks_total", "Open blocks dropped to free memory.")
        self.builder_failures = self._counter(
            "builder_failures_total", "Times that the worker process that builds blocks ended unexpectedly."
        )
        self.failed_blocks = self._counter("failed_blocks_total", "Blocks that the store refused.")
        self.written_blocks = self._counter("written_blocks_total", "Blocks written to the store.")
        self.written_bytes = self._counter("written_bytes_total", "Bytes of blocks written to the store.")

    def _store(self) -> None:
        self.store_up = self._gauge("store_up", "1 if the last write to the store succeeded.")
        self.store_seconds = Histogram(
            "flyball_collector_store_call_seconds",
            "Duration of calls to the store, by kind of call.",
            ("call",),
            registry=self.registry,
            buckets=_WORK_SECONDS,
        )
        self.store_errors = self._counter(
            "store_errors_total", "Calls to the store that failed, by kind of call.", "call"
        )
        for call in ("write", "timeline"):
            self.store_errors.labels(call)  # 0 from the start, so that the first failure is an increase
        self.store_bytes = self._gauge("store_bytes", "Size of the store on disk.")
        self.expired_blocks = self._counter("expired_blocks_total", "Blocks deleted because of age or size.")

    def _fleet(self) -> None:
        self.hosts = self._gauge("hosts", "Known hosts.")
        self.hosts_up = self._gauge("hosts_up", "Hosts that report.")
        self.absences = self._gauge("absences", "Unavailable readings of all hosts, by reason.", "reason")
        self.warming = self._gauge(
            "warming", "1 after a start, while the last minutes of readings are loaded from the store."
        )
        self.window_rows = self._gauge("window_rows", "Series whose last five minutes are in memory.")
        self.window_bytes = self._gauge("window_bytes", "Memory used by the last five minutes of readings.")
        self.window_seconds = self._histogram(
            "window_pass_seconds", "Time to add one second to the last five minutes in memory."
        )

    def _diagnosis(self) -> None:
        self.diagnosis_seconds = self._histogram(
            "diagnosis_seconds", "CPU time of one pass of the diagnosis. There is one pass each second."
        )
        self.detector_failures = self._counter(
            "detector_failures_total", "Failures of detectors, by detector.", "detector"
        )
        self.events = self._counter(
            "events_total", "Events of the diagnosis and notes about hosts, by kind and state.", "kind", "state"
        )

    def _exporter(self) -> None:
        self.scrapes = self._counter(
            "scrapes_total", "Responses to /metrics, by kind: the whole fleet, one host, or the collector.", "kind"
        )
        self.renderer_failures = self._counter(
            "renderer_failures_total", "Times that the worker process that renders /metrics ended unexpectedly."
        )
        self.scrape_seconds = self._histogram("scrape_render_seconds", "Time to render /metrics.")
        self.scrape_series = self._gauge("scrape_series", "Series of the fleet in the newest rendering.")
        self.scrape_bytes = self._gauge(
            "scrape_bytes", "Size of the newest rendering as sent, after compression if there was any."
        )
        self.conflicting_series = self._gauge(
            "conflicting_series", "Series left out because hosts declare a metric differently or send a series twice."
        )

    def _timeline(self) -> None:
        self.journal_waiting = self._gauge("events_waiting", "Events and notes that are not stored yet.")
        self.journal_dropped = self._counter(
            "events_dropped_total",
            "Events and notes lost because too many waited or the store refused them.",
        )
        self.notifications = self._counter(
            "notifications_total", "Notifications, by receiver and outcome.", "receiver", "outcome"
        )
        self.notifications_waiting = self._gauge(
            "notifications_waiting", "Events that a receiver has not accepted yet, by receiver.", "receiver"
        )

    def _captures(self) -> None:
        self.captures = self._counter(
            "captures_total", "Captures of ranks that ended, by kind and outcome.", "what", "outcome"
        )
        self.captures_bytes = self._gauge("captures_bytes", "Size of all captures in the store.")
        self.captures_refused = self._counter(
            "captures_refused_total", "Messages of agents about captures that the collector did not order."
        )

    def _process(self) -> None:
        self.http_requests = self._counter("http_requests_total", "HTTP requests, by status code.", "code")
        self.http_closed = self._counter(
            "http_closed_connections_total", "HTTP connections refused or ended by a limit, by reason.", "reason"
        )
        self.event_loop_lag = self._histogram(
            "event_loop_lag_seconds", "Delay between the due and the actual wake-up of the event loop."
        )
        self.job_runs = self._counter(
            "job_runs_total", "Runs of periodic jobs, by job and outcome.", "job_name", "outcome"
        )
        self.certificate_ends = self._gauge(
            "certificate_end_timestamp_seconds", "Time at which a certificate expires, in Unix time.", "key"
        )
        self.started = self._gauge("start_time_seconds", "Start time of the collector, in Unix time.")
        build = self._gauge(
            "build_info", "Always 1. Its labels are the versions of Flyball and Python.", "version", "python"
        )
        build.labels(_version(), ".".join(map(str, sys.version_info[:3]))).set(1)
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"flyball_collector_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"flyball_collector_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(f"flyball_collector_{name}", text, registry=self.registry, buckets=_WORK_SECONDS)


def _version() -> str:
    try:
        return version("flyball-fleet")
    except PackageNotFoundError:
        return "unknown"
