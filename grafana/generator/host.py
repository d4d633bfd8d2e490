"""The host dashboard: bottlenecks, pressure, each resource, GPUs and unavailable readings of one host or a few."""

from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import diagnosis, style
from grafana.generator.board import Section, active_conditions, active_notes, build, dashboard_url, instances, job, link
from grafana.generator.panels import bars, column, graph, linked, listing, number, timeline
from grafana.generator.queries import host, increase, now, over, rate, rows

ALL = host()
REAL_DISKS = "!~loop.*|ram.*|dm-.*"
REAL_LINKS = "!~lo|veth.*|docker.*|cali.*|flannel.*"


def hosts() -> Dashboard:
    """Build the dashboard that the fleet's table of hosts links to."""
    sections = [
        Section("Now", now_panels()),
        Section("Bottlenecks and problems", bottleneck_panels()),
        Section("Pressure", pressure_panels()),
        Section("CPU", cpu_panels()),
        Section("Memory", memory_panels()),
        Section("Disks and file systems", disk_panels()),
        Section("Network", network_panels()),
        Section("GPUs", gpu_panels()),
        Section("Unavailable readings", unavailable_panels()),
        Section("Heat, CPU power, NUMA, InfiniBand and clock", hardware_panels(), collapsed=True),
        Section("Control group of the agent", cgroup_panels(), collapsed=True),
        Section("Agent", agent_panels(), collapsed=True),
    ]
    return build(
        "host",
        "Host",
        "All readings of a host, with its bottlenecks, problems and advice.",
        sections,
        choices=[job("flyball_agent_up"), instances("flyball_agent_up")],
        annotations=[
            active_conditions("red", "Critical conditions", host(severity="critical")),
            active_conditions("orange", "Warnings", host(severity="warning")),
            active_notes("blue", "Bottlenecks and notes", host(severity="info"), enable=False),
        ],
        links=[link("Fleet", "fleet"), link("GPUs of the host", "gpu", "instance"), link("Collector", "collector")],
    )


def now_panels() -> list[Panel]:
    """Return the panels with large digits, and a description of the machine."""
    return [
        number("Agent", "Reporting while records of the host arrive.", "none",
               now(f"flyball_agent_up{ALL}", "{{instance}}"),
               mappings=style.UP, steps=((None, style.CRITICAL), (1, style.GOOD))),
        number("Last report", "Arrival of the newest record.", "dateTimeFromNow",
               now(f"flyball_agent_last_report_timestamp_seconds{ALL} * 1000", "{{instance}}")),
        number("CPU", "Share of CPU time that was not idle.", "percentunit",
               over(f"flyball_cpu_busy_ratio{ALL}", "{{instance}}"), trend=True, low=0, high=1),
        number("Memory", "Share of RAM that is not available to new processes.", "percentunit",
               over(f"flyball_memory_used_ratio{ALL}", "{{instance}}"), trend=True, steps=style.USAGE, low=0, high=1),
        number("GPUs busy", "Mean utilisation of the host's GPUs.", "percentunit",
               over(f"avg by (instance) (flyball_gpu_utilization_ratio{ALL})", "{{instance}}"), trend=True,
               steps=style.BUSY, low=0, high=1),
        number("Active problems", "Conditions that are active on the host, by severity.", "none",
               now(f"sum by (severity) (flyball_conditions{ALL})", "{{severity}}"), span=4, overrides={
                   "critical": [style.option("thresholds", style.thresholds(style.ANY_IS_CRITICAL).build())],
                   "warning": [style.option("thresholds", style.thresholds(style.ANY_IS_WARNING).build())],
               }),
        listing("Machine", "Hardware and system, as the agent found them.", {
            "instance": "Host", "cpu_model": "CPU", "architecture": "Architecture", "operating_system": "System",
            "kernel": "Kernel", "virtualization": "Virtualization"},
            rows(f"flyball_host_info{ALL}"), span=5, height=4),
    ]  # fmt: skip


def bottleneck_panels() -> list[Panel]:
    """Return the base scores, the bottlenecks, problems, risks and advice."""
    return [
        graph("Utilisation (base scores)", "The four base scores: utilisation divided by a fixed limit. They raise no "
              "alert and are not calibrated. 1 means that the limit is reached.", "percentunit",
              over(f"flyball_base_score_ratio{ALL}", "{{instance}} {{resource}}"), high=1),
        graph("Scores of bottlenecks", "How much each bottleneck limits the host, from 0 to 1. For bottlenecks of "
              "GPUs, the score of the host's worst GPU.", "percentunit",
              over(f"flyball_score_ratio{ALL}", "{{instance}} {{bottleneck}}"), high=1),
        graph("Confidence of bottlenecks", "Probability that an active bottleneck is real: of all that are reported "
              "with 80 %, 80 % should be right.", "percentunit",
              over(f"flyball_score_confidence_ratio{ALL}", "{{instance}} {{bottleneck}}"), high=1),
        timeline("Primary bottleneck", "The active bottleneck with the largest score.",
                 over(f"flyball_primary_bottleneck{ALL}", "{{instance}} {{bottleneck}}"), mappings=style.PRIMARY,
                 empty="No active bottleneck", span=12, height=7),
        diagnosis.conditions({ALL: ""}, height=7),
        diagnosis.risks(ALL, height=7),
        diagnosis.advice({ALL: ""}, height=7),
        graph("GPUs wasted, by cause", "GPU-seconds lost each second on this host.", "none",
              over(f"sum by (cause) ({rate('flyball_wasted_gpu_seconds_total', ALL)})", "{{cause}}"),
              stack=StackingMode.NORMAL, span=24, height=6),
    ]  # fmt: skip


def pressure_panels() -> list[Panel]:
    """Return the pressure of each resource. Stalls show a shortage better than utilisation does."""
    return [
        graph(
            f"{title} pressure",
            f"Share of the time in which tasks waited for {resource_text}: at least one of them (some), or all (full).",
            "percentunit",
            over(
                f"rate(flyball_pressure_seconds_total{host(resource=resource)}[$__rate_interval])",
                "{{instance}} {{extent}}",
            ),
            steps=style.STALLS,
        )
        for resource, title, resource_text in (
            ("cpu", "CPU", "a CPU"),
            ("memory", "Memory", "memory"),
            ("io", "I/O", "a disk"),
        )
    ]


def cpu_panels() -> list[Panel]:
    """Return CPU time by mode, cores, and waiting tasks."""
    return [
        graph("CPU by mode", "CPUs used in each mode. The limit is the number of hardware threads.", "none",
              over(f"sum by (mode) ({rate('flyball_cpu_seconds_total', host(mode='!=idle'))})", "{{mode}}"),
              over(f"sum(flyball_cpu_threads_online{ALL})", "threads"), overrides={"threads": style.limit_line()}),
        graph("Busiest and least busy core", "If one core is at its limit while others are idle, a single thread "
              "does all work.",
              "percentunit",
              over(f"max by (instance) ({rate('flyball_cpu_core_busy_seconds_total', ALL)})",
                   "{{instance}} busiest"),
              over(f"min by (instance) ({rate('flyball_cpu_core_busy_seconds_total', ALL)})",
                   "{{instance}} least busy"), high=1),
        graph("Waiting tasks", "Tasks that run or wait for a CPU, tasks that wait for a disk, and the load average.",
              "none", over(f"flyball_tasks_runnable{ALL}", "{{instance}} runnable"),
              over(f"flyball_tasks_blocked{ALL}", "{{instance}} blocked"),
              over(f"flyball_load_average{host(window='=~1m|5m')}", "{{instance}} load {{window}}")),
        graph("CPU clock", "Clock of the slowest core, the mean, and the fastest. Most virtual machines do not report "
              "it.",
              "hertz", *(over(f"flyball_cpu_frequency_{which}_hertz{ALL}", f"{{{{instance}}}} {which}")
                         for which in ("min", "mean", "max"))),
        graph("Thermal throttling", "Number of times that heat slowed a core (Intel).", "none",
              over(increase("flyball_cpu_thermal_throttles_total", ALL), "{{instance}}")),
        graph("Context switches and new tasks", "High rates of either use CPU time without useful work.", "ops",
              over(rate("flyball_context_switches_total", ALL), "{{instance}} switches"),
              over(rate("flyball_forks_total", ALL), "{{instance}} new tasks")),
    ]  # fmt: skip


def memory_panels() -> list[Panel]:
    """Return the use of memory, and the effects of a shortage."""
    return [
        graph("RAM", "Memory that is not available to new processes, memory of caches, and the total.", "bytes",
              over(f"flyball_memory_used_bytes{ALL}", "{{instance}} used"),
              over(f"flyball_memory_cached_bytes{ALL}", "{{instance}} cached"),
              over(f"flyball_memory_total_bytes{ALL}", "{{instance}} total"),
              overrides={".* total": style.limit_line()}),
        graph("Shared memory", "Use and size of /dev/shm, through which data-loader workers pass batches.", "bytes",
              over(f"flyball_shared_memory_used_bytes{ALL}", "{{instance}} used"),
              over(f"flyball_shared_memory_total_bytes{ALL}", "{{instance}} size"),
              overrides={".* size": style.limit_line()}),
        graph("Swap traffic", "Pages read from and written to swap. Processes wait for pages that are read.", "Bps",
              over(rate("flyball_swap_in_bytes_total", ALL), "{{instance}} in"),
              over(rate("flyball_swap_out_bytes_total", ALL), "{{instance}} out")),
        graph("Major page faults", "Page faults that had to wait for a disk, and direct reclaim.", "ops",
              over(rate("flyball_memory_major_faults_total", ALL), "{{instance}} major faults"),
              over(rate("flyball_reclaim_direct_pages_total", ALL), "{{instance}} direct reclaim")),
        graph("Dirty pages", "Data that waits to be written to a disk. A checkpoint shows here.", "bytes",
              over(f"flyball_memory_dirty_bytes{ALL}", "{{instance}} dirty"),
              over(f"flyball_memory_writeback_bytes{ALL}", "{{instance}} written back")),
        graph("OOM kills", "Processes that the kernel killed because memory ran out.", "none",
              over(increase("flyball_oom_kills_total", ALL), "{{instance}}")),
    ]  # fmt: skip


def disk_panels() -> list[Panel]:
    """Return throughput, latency, saturation and space."""
    disks = host(device=REAL_DISKS)
    seconds, operations = "sum by (instance, device)", "clamp_min(sum by (instance, device)"
    return [
        graph("Throughput", "Bytes read and written.", "Bps",
              over(rate("flyball_disk_read_bytes_total", disks), "{{instance}} {{device}} read"),
              over(rate("flyball_disk_written_bytes_total", disks),
                   "{{instance}} {{device}} written")),
        graph("Latency", "Mean time of finished operations, for reads and for writes.", "s",
              over(f"{seconds} ({rate('flyball_disk_read_seconds_total', disks)})"
                   f" / {operations} ({rate('flyball_disk_reads_total', disks)}), 0.001)",
                   "{{instance}} {{device}} read"),
              over(f"{seconds} ({rate('flyball_disk_write_seconds_total', disks)})"
                   f" / {operations} ({rate('flyball_disk_writes_total', disks)}), 0.001)",
                   "{{instance}} {{device}} write")),
        graph("Busy", "Share of the time in which at least one operation was in flight. A disk that serves many "
              "operations at once can be at 100 % without being saturated: see the queue.", "percentunit",
              over(rate("flyball_disk_busy_seconds_total", disks), "{{instance}} {{device}}"), high=1),
        graph("Queue", "Mean number of operations in flight.", "none",
              over(rate("flyball_disk_queue_seconds_total", disks), "{{instance}} {{device}}")),
        bars("Space", "Used share of the space for unprivileged processes.", "percentunit",
             now(f"flyball_filesystem_used_ratio{ALL}", "{{instance}} {{mount}}"), steps=style.USAGE, high=1),
        graph("Space over time", "Used share of each file system.", "percentunit",
              over(f"flyball_filesystem_used_ratio{ALL}", "{{instance}} {{mount}}"), high=1),
    ]  # fmt: skip


def network_panels() -> list[Panel]:
    """Return traffic, loss, connections and round trips."""
    links = host(interface=REAL_LINKS)
    return [
        graph("Traffic", "Bytes received and sent.", "Bps",
              over(rate("flyball_network_received_bytes_total", links),
                   "{{instance}} {{interface}} received"),
              over(rate("flyball_network_sent_bytes_total", links),
                   "{{instance}} {{interface}} sent")),
        graph("Round trips", "Round trips to the services that the training calls, and to loopback for comparison. Of "
              "an HTTP target also its parts: connect is the network's, answer mostly the service's.", "s",
              over(f"flyball_latency_seconds{ALL}", "{{instance}} {{target}}"),
              over(f"flyball_latency_connect_seconds{ALL}", "{{instance}} {{target}} connect"),
              over(f"flyball_latency_answer_seconds{ALL}", "{{instance}} {{target}} answer")),
        graph("Errors and drops", "Packets damaged or dropped, received and sent.", "pps",
              over(f"sum by (instance, interface) ({rate('flyball_network_received_errors_total', links)})"
                   f" + sum by (instance, interface) ({rate('flyball_network_sent_errors_total', links)})",
                   "{{instance}} {{interface}} errors"),
              over(f"sum by (instance, interface) ({rate('flyball_network_received_drops_total', links)})"
                   f" + sum by (instance, interface) ({rate('flyball_network_sent_drops_total', links)})",
                   "{{instance}} {{interface}} drops")),
        graph("Retransmissions", "Share of TCP segments that had to be sent again because of loss.", "percentunit",
              over(f"{rate('flyball_tcp_retransmitted_segments_total', ALL)}"
                   f" / clamp_min({rate('flyball_tcp_sent_segments_total', ALL)}, 1)", "{{instance}}")),
        graph("Connections", "Established TCP connections.", "none",
              over(f"flyball_tcp_connections{ALL}", "{{instance}}")),
        graph("Connections opened", "New connections each second. A high rate means that the caller does not use a "
              "connection pool.", "cps",
              over(rate("flyball_tcp_opened_total", ALL), "{{instance}} opened"),
              over(rate("flyball_tcp_failed_total", ALL), "{{instance}} failed")),
    ]  # fmt: skip


def gpu_panels() -> list[Panel]:
    """Return all GPUs of the host; each links to the GPU dashboard."""
    to_gpu = {"GPU": dashboard_url("gpu", instance="${__field.labels.instance}", gpu="${__field.labels.gpu}")}
    name = "{{instance}} GPU {{index}}"
    by = "by (instance, gpu, index)"
    return [
        listing("GPUs", "Current readings of each GPU. An empty cell is an unavailable reading.", {
            "instance": "Host", "index": "Index", "gpu": "GPU", "Value #A": "Utilisation", "Value #B": "Memory",
            "Value #C": "Power", "Value #D": "Temperature", "Value #E": "Margin", "Value #F": "SM clock",
            "Value #G": "Throttled", "Value #H": "Lost"},
            rows(f"max {by} (flyball_gpu_utilization_ratio{ALL})"),
            rows(f"max {by} (flyball_gpu_memory_used_bytes{ALL}) / max {by} (flyball_gpu_memory_total_bytes{ALL})"),
            rows(f"max {by} (flyball_gpu_power_watts{ALL})"),
            rows(f"max {by} (flyball_gpu_temperature_celsius{ALL})"),
            rows(f"min {by} (flyball_gpu_temperature_margin_celsius{ALL})"),
            rows(f"max {by} (flyball_gpu_sm_clock_hertz{ALL})"),
            rows(f"max {by} (flyball_gpu_throttle_active{ALL})"),
            rows(f"max {by} (flyball_gpu_lost{ALL})"),
            overrides={
                "GPU": linked("GPU", diagnosis.TO_GPU), "Utilisation": column("percentunit", style.BUSY),
                "Memory": column("percentunit", style.USAGE), "Power": column("watt"),
                "Temperature": column("celsius"), "Margin": column("celsius", style.MARGIN),
                "SM clock": column("hertz"),
                "Throttled": [style.option("mappings", style.THROTTLED),
                              style.option("custom.cellOptions", {"type": "color-text"})],
                "Lost": [style.option("mappings", style.YES_NO),
                         style.option("custom.cellOptions", {"type": "color-text"})],
            }, empty="No GPUs", span=24, height=8),
        graph("Utilisation", "Share of the time in which a kernel ran.", "percentunit",
              over(f"flyball_gpu_utilization_ratio{ALL}", name), high=1, links=to_gpu),
        graph("Memory", "Memory that processes hold, as a share of the device's.", "percentunit",
              over(f"flyball_gpu_memory_used_bytes{ALL} / flyball_gpu_memory_total_bytes{ALL}", name), high=1,
              links=to_gpu),
        graph("Power", "Power of the boards.", "watt", over(f"flyball_gpu_power_watts{ALL}", name), links=to_gpu),
    ]  # fmt: skip


def unavailable_panels() -> list[Panel]:
    """Return the unavailable readings with their reasons: not there, not permitted, or failed."""
    return [
        diagnosis.unavailable_readings(ALL),
        diagnosis.unavailable_over_time(
            ALL,
            "Unavailable readings over time",
            "When some or all readings of a probe were unavailable.",
            span=12,
            height=9,
        ),
    ]


def hardware_panels() -> list[Panel]:
    """Return readings that not every machine has."""
    ports = "{{instance}} {{device}}/{{port}}"
    return [
        graph("Temperatures", "Sensors on the board.", "celsius",
              over(f"flyball_temperature_celsius{ALL}", "{{instance}} {{chip}} {{sensor}}")),
        graph("CPU power", "Power of the CPU packages and their memory, from energy counters.", "watt",
              over(rate("flyball_cpu_energy_joules_total", ALL), "{{instance}} {{zone}}")),
        graph("NUMA misses", "Pages that came from another NUMA node than requested.", "ops",
              over(rate("flyball_numa_miss_pages_total", ALL), "{{instance}} node {{node}}")),
        graph("InfiniBand traffic", "Bytes received and sent.", "Bps",
              over(rate("flyball_infiniband_received_bytes_total", ALL), f"{ports} received"),
              over(rate("flyball_infiniband_sent_bytes_total", ALL), f"{ports} sent")),
        graph("InfiniBand errors", "Symbol errors, and number of times that the link went down.", "none",
              over(increase("flyball_infiniband_symbol_errors_total", ALL), f"{ports} symbol errors"),
              over(increase("flyball_infiniband_link_downs_total", ALL), f"{ports} link down")),
        graph("Clock skew", "Clock of the host minus the clock of the collector.", "s",
              over(f"flyball_clock_skew_seconds{ALL}", "{{instance}}")),
    ]  # fmt: skip


def cgroup_panels() -> list[Panel]:
    """Return the use and limits of the agent's control group."""
    return [
        graph("CPU of the group", "CPUs that the group used.", "none",
              over(rate("flyball_cgroup_cpu_seconds_total", ALL), "{{instance}} used")),
        graph("Throttled by the CPU limit", "Thread-seconds each second in which the CPU limit stopped the group.",
              "none",
              over(rate("flyball_cgroup_cpu_throttled_seconds_total", ALL), "{{instance}}")),
        graph("Memory of the group", "Memory that cannot be released at once, as a share of the limit.", "percentunit",
              over(f"flyball_cgroup_memory_used_ratio{ALL}", "{{instance}}"), high=1),
    ]  # fmt: skip


def agent_panels() -> list[Panel]:
    """Return the cost of the agent."""
    return [
        graph("CPU of the agent", "Share of one core.", "percentunit",
              over(rate("flyball_agent_cpu_seconds_total", ALL), "{{instance}}")),
        graph("Memory of the agent", "Resident memory.", "bytes",
              over(f"flyball_agent_memory_resident_bytes{ALL}", "{{instance}}")),
        graph("Time of probes", "Share of the time that each probe takes.", "percentunit",
              over(rate("flyball_agent_probe_seconds_total", ALL), "{{instance}} {{probe}}")),
        graph("Spool", "Records that are kept on the host's disk until the collector has stored them.", "bytes",
              over(f"flyball_agent_spool_bytes{ALL}", "{{instance}} spool"),
              over(f"flyball_agent_backlog_bytes{ALL}", "{{instance}} not sent yet")),
        graph("Records lost or refused", "Records that the agent lost or the collector refused. Should stay 0.", "none",
              over(increase("flyball_agent_records_lost_total", ALL), "{{instance}} lost"),
              over(increase("flyball_agent_records_refused_total", ALL), "{{instance}} refused")),
        graph("Lateness of ticks", "Delay between the due time of a tick and its start.", "s",
              over(f"flyball_agent_tick_lateness_seconds{ALL}", "{{instance}}")),
    ]  # fmt: skip
