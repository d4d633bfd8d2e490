"""The fleet dashboard: its state, bottlenecks, risks, wasted GPU time, and which hosts need attention."""

from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import adjustments, diagnosis, style
from grafana.generator.board import (
    BOTH_JOBS,
    Section,
    active_conditions,
    build,
    dashboard_url,
    instances,
    instants,
    job,
    link,
)
from grafana.generator.panels import bars, column, graph, heat, history, linked, listing, number
from grafana.generator.queries import JOB, host, increase, now, on_hosts, over, rate, rows

ALL_HOSTS = host()
OF_RUNS = f"{{{JOB}}}"
FAILING = host(reason="=~failed|timed_out|stale|denied|unknown")
WASTED = increase("flyball_wasted_gpu_seconds_total", ALL_HOSTS, "$__range")
BUSY_LEVELS = 10


def fleet() -> Dashboard:
    """Build the dashboard that leads to all others."""
    sections = [
        Section("Now", now_panels()),
        Section("Where time is lost", heat_panels()),
        Section("Risks and active problems", risk_panels()),
        Section("Hosts", [worst_hosts()]),
        Section("Runs", [runs()]),
        Section("Adjustments", adjustment_panels()),
        Section("Waste and energy", waste_panels()),
        Section("Unavailable readings and versions", collection_panels(), collapsed=True),
    ]
    return build(
        "fleet",
        "Fleet",
        "All hosts at a glance: their bottlenecks, risks and wasted GPU time. Table rows link to hosts and runs.",
        sections,
        choices=[job(*BOTH_JOBS), instances("flyball_agent_up")],
        annotations=[
            active_conditions("red", "Critical conditions", host(severity="critical")),
            active_conditions("orange", "Warnings", host(severity="warning"), enable=False),
            instants(
                "purple",
                "Collector started",
                f"flyball_collector_start_time_seconds{{{JOB}}} * 1000",
                "Collector started",
                "{{instance}}",
            ),
            adjustments.marks(OF_RUNS, ALL_HOSTS),
        ],
        links=[link("Collector", "collector")],
        span="now-6h",
    )


def now_panels() -> list[Panel]:
    """Return the panels with large digits."""
    return [
        number(
            "Hosts reporting",
            "Hosts whose records arrive.",
            "none",
            now(f"sum(flyball_agent_up{ALL_HOSTS})", "reporting"),
        ),
        number(
            "Hosts not reporting",
            "Hosts that the collector knows but whose records no longer arrive. Their other series end; they do not "
            "become zero.",
            "none",
            now(f"sum(1 - flyball_agent_up{ALL_HOSTS})", "not reporting"),
            steps=style.ANY_IS_CRITICAL,
            links={"All hosts": dashboard_url("fleet", instance="$__all")},
        ),
        number("GPUs", "GPUs that the agents found.", "none", now(f"count(flyball_gpu_info{ALL_HOSTS})", "GPUs")),
        number(
            "GPU utilisation",
            "Mean over all GPUs for which it is available: the share of time in which a kernel ran. A busy GPU does "
            "not always do useful work.",
            "percentunit",
            over(f"avg(flyball_gpu_utilization_ratio{ALL_HOSTS})", "mean"),
            trend=True,
            steps=style.BUSY,
            low=0,
            high=1,
        ),
        number(
            "Active problems",
            "Conditions that are active now, by severity.",
            "none",
            now(f"sum by (severity) (flyball_conditions{ALL_HOSTS})", "{{severity}}"),
            span=6,
            overrides={
                "critical": [style.option("thresholds", style.thresholds(style.ANY_IS_CRITICAL).build())],
                "warning": [style.option("thresholds", style.thresholds(style.ANY_IS_WARNING).build())],
            },
        ),
        number(
            "GPU-hours",
            "GPU-hours over the time range (one GPU for one hour is one GPU-hour): all that were available, and those "
            "in which kernels ran.",
            "h",
            now(
                f"sum(count_over_time(flyball_gpu_utilization_ratio{ALL_HOSTS}[$__range:$__interval]))"
                " * $__interval_ms / 3.6e6",
                "available",
            ),
            now(
                f"sum(sum_over_time(flyball_gpu_utilization_ratio{ALL_HOSTS}[$__range:$__interval]))"
                " * $__interval_ms / 3.6e6",
                "busy",
            ),
            span=3,
            points=100,
        ),
        number(
            "GPU-hours wasted",
            "GPU time in the time range that was lost although runs held the GPUs, because they were idle or slowed "
            "down.",
            "h",
            now(f"sum({WASTED}) / 3600", "wasted"),
            span=3,
        ),
    ]


def heat_panels() -> list[Panel]:
    """Return distributions over all hosts, which show ten hosts as clearly as two thousand."""
    busy = f"flyball_gpu_utilization_ratio{ALL_HOSTS}"
    return [
        heat(
            "GPUs by utilisation",
            "Number of GPUs at each level of utilisation. A bright band at the top is a busy fleet; a bright band at "
            "the bottom is idle GPUs, whether runs hold them or not.",
            "none",
            *(over(_level(busy, level), _percent(level)) for level in range(BUSY_LEVELS)),
            span=12,
        ),
        heat(
            "Scores by bottleneck",
            "Mean score of each bottleneck over the hosts for which it is known. For bottlenecks of GPUs, the score of "
            "a host is that of its worst GPU. 1 means that the resource limits the host all the time.",
            "percentunit",
            over(f"avg by (bottleneck) (flyball_score_ratio{ALL_HOSTS})", "{{bottleneck}}"),
            span=12,
            high=1,
        ),
        graph(
            "Hosts by primary bottleneck",
            "The primary bottleneck of each host. Hosts without an active bottleneck are not counted.",
            "none",
            over(f"sum by (bottleneck) (flyball_primary_bottleneck{ALL_HOSTS})", "{{bottleneck}}"),
            stack=StackingMode.NORMAL,
            span=12,
            height=10,
        ),
        history(
            "The 24 hosts with the highest scores",
            "The highest score of each host over time, for the 24 hosts with the highest mean over the time range.",
            "percentunit",
            over(_worst("flyball_score_ratio"), "{{instance}}"),
            steps=((None, style.GOOD), (0.4, "yellow"), (0.7, style.WARNING), (0.9, style.CRITICAL)),
            links={"Host": dashboard_url("host", instance="${__field.labels.instance}")},
            span=12,
            height=10,
        ),
    ]


def risk_panels() -> list[Panel]:
    """Return the active problems and the time left until failures."""
    return [
        diagnosis.risks(ALL_HOSTS),
        diagnosis.problems(ALL_HOSTS),
        diagnosis.alerts({ALL_HOSTS: ""}),
    ]


def worst_hosts() -> Panel:
    """Return the table of hosts, which links to each host."""
    by = "by (instance)"
    return listing(
        "Hosts",
        "Hosts with the most critical conditions first. An empty cell is an unavailable reading. Failing probes are "
        "those whose reading failed or was not permitted; hardware that the host does not have is not counted.",
        {
            "instance": "Host",
            "Value #A": "State",
            "Value #B": "Critical",
            "Value #C": "Warnings",
            "Value #D": "Highest score",
            "Value #E": "GPUs busy",
            "Value #F": "Hottest GPU: margin",
            "Value #G": "CPU",
            "Value #H": "Memory",
            "Value #I": "CPU pressure",
            "Value #J": "Memory pressure",
            "Value #K": "I/O pressure",
            "Value #L": "GPUs wasted",
            "Value #M": "Failing probes",
        },
        rows(f"max {by} (flyball_agent_up{ALL_HOSTS})"),
        rows(f"sum {by} (flyball_conditions{host(severity='critical')})"),
        rows(f"sum {by} (flyball_conditions{host(severity='warning')})"),
        rows(f"max {by} (flyball_score_ratio{ALL_HOSTS})"),
        rows(f"avg {by} (flyball_gpu_utilization_ratio{ALL_HOSTS})"),
        rows(f"min {by} (flyball_gpu_temperature_margin_celsius{ALL_HOSTS})"),
        rows(f"max {by} (flyball_cpu_busy_ratio{ALL_HOSTS})"),
        rows(f"max {by} (flyball_memory_used_ratio{ALL_HOSTS})"),
        *(
            rows(f"max {by} (flyball_pressure_ratio{host(resource=resource, extent='some')})")
            for resource in ("cpu", "memory", "io")
        ),
        rows(f"sum {by} ({rate('flyball_wasted_gpu_seconds_total', ALL_HOSTS)})"),
        rows(f"count {by} (flyball_probe_unavailable{FAILING})"),
        sort="Critical",
        overrides={
            "Host": linked("Host", diagnosis.TO_HOST),
            "State": [style.option("mappings", style.UP), style.option("custom.cellOptions", {"type": "color-text"})],
            "Critical": column("none", style.ANY_IS_CRITICAL),
            "Warnings": column("none", style.ANY_IS_WARNING),
            "Highest score": column("percentunit", style.USAGE),
            "GPUs busy": column("percentunit", style.BUSY),
            "Hottest GPU: margin": column("celsius", style.MARGIN),
            "CPU|Memory": column("percentunit"),
            ".* pressure": column("percentunit", style.STALLS),
            "GPUs wasted": column("none", decimals=1),
            "Failing probes": column("none", style.ANY_IS_WARNING),
        },
        span=24,
        height=12,
    )


def runs() -> Panel:
    """Return the table of runs, which links to each run."""
    wasted = increase("flyball_run_wasted_gpu_seconds_total", OF_RUNS, "$__range")
    return listing(
        "Runs",
        "Trainings that report their steps. If the step of the slowest rank is far above the median, that rank is a "
        "straggler. The remaining time is known only for runs that report their total number of steps. Only runs on "
        "the chosen hosts are listed.",
        {
            "run": "Run",
            "Value #A": "Ranks",
            "Value #B": "Step (median)",
            "Value #C": "Step (slowest rank)",
            "Value #D": "Remaining",
            "Value #E": "GPU-hours wasted",
        },
        *(
            rows(on_hosts(f"max by (run) (flyball_run_{metric}{OF_RUNS})", ALL_HOSTS))
            for metric in ("ranks", "step_median_seconds", "slowest_step_seconds", "remaining_seconds")
        ),
        rows(on_hosts(f"sum by (run) ({wasted}) / 3600", ALL_HOSTS, "$__range")),
        sort="GPU-hours wasted",
        overrides={
            "Run": linked("Run", diagnosis.TO_RUN),
            "Step .*": column("s"),
            "Remaining": column("dtdurations"),
            "GPU-hours wasted": column("h"),
        },
        empty="No run reports steps",
        span=24,
        height=8,
    )


def adjustment_panels() -> list[Panel]:
    """Return the changes that the collector makes in runs."""
    return [*adjustments.in_progress(), *adjustments.outcomes(OF_RUNS, ALL_HOSTS, spans=(7, 8))]


def waste_panels() -> list[Panel]:
    """Return the panels on wasted GPU time and on energy."""
    return [
        bars(
            "GPU-hours wasted by cause",
            "GPU time in the time range that was lost although runs held the GPUs, by cause.",
            "h",
            now(f"topk(10, sum by (cause) ({WASTED}) / 3600)", "{{cause}}"),
            span=6,
        ),
        number(
            "Cost of the waste",
            "The wasted GPU-hours at the price in the collector's settings (diagnosis.waste.price_per_gpu_hour).",
            "none",
            now(
                f"sum({WASTED}) / 3600 * on () group_right () max by (currency) (flyball_gpu_hour_price{{{JOB}}})",
                "{{currency}}",
            ),
            empty="no price set",
            height=8,
            decimals=2,
        ),
        graph(
            "GPUs wasted, by cause",
            "GPU-seconds lost each second: 8 means as much as eight idle GPUs.",
            "none",
            over(f"sum by (cause) ({rate('flyball_wasted_gpu_seconds_total', ALL_HOSTS)})", "{{cause}}"),
            stack=StackingMode.NORMAL,
        ),
        graph(
            "GPU power",
            "Power of all GPUs that have an energy counter.",
            "watt",
            over(f"sum({rate('flyball_gpu_energy_joules_total', ALL_HOSTS)})", "drawn"),
            over(f"sum(flyball_gpu_power_limit_watts{ALL_HOSTS})", "limit"),
            overrides={"limit": style.limit_line()},
            span=7,
        ),
    ]


def collection_panels() -> list[Panel]:
    """Return the panels on unavailable readings and on versions."""
    return [
        listing(
            "Unavailable readings by reason",
            "Number of hosts on which readings of a probe are unavailable, by reason. N/A: there is nothing to read. "
            "No permission: the agent lacks the right to read it. Failed: there is something to read, but that failed.",
            {"reason": "Reason", "probe": "Probe", "Value": "Hosts"},
            rows(f"count by (probe, reason) (flyball_probe_unavailable{ALL_HOSTS})"),
            sort="Hosts",
            overrides={
                "Reason": [
                    style.option("mappings", style.REASONS),
                    style.option("custom.cellOptions", {"type": "color-text"}),
                ]
            },
            empty="All readings are available",
            span=12,
        ),
        bars(
            "Agents by version",
            "Hosts by the version of their agent.",
            "none",
            now(f"count by (version) (flyball_agent_info{ALL_HOSTS})", "{{version}}"),
            span=6,
        ),
        bars(
            "GPUs by model",
            "Number of GPUs of each model.",
            "none",
            now(f"count by (model) (flyball_gpu_info{ALL_HOSTS})", "{{model}}"),
            span=6,
        ),
    ]


def _level(metric: str, level: int) -> str:
    """Count the GPUs in one tenth of the range. The value 1 belongs to the last tenth."""
    above = f"sum({metric} >= bool {level / BUSY_LEVELS:g})"
    return above if level == BUSY_LEVELS - 1 else f"{above} - sum({metric} >= bool {(level + 1) / BUSY_LEVELS:g})"


def _percent(level: int) -> str:
    return f"{level * 10}–{(level + 1) * 10} %"


def _worst(metric: str, count: int = 24) -> str:
    """Select the hosts with the highest mean over the whole time range, the same hosts at each instant."""
    mean = f"max by (instance) (avg_over_time({metric}{ALL_HOSTS}[$__range] @ end()))"
    return f"max by (instance) ({metric}{ALL_HOSTS}) and on (instance) topk({count}, {mean})"
