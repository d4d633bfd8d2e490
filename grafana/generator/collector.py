"""The collector dashboard: ingest, store, diagnosis and notifications of the collector, and their cost."""

from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import style
from grafana.generator.board import Section, build, instances, instants, job, link
from grafana.generator.panels import bars, graph, listing, number
from grafana.generator.queries import host, increase, now, over, rate, rows

ALL = host()
QUANTILES = (0.5, 0.9, 0.99)


def collectors() -> Dashboard:
    """Build the dashboard to consult if the others are empty."""
    sections = [
        Section("Now", now_panels()),
        Section("Ingest", ingest_panels()),
        Section("Store", store_panels()),
        Section("Diagnosis and notifications", diagnosis_panels()),
        Section("Scrapes and requests", serving_panels()),
        Section("Process", process_panels()),
    ]
    return build(
        "collector",
        "Collector",
        "What the collector does, and what it costs: ingest, store, diagnosis and notifications.",
        sections,
        choices=[
            job("flyball_collector_build_info"),
            instances("flyball_collector_build_info", "The collectors, by scraped address."),
        ],
        annotations=[
            instants(
                "purple", "Started", f"flyball_collector_start_time_seconds{ALL} * 1000", "Started", "{{instance}}"
            )
        ],
        links=[link("Fleet", "fleet")],
    )


def now_panels() -> list[Panel]:
    """Return the panels with large digits."""
    return [
        number("Hosts", "Hosts whose records arrive, and all known hosts.", "none",
               now(f"flyball_collector_hosts_up{ALL}", "reporting"), now(f"flyball_collector_hosts{ALL}", "known")),
        number("Records", "Records accepted each second.", "ops",
               over(f"sum({rate('flyball_collector_records_total', ALL)})", "records"), trend=True),
        number("Lag (p99)", "Time from the sample on the host until the collector has it, with corrected clocks.", "s",
               over(_quantile(0.99, "lag_seconds"), "p99"), trend=True,
               steps=((None, style.GOOD), (2.5, style.WARNING), (10, style.CRITICAL))),
        number("Store", "Result of the last write to the store.", "none",
               now(f"flyball_collector_store_up{ALL}", "store"), mappings=style.WORKS,
               steps=((None, style.CRITICAL), (1, style.GOOD))),
        number("Refused or lost", "Records in the time range that were refused, or that agents reported as lost.",
               "none", now(f"sum({increase('flyball_collector_refused_records_total', ALL, '$__range')})", "refused"),
               now(f"sum({increase('flyball_collector_lost_records_total', ALL, '$__range')})", "lost"),
               steps=style.ANY_IS_WARNING, decimals=0),
        number("Waiting notifications", "Events that a receiver has not accepted yet.", "none",
               now(f"sum(flyball_collector_notifications_waiting{ALL})", "waiting"), steps=style.ANY_IS_WARNING),
        number("CPU", "CPUs that the collector uses.", "none",
               over(f"sum({rate('process_cpu_seconds_total', ALL)})", "CPUs"), trend=True, decimals=2),
        listing("Version", "Versions of the collector and of Python.",
                {"instance": "Address", "version": "Version", "python": "Python"},
                rows(f"flyball_collector_build_info{ALL}"), span=3, height=4),
    ]  # fmt: skip


def ingest_panels() -> list[Panel]:
    """Return incoming data."""
    return [
        graph("Records", "Records accepted, the part of them that agents replayed from spools, and duplicates.",
              "ops",
              over(f"sum({rate('flyball_collector_records_total', ALL)})", "accepted"),
              over(f"sum({rate('flyball_collector_replayed_records_total', ALL)})", "replayed"),
              over(f"sum({rate('flyball_collector_duplicate_records_total', ALL)})", "duplicates")),
        graph("Bytes received", "Size of records after decompression.", "Bps",
              over(f"sum({rate('flyball_collector_received_bytes_total', ALL)})", "records")),
        graph("Lag", "Time from the sample on the host until the collector has it.", "s",
              *(over(_quantile(share, "lag_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Refused or lost, by reason", "Records that were refused or reported as lost. The reason shows whether "
              "the agent, the clock or the collector is the cause.", "ops",
              over(f"sum by (reason) ({rate('flyball_collector_refused_records_total', ALL)})",
                   "{{reason}}"),
              over(f"sum({rate('flyball_collector_throttled_records_total', ALL)})", "over the rate limit"),
              over(f"sum({rate('flyball_collector_lost_records_total', ALL)})", "reported as lost")),
        graph("Streams", "Open streams of agents, and hosts that replay their spool.", "none",
              over(f"flyball_collector_streams{ALL}", "open"),
              over(f"flyball_collector_replaying_hosts{ALL}", "replaying")),
        graph("Streams that were ended", "Streams that were superseded by a newer one, were rejected, or came from "
              "two machines with one name.", "ops",
              over(f"sum({rate('flyball_collector_superseded_streams_total', ALL)})", "superseded"),
              over(f"sum({rate('flyball_collector_duplicate_hosts_total', ALL)})", "two machines"),
              over(f"sum by (reason) ({rate('flyball_collector_rejected_streams_total', ALL)})",
                   "{{reason}}")),
    ]  # fmt: skip


def store_panels() -> list[Panel]:
    """Return what is stored, and the cost."""
    return [
        graph("Written", "Bytes of blocks written to the store.", "Bps",
              over(f"sum({rate('flyball_collector_written_bytes_total', ALL)})", "written")),
        graph("Calls to the store (p99)", "Duration by kind of call.", "s",
              over(_quantile(0.99, "store_call_seconds", "call"), "{{call}}")),
        graph("Failures", "Calls that failed, blocks that the store refused, and open blocks dropped to free memory "
              "(their records are requested again).", "ops",
              over(f"sum by (call) ({rate('flyball_collector_store_errors_total', ALL)})", "{{call}}"),
              over(f"sum({rate('flyball_collector_failed_blocks_total', ALL)})", "blocks failed"),
              over(f"sum({rate('flyball_collector_dropped_blocks_total', ALL)})", "blocks dropped")),
        graph("Size of the store", "Size on disk.", "bytes",
              over(f"flyball_collector_store_bytes{ALL}", "store")),
        graph("Not yet stored", "Memory used by records that are not stored yet.", "bytes",
              over(f"flyball_collector_open_blocks_bytes{ALL}", "open blocks")),
        graph("Jobs", "Runs of periodic jobs, by outcome.", "ops",
              over(f"sum by (job_name, outcome) ({rate('flyball_collector_job_runs_total', ALL)})",
                   "{{job_name}} {{outcome}}")),
    ]  # fmt: skip


def diagnosis_panels() -> list[Panel]:
    """Return the diagnosis and its notifications."""
    return [
        graph("Time of the diagnosis", "CPU time of one pass over the whole fleet. There is one pass each second.", "s",
              *(over(_quantile(share, "diagnosis_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Events", "Conditions raised, changed and cleared.", "ops",
              over(f"sum by (state) ({rate('flyball_collector_events_total', ALL)})", "{{state}}"),
              stack=StackingMode.NORMAL),
        bars("Events by kind", "Conditions raised over the time range.", "none",
             now(f"sum by (kind) ({increase('flyball_collector_events_total', host(state='raised'), '$__range')})",
                 "{{kind}}"),
             decimals=0),
        graph("Notifications", "Notifications to receivers, by outcome.", "ops",
              over(f"sum by (receiver, outcome) ({rate('flyball_collector_notifications_total', ALL)})",
                   "{{receiver}} {{outcome}}"), span=12),
        graph("Waiting", "Events that a receiver has not accepted yet. They are kept until it does.", "none",
              over(f"flyball_collector_notifications_waiting{ALL}", "{{receiver}}"), span=12),
    ]  # fmt: skip


def serving_panels() -> list[Panel]:
    """Return scrapes and requests."""
    return [
        graph("Time of a scrape", "Time to render the whole fleet.", "s",
              *(over(_quantile(share, "scrape_render_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Series of a scrape", "Series in the newest rendering, and those left out because hosts declare "
              "a metric differently.", "none", over(f"flyball_collector_scrape_series{ALL}", "series"),
              over(f"flyball_collector_conflicting_series{ALL}", "left out")),
        graph("Size of a scrape", "Bytes of the newest rendering, after compression if there was any.", "bytes",
              over(f"flyball_collector_scrape_bytes{ALL}", "size")),
        graph("Requests", "HTTP responses by status code.", "reqps",
              over(f"sum by (code) ({rate('flyball_collector_http_requests_total', ALL)})", "{{code}}"),
              stack=StackingMode.NORMAL, span=12),
        graph("Scrapes", "Responses to /metrics, by kind: the whole fleet, one host, or the collector.", "reqps",
              over(f"sum by (kind) ({rate('flyball_collector_scrapes_total', ALL)})", "{{kind}}"), span=12),
    ]  # fmt: skip


def process_panels() -> list[Panel]:
    """Return the cost of the process."""
    return [
        graph("CPU", "CPUs used. The collector has one event loop; near 1 it cannot keep up.", "none",
              over(rate("process_cpu_seconds_total", ALL), "{{instance}}")),
        graph("Memory", "Resident memory, and the part of it that holds the last five minutes of the fleet.", "bytes",
              over(f"process_resident_memory_bytes{ALL}", "resident"),
              over(f"flyball_collector_window_bytes{ALL}", "last five minutes")),
        graph("Event loop", "How late the event loop wakes. About 20 ms is intended, so that messages are handled "
              "together.", "s",
              *(over(_quantile(share, "event_loop_lag_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Update of the last five minutes", "Time to add one second to the last five minutes in memory.", "s",
              *(over(_quantile(share, "window_pass_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Open files", "Open file descriptors. Each agent uses one.", "none",
              over(f"process_open_fds{ALL}", "open"),
              over(f"process_max_fds{ALL}", "limit"), overrides={"limit": style.limit_line()}),
        graph("Unavailable readings", "Unavailable readings of all hosts, by reason.", "none",
              over(f"flyball_collector_absences{ALL}", "{{reason}}")),
    ]  # fmt: skip


def _quantile(share: float, histogram: str, *labels: str) -> str:
    """Write a quantile of one of the collector's histograms."""
    by = ", ".join(["le", *labels])
    buckets = rate(f"flyball_collector_{histogram}_bucket", ALL)
    return f"histogram_quantile({share:g}, sum by ({by}) ({buckets}))"
