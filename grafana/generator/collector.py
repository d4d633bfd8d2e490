"""The collector itself: does everything arrive in time, is it kept, and does anybody hear of what is found."""

from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import style
from grafana.generator.board import Section, build, happened, instances, job, link
from grafana.generator.panels import bars, graph, listing, number
from grafana.generator.queries import host, increase, now, over, rate, rows

ALL = host()
QUANTILES = (0.5, 0.9, 0.99)


def collectors() -> Dashboard:
    """Where to look when the other dashboards are empty."""
    sections = [
        Section("Now", now_panels()),
        Section("Ingest", ingest_panels()),
        Section("Keeping", store_panels()),
        Section("Diagnosis and notifications", diagnosis_panels()),
        Section("Being scraped and asked", serving_panels()),
        Section("The process", process_panels()),
    ]
    return build(
        "collector",
        "Collector",
        "The collector's own work: ingest, store, diagnosis, notifications, and what they cost.",
        sections,
        choices=[
            job("flyball_collector_build_info"),
            instances("flyball_collector_build_info", "The collectors, by the address that is scraped."),
        ],
        annotations=[
            happened(
                "purple", "Started", f"flyball_collector_start_time_seconds{ALL} * 1000", "Started", "{{instance}}"
            )
        ],
        links=[link("Fleet", "fleet")],
    )


def now_panels() -> list[Panel]:
    """Large digits."""
    return [
        number("Hosts", "Hosts whose last record is fresh, of all that are known.", "none",
               now(f"flyball_collector_hosts_up{ALL}", "up"), now(f"flyball_collector_hosts{ALL}", "known")),
        number("Records", "Records taken each second.", "ops",
               over(f"sum({rate('flyball_collector_records_total', ALL)})", "records"), trend=True),
        number("Lag (p99)", "From the sample on the host to its reading in the fleet, by corrected clocks.", "s",
               over(_quantile(0.99, "lag_seconds"), "p99"), trend=True,
               steps=((None, style.GOOD), (2.5, style.WARNING), (10, style.CRITICAL))),
        number("Store", "Whether the last call to the store succeeded.", "none",
               now(f"flyball_collector_store_up{ALL}", "store"), mappings=style.WORKS,
               steps=((None, style.CRITICAL), (1, style.GOOD))),
        number("Refused or lost", "Records over the time range that were not taken, or that agents declared lost.",
               "none", now(f"sum({increase('flyball_collector_refused_records_total', ALL, '$__range')})", "refused"),
               now(f"sum({increase('flyball_collector_lost_records_total', ALL, '$__range')})", "lost"),
               steps=style.ANY_IS_ODD, decimals=0),
        number("Waiting notifications", "Events that a receiver has not taken yet.", "none",
               now(f"sum(flyball_collector_notifications_waiting{ALL})", "waiting"), steps=style.ANY_IS_ODD),
        number("CPU", "Cores' worth of time that the collector takes.", "none",
               over(f"sum({rate('process_cpu_seconds_total', ALL)})", "cores"), trend=True, decimals=2),
        listing("Version", "What runs.", {"instance": "Address", "version": "Version", "python": "Python"},
                rows(f"flyball_collector_build_info{ALL}"), span=3, height=4),
    ]  # fmt: skip


def ingest_panels() -> list[Panel]:
    """What comes in."""
    return [
        graph("Records", "Taken live, replayed from spools, and taken before.", "ops",
              over(f"sum({rate('flyball_collector_records_total', ALL)})", "taken"),
              over(f"sum({rate('flyball_collector_replayed_records_total', ALL)})", "replayed"),
              over(f"sum({rate('flyball_collector_duplicate_records_total', ALL)})", "taken before")),
        graph("Bytes received", "Of records, after decompression.", "Bps",
              over(f"sum({rate('flyball_collector_received_bytes_total', ALL)})", "records")),
        graph("Lag", "From the sample on the host to its reading in the fleet.", "s",
              *(over(_quantile(share, "lag_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Not taken, by reason", "Records that were refused. Their reasons tell whether agent, clock or collector "
              "is at fault.", "ops",
              over(f"sum by (reason) ({rate('flyball_collector_refused_records_total', ALL)})",
                   "{{reason}}"),
              over(f"sum({rate('flyball_collector_throttled_records_total', ALL)})", "over the rate"),
              over(f"sum({rate('flyball_collector_lost_records_total', ALL)})", "declared lost")),
        graph("Streams", "Open streams of agents, and hosts that may replay their spool.", "none",
              over(f"flyball_collector_streams{ALL}", "open"),
              over(f"flyball_collector_replaying_hosts{ALL}", "replaying")),
        graph("Streams that ended badly", "Superseded by a newer one, or two machines under one name.", "ops",
              over(f"sum({rate('flyball_collector_superseded_streams_total', ALL)})", "superseded"),
              over(f"sum({rate('flyball_collector_duplicate_hosts_total', ALL)})", "two machines"),
              over(f"sum by (reason) ({rate('flyball_collector_rejected_streams_total', ALL)})",
                   "{{reason}}")),
    ]  # fmt: skip


def store_panels() -> list[Panel]:
    """What is kept, and at what price."""
    return [
        graph("Written", "Bytes of blocks written to the store.", "Bps",
              over(f"sum({rate('flyball_collector_written_bytes_total', ALL)})", "written")),
        graph("Calls to the store (p99)", "How long they take, by kind.", "s",
              over(_quantile(0.99, "store_call_seconds", "call"), "{{call}}")),
        graph("Failures", "Calls that failed, blocks that the store would not have, and open blocks let go for want of "
              "memory (their records are asked for again).", "ops",
              over(f"sum by (call) ({rate('flyball_collector_store_errors_total', ALL)})", "{{call}}"),
              over(f"sum({rate('flyball_collector_failed_blocks_total', ALL)})", "blocks failed"),
              over(f"sum({rate('flyball_collector_dropped_blocks_total', ALL)})", "blocks let go")),
        graph("Size of the store", "What it takes on disk.", "bytes",
              over(f"flyball_collector_store_bytes{ALL}", "store")),
        graph("Not yet stored", "Memory of records that are not stored yet.", "bytes",
              over(f"flyball_collector_open_blocks_bytes{ALL}", "open blocks")),
        graph("Jobs", "Jobs run, by outcome.", "ops",
              over(f"sum by (job_name, outcome) ({rate('flyball_collector_job_runs_total', ALL)})",
                   "{{job_name}} {{outcome}}")),
    ]  # fmt: skip


def diagnosis_panels() -> list[Panel]:
    """What it concludes, and who is told."""
    return [
        graph("Time of the diagnosis", "CPU time of one look at the whole fleet, each second.", "s",
              *(over(_quantile(share, "diagnosis_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Events", "Conditions raised, changed and cleared.", "ops",
              over(f"sum by (state) ({rate('flyball_collector_events_total', ALL)})", "{{state}}"),
              stack=StackingMode.NORMAL),
        bars("Events by kind", "Raised over the time range.", "none",
             now(f"sum by (kind) ({increase('flyball_collector_events_total', host(state='raised'), '$__range')})",
                 "{{kind}}"),
             decimals=0),
        graph("Notifications", "Told to receivers, by outcome.", "ops",
              over(f"sum by (receiver, outcome) ({rate('flyball_collector_notifications_total', ALL)})",
                   "{{receiver}} {{outcome}}"), span=12),
        graph("Waiting", "Events that a receiver has not taken yet; they are kept until it has.", "none",
              over(f"flyball_collector_notifications_waiting{ALL}", "{{receiver}}"), span=12),
    ]  # fmt: skip


def serving_panels() -> list[Panel]:
    """What others ask of it."""
    return [
        graph("Time of a scrape", "Rendering the whole fleet.", "s",
              *(over(_quantile(share, "scrape_render_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Series of a scrape", "Series in the newest rendering, and those left out because hosts disagree on what "
              "their metric is.", "none", over(f"flyball_collector_scrape_series{ALL}", "series"),
              over(f"flyball_collector_conflicting_series{ALL}", "left out")),
        graph("Size of a scrape", "Bytes of the newest rendering, compressed if it was.", "bytes",
              over(f"flyball_collector_scrape_bytes{ALL}", "size")),
        graph("Requests", "Answers by status code.", "reqps",
              over(f"sum by (code) ({rate('flyball_collector_http_requests_total', ALL)})", "{{code}}"),
              stack=StackingMode.NORMAL, span=12),
        graph("Scrapes", "Answers to /metrics: the whole fleet, one host, or the collector alone.", "reqps",
              over(f"sum by (kind) ({rate('flyball_collector_scrapes_total', ALL)})", "{{kind}}"), span=12),
    ]  # fmt: skip


def process_panels() -> list[Panel]:
    """What it costs."""
    return [
        graph("CPU", "Cores' worth of time. One event loop: near 1 it falls behind.", "none",
              over(rate("process_cpu_seconds_total", ALL), "{{instance}}")),
        graph("Memory", "Resident, and what the last five minutes of the fleet take of it.", "bytes",
              over(f"process_resident_memory_bytes{ALL}", "resident"),
              over(f"flyball_collector_window_bytes{ALL}", "last five minutes")),
        graph("Event loop", "How late it wakes. Some 20 ms are meant: messages are let gather.", "s",
              *(over(_quantile(share, "event_loop_lag_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Pass over the fleet", "The window's pass of each second.", "s",
              *(over(_quantile(share, "window_pass_seconds"), f"p{share * 100:g}") for share in QUANTILES)),
        graph("Open files", "Each agent's stream takes one.", "none", over(f"process_open_fds{ALL}", "open"),
              over(f"process_max_fds{ALL}", "limit"), overrides={"limit": style.limit_line()}),
        graph("What hosts say they cannot give", "Readings by the reason why they are silent.", "none",
              over(f"flyball_collector_absences{ALL}", "{{reason}}")),
    ]  # fmt: skip


def _quantile(share: float, histogram: str, *labels: str) -> str:
    """A quantile of one of the collector's histograms."""
    by = ", ".join(["le", *labels])
    buckets = rate(f"flyball_collector_{histogram}_bucket", ALL)
    return f"histogram_quantile({share:g}, sum by ({by}) ({buckets}))"
