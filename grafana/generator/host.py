"""One host, or a few: pressure first, then each resource, its GPUs, what bounds it, and what is not read."""

from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import diagnosis, style
from grafana.generator.board import Section, build, instances, job, link, place, standing
from grafana.generator.panels import bars, column, graph, linked, listing, number, timeline
from grafana.generator.queries import host, increase, now, over, rate, rows

ALL = host()
REAL_DISKS = "!~loop.*|ram.*|dm-.*"
REAL_LINKS = "!~lo|veth.*|docker.*|cali.*|flannel.*"


def hosts() -> Dashboard:
    """What the fleet's table leads to."""
    sections = [
        Section("Now", now_panels()),
        Section("What bounds it", bound_panels()),
        Section("Pressure", pressure_panels()),
        Section("CPU", cpu_panels()),
        Section("Memory", memory_panels()),
        Section("Disks and file systems", disk_panels()),
        Section("Network", network_panels()),
        Section("GPUs", gpu_panels()),
        Section("What is not read", unavailable_panels()),
        Section("Heat, NUMA, InfiniBand", hardware_panels(), collapsed=True),
        Section("Control group", cgroup_panels(), collapsed=True),
        Section("The agent itself", agent_panels(), collapsed=True),
    ]
    return build(
        "host",
        "Host",
        "Everything that a host tells of itself, and what diagnosis makes of it.",
        sections,
        choices=[job("flyball_agent_up"), instances("flyball_agent_up")],
        annotations=[
            standing("red", "Critical conditions", host(severity="critical")),
            standing("orange", "Warnings", host(severity="warning")),
            standing("blue", "Bottlenecks and notes", host(severity="info"), enable=False),
        ],
        links=[link("Fleet", "fleet"), link("GPUs of the host", "gpu", "instance"), link("Collector", "collector")],
    )


def now_panels() -> list[Panel]:
    """Large digits, and what machine it is."""
    return [
        number("Agent", "Whether the host's records are fresh.", "none", now(f"flyball_agent_up{ALL}", "{{instance}}"),
               mappings=style.UP, steps=((None, style.CRITICAL), (1, style.GOOD))),
        number("Last report", "When the newest record came in.", "dateTimeFromNow",
               now(f"flyball_agent_last_report_timestamp_seconds{ALL} * 1000", "{{instance}}")),
        number("CPU", "Share of all CPU time that was not idle.", "percentunit",
               over(f"flyball_cpu_busy_ratio{ALL}", "{{instance}}"), trend=True, low=0, high=1),
        number("Memory", "Share of RAM that is not available to new work.", "percentunit",
               over(f"flyball_memory_used_ratio{ALL}", "{{instance}}"), trend=True, steps=style.USAGE, low=0, high=1),
        number("GPUs busy", "Mean utilization of the host's GPUs.", "percentunit",
               over(f"avg by (instance) (flyball_gpu_utilization_ratio{ALL})", "{{instance}}"), trend=True,
               steps=style.BUSY, low=0, high=1),
        number("Standing conditions", "What is raised on the host, by severity.", "none",
               now(f"sum by (severity) (flyball_conditions{ALL})", "{{severity}}"), span=4, overrides={
                   "critical": [style.option("thresholds", style.thresholds(style.ANY_IS_BAD).build())],
                   "warning": [style.option("thresholds", style.thresholds(style.ANY_IS_ODD).build())],
               }),
        listing("Machine", "What the agent found.", {
            "instance": "Host", "cpu_model": "CPU", "architecture": "Architecture", "operating_system": "System",
            "kernel": "Kernel", "virtualization": "Virtualization"},
            rows(f"flyball_host_info{ALL}"), span=5, height=4),
    ]  # fmt: skip


def bound_panels() -> list[Panel]:
    """Base scores and the full diagnosis side by side."""
    return [
        graph("Base scores", "The four plain scores, straight from the readings: always shown, never alerting, not "
              "calibrated. 1 is a resource in use all the time.", "percentunit",
              over(f"flyball_base_score_ratio{ALL}", "{{instance}} {{resource}}"), high=1),
        graph("Scores of the full diagnosis", "How much of the time each bottleneck binds; for GPU kinds, the host's "
              "worst GPU.", "percentunit", over(f"flyball_score_ratio{ALL}", "{{instance}} {{bottleneck}}"), high=1),
        graph("How sure", "The confidence of the bottlenecks that are raised: of everything said with 80 %, 80 % "
              "should be right.", "percentunit",
              over(f"flyball_score_confidence_ratio{ALL}", "{{instance}} {{bottleneck}}"), high=1),
        timeline("Primary bottleneck", "Which bottleneck comes first. No row: nothing bounds the host.",
                 over(f"flyball_primary_bottleneck{ALL}", "{{instance}} {{bottleneck}}"), mappings=style.PRIMARY,
                 span=12, height=7),
        diagnosis.conditions({ALL: ""}, height=7),
        diagnosis.risks(ALL, height=7),
        diagnosis.advice({ALL: ""}, height=7),
        graph("GPUs wasted, by cause", "GPU-seconds that the host's GPUs lost each second.", "none",
              over(f"sum by (cause) ({rate('flyball_wasted_gpu_seconds_total', ALL)})", "{{cause}}"),
              stack=StackingMode.NORMAL, span=24, height=6),
    ]  # fmt: skip


def pressure_panels() -> list[Panel]:
    """Stalls say more than usage."""
    return [
        graph(
            f"{title} pressure",
            f"Share of the time in which tasks stood still for want of {what}: some of them, or all at once (full).",
            "percentunit",
            over(
                f"rate(flyball_pressure_seconds_total{host(resource=resource)}[$__rate_interval])",
                "{{instance}} {{extent}}",
            ),
            steps=style.STALLS,
        )
        for resource, title, what in (
            ("cpu", "CPU", "a processor"),
            ("memory", "Memory", "memory"),
            ("io", "I/O", "a disk"),
        )
    ]


def cpu_panels() -> list[Panel]:
    """Time by mode, cores, and what waits."""
    return [
        graph("CPU by mode", "Cores' worth of time in each mode; the limit: all threads that there are.", "none",
              over(f"sum by (mode) ({rate('flyball_cpu_seconds_total', host(mode='!=idle'))})", "{{mode}}"),
              over(f"sum(flyball_cpu_threads_online{ALL})", "threads"), overrides={"threads": style.limit_line()}),
        graph("Busiest and idlest core", "One core at its limit while others idle: a single thread prepares all work.",
              "percentunit",
              over(f"max by (instance) ({rate('flyball_cpu_core_busy_seconds_total', ALL)})",
                   "{{instance}} busiest"),
              over(f"min by (instance) ({rate('flyball_cpu_core_busy_seconds_total', ALL)})",
                   "{{instance}} idlest"), high=1),
        graph("Tasks that wait", "Tasks that run or wait for a CPU, those that wait for a disk, and the load average.",
              "none", over(f"flyball_tasks_runnable{ALL}", "{{instance}} runnable"),
              over(f"flyball_tasks_blocked{ALL}", "{{instance}} blocked"),
              over(f"flyball_load_average{host(window='=~1m|5m')}", "{{instance}} load {{window}}")),
        graph("CPU clock", "Of the slowest core, the mean, and the fastest. Virtual machines mostly do not tell: N/A.",
              "hertz", *(over(f"flyball_cpu_frequency_{which}_hertz{ALL}", f"{{{{instance}}}} {which}")
                         for which in ("min", "mean", "max"))),
        graph("Slowed by heat", "Times that heat slowed a core (Intel).", "none",
              over(increase("flyball_cpu_thermal_throttles_total", ALL), "{{instance}}")),
        graph("Context switches and new tasks", "Much of either costs CPU without work being done.", "ops",
              over(rate("flyball_context_switches_total", ALL), "{{instance}} switches"),
              over(rate("flyball_forks_total", ALL), "{{instance}} new tasks")),
    ]  # fmt: skip


def memory_panels() -> list[Panel]:
    """What is used, what is left, and what want of it costs."""
    return [
        graph("RAM", "What new work cannot have, what caches hold, and all there is.", "bytes",
              over(f"flyball_memory_used_bytes{ALL}", "{{instance}} used"),
              over(f"flyball_memory_cached_bytes{ALL}", "{{instance}} cached"),
              over(f"flyball_memory_total_bytes{ALL}", "{{instance}} total"),
              overrides={".* total": style.limit_line()}),
        graph("Shared memory", "Through it data-loader workers hand over batches; and its size.", "bytes",
              over(f"flyball_shared_memory_used_bytes{ALL}", "{{instance}} used"),
              over(f"flyball_shared_memory_total_bytes{ALL}", "{{instance}} size"),
              overrides={".* size": style.limit_line()}),
        graph("Swap traffic", "Pages that come and go: work waits for them.", "Bps",
              over(rate("flyball_swap_in_bytes_total", ALL), "{{instance}} in"),
              over(rate("flyball_swap_out_bytes_total", ALL), "{{instance}} out")),
        graph("Faults that read a disk", "Page faults that had to wait for a disk, and direct reclaim.", "ops",
              over(rate("flyball_memory_major_faults_total", ALL), "{{instance}} major faults"),
              over(rate("flyball_reclaim_direct_pages_total", ALL), "{{instance}} direct reclaim")),
        graph("Dirty and being written", "Data that waits for a disk: a checkpoint shows here.", "bytes",
              over(f"flyball_memory_dirty_bytes{ALL}", "{{instance}} dirty"),
              over(f"flyball_memory_writeback_bytes{ALL}", "{{instance}} written back")),
        graph("Kills for want of memory", "Processes that the kernel killed.", "none",
              over(increase("flyball_oom_kills_total", ALL), "{{instance}}")),
    ]  # fmt: skip


def disk_panels() -> list[Panel]:
    """Throughput, latency, saturation, space."""
    disks = host(device=REAL_DISKS)
    waited, done = "sum by (instance, device)", "clamp_min(sum by (instance, device)"
    return [
        graph("Throughput", "Bytes read and written.", "Bps",
              over(rate("flyball_disk_read_bytes_total", disks), "{{instance}} {{device}} read"),
              over(rate("flyball_disk_written_bytes_total", disks),
                   "{{instance}} {{device}} written")),
        graph("Latency", "Mean time of an operation that finished, reads and writes apart.", "s",
              over(f"{waited} ({rate('flyball_disk_read_seconds_total', disks)})"
                   f" / {done} ({rate('flyball_disk_reads_total', disks)}), 0.001)",
                   "{{instance}} {{device}} read"),
              over(f"{waited} ({rate('flyball_disk_write_seconds_total', disks)})"
                   f" / {done} ({rate('flyball_disk_writes_total', disks)}), 0.001)",
                   "{{instance}} {{device}} write")),
        graph("Busy", "Share of the time in which at least one operation was open. For disks that serve many at once "
              "1 is not yet saturation: see the queue.", "percentunit",
              over(rate("flyball_disk_busy_seconds_total", disks), "{{instance}} {{device}}"), high=1),
        graph("Queue", "Mean number of open operations.", "none",
              over(rate("flyball_disk_queue_seconds_total", disks), "{{instance}} {{device}}")),
        bars("Space", "Used share of what unprivileged processes can have.", "percentunit",
             now(f"flyball_filesystem_used_ratio{ALL}", "{{instance}} {{mount}}"), steps=style.USAGE, high=1),
        graph("Space over time", "Used share of each file system.", "percentunit",
              over(f"flyball_filesystem_used_ratio{ALL}", "{{instance}} {{mount}}"), high=1),
    ]  # fmt: skip


def network_panels() -> list[Panel]:
    """Traffic, loss, connections, round trips."""
    links = host(interface=REAL_LINKS)
    return [
        graph("Traffic", "Bytes received and sent.", "Bps",
              over(rate("flyball_network_received_bytes_total", links),
                   "{{instance}} {{interface}} received"),
              over(rate("flyball_network_sent_bytes_total", links),
                   "{{instance}} {{interface}} sent")),
        graph("Round trips", "To the services that training calls, and over loopback for comparison.", "s",
              over(f"flyball_latency_seconds{ALL}", "{{instance}} {{target}}")),
        graph("Errors and drops", "Packets damaged or dropped, both ways.", "pps",
              over(f"sum by (instance, interface) ({rate('flyball_network_received_errors_total', links)})"
                   f" + sum by (instance, interface) ({rate('flyball_network_sent_errors_total', links)})",
                   "{{instance}} {{interface}} errors"),
              over(f"sum by (instance, interface) ({rate('flyball_network_received_drops_total', links)})"
                   f" + sum by (instance, interface) ({rate('flyball_network_sent_drops_total', links)})",
                   "{{instance}} {{interface}} drops")),
        graph("Retransmissions", "Share of TCP segments that had to be sent again: loss.", "percentunit",
              over(f"{rate('flyball_tcp_retransmitted_segments_total', ALL)}"
                   f" / clamp_min({rate('flyball_tcp_sent_segments_total', ALL)}, 1)", "{{instance}}")),
        graph("Connections", "Established TCP connections.", "none",
              over(f"flyball_tcp_connections{ALL}", "{{instance}}")),
        graph("Connections opened", "New connections each second. Many: the caller has no pool.", "cps",
              over(rate("flyball_tcp_opened_total", ALL), "{{instance}} opened"),
              over(rate("flyball_tcp_failed_total", ALL), "{{instance}} failed")),
    ]  # fmt: skip


def gpu_panels() -> list[Panel]:
    """All of the host's GPUs; each leads to a dashboard of its own."""
    to_gpu = {"GPU": place("gpu", instance="${__field.labels.instance}", gpu="${__field.labels.gpu}")}
    name = "{{instance}} GPU {{index}}"
    by = "by (instance, gpu, index)"
    return [
        listing("GPUs", "What each GPU does now. An empty cell is a reading that the device does not give.", {
            "instance": "Host", "index": "Index", "gpu": "GPU", "Value #A": "Utilization", "Value #B": "Memory",
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
                "GPU": linked("GPU", diagnosis.TO_GPU), "Utilization": column("percentunit", style.BUSY),
                "Memory": column("percentunit", style.USAGE), "Power": column("watt"),
                "Temperature": column("celsius"), "Margin": column("celsius", style.MARGIN),
                "SM clock": column("hertz"),
                "Throttled": [style.option("mappings", style.HELD),
                              style.option("custom.cellOptions", {"type": "color-text"})],
                "Lost": [style.option("mappings", style.YES_NO),
                         style.option("custom.cellOptions", {"type": "color-text"})],
            }, span=24, height=8),
        graph("Utilization", "Share of the time in which a kernel ran.", "percentunit",
              over(f"flyball_gpu_utilization_ratio{ALL}", name), high=1, links=to_gpu),
        graph("Memory", "Memory that processes hold, as a share of the device's.", "percentunit",
              over(f"flyball_gpu_memory_used_bytes{ALL} / flyball_gpu_memory_total_bytes{ALL}", name), high=1,
              links=to_gpu),
        graph("Power", "Power drawn by the boards.", "watt", over(f"flyball_gpu_power_watts{ALL}", name), links=to_gpu),
    ]  # fmt: skip


def unavailable_panels() -> list[Panel]:
    """Not applicable, not permitted, failed: three different things."""
    return [
        diagnosis.unavailable(ALL),
        diagnosis.reason_codes(
            ALL, "Silent probes over time", "When a probe gave nothing, or not all.", span=12, height=9
        ),
    ]


def hardware_panels() -> list[Panel]:
    """What not every machine has."""
    ports = "{{instance}} {{device}}/{{port}}"
    return [
        graph("Temperatures", "Sensors on the board.", "celsius",
              over(f"flyball_temperature_celsius{ALL}", "{{instance}} {{chip}} {{sensor}}")),
        graph("CPU power", "From the energy counters of the CPU packages and their memory.", "watt",
              over(rate("flyball_cpu_energy_joules_total", ALL), "{{instance}} {{zone}}")),
        graph("Memory from the wrong node", "Pages that were had from another NUMA node than was wanted.", "ops",
              over(rate("flyball_numa_miss_pages_total", ALL), "{{instance}} node {{node}}")),
        graph("InfiniBand traffic", "Bytes received and sent.", "Bps",
              over(rate("flyball_infiniband_received_bytes_total", ALL), f"{ports} received"),
              over(rate("flyball_infiniband_sent_bytes_total", ALL), f"{ports} sent")),
        graph("InfiniBand errors", "Symbol errors, and times that the link went down.", "none",
              over(increase("flyball_infiniband_symbol_errors_total", ALL), f"{ports} symbol errors"),
              over(increase("flyball_infiniband_link_downs_total", ALL), f"{ports} link down")),
        graph("Clock of the host", "Its wall clock minus the collector's.", "s",
              over(f"flyball_clock_skew_seconds{ALL}", "{{instance}}")),
    ]  # fmt: skip


def cgroup_panels() -> list[Panel]:
    """Limits of what encloses the agent."""
    return [
        graph("CPU of the group", "Cores' worth of time that the group used.", "none",
              over(rate("flyball_cgroup_cpu_seconds_total", ALL), "{{instance}} used")),
        graph("Held back by its CPU limit", "Thread-seconds each second that the group was not allowed to run.", "none",
              over(rate("flyball_cgroup_cpu_throttled_seconds_total", ALL), "{{instance}}")),
        graph("Memory of the group", "What cannot be dropped at once, as a share of the limit.", "percentunit",
              over(f"flyball_cgroup_memory_used_ratio{ALL}", "{{instance}}"), high=1),
    ]  # fmt: skip


def agent_panels() -> list[Panel]:
    """What watching costs."""
    return [
        graph("CPU of the agent", "Share of one core.", "percentunit",
              over(rate("flyball_agent_cpu_seconds_total", ALL), "{{instance}}")),
        graph("Memory of the agent", "Resident memory.", "bytes",
              over(f"flyball_agent_memory_resident_bytes{ALL}", "{{instance}}")),
        graph("Time of probes", "How long readings take, by probe.", "percentunit",
              over(rate("flyball_agent_probe_seconds_total", ALL), "{{instance}} {{probe}}")),
        graph("Spool", "Bytes that wait on the host's disk until the collector has them safe.", "bytes",
              over(f"flyball_agent_spool_bytes{ALL}", "{{instance}} spool"),
              over(f"flyball_agent_backlog_bytes{ALL}", "{{instance}} to be replayed")),
        graph("Records lost or refused", "Should stay 0.", "none",
              over(increase("flyball_agent_records_lost_total", ALL), "{{instance}} lost"),
              over(increase("flyball_agent_records_refused_total", ALL), "{{instance}} refused")),
        graph("Lateness", "How far past its due instant a tick began.", "s",
              over(f"flyball_agent_tick_lateness_seconds{ALL}", "{{instance}}")),
    ]  # fmt: skip
