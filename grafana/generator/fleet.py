"""The fleet: is it well, what bounds it, what is about to break, what is wasted, and which host to look at."""

from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import diagnosis, style
from grafana.generator.board import BOTH_JOBS, Section, build, happened, instances, job, link, place, standing
from grafana.generator.panels import bars, column, graph, heat, history, linked, listing, number
from grafana.generator.queries import JOB, host, increase, now, over, rate, rows

ALL_HOSTS = host()
FAILING = host(reason="=~failed|timed_out|stale|denied|unknown")
WASTED = increase("flyball_wasted_gpu_seconds_total", ALL_HOSTS, "$__range")
BUSY_LEVELS = 10


def fleet() -> Dashboard:
    """The entry to all others."""
    sections = [
        Section("Now", now_panels()),
        Section("Where the fleet's time goes", heat_panels()),
        Section("Risks and conditions", risk_panels()),
        Section("Hosts", [worst_hosts()]),
        Section("Runs", [runs()]),
        Section("Waste and energy", waste_panels()),
        Section("What is not read, and versions", collection_panels(), collapsed=True),
    ]
    return build(
        "fleet",
        "Fleet",
        "All hosts at a glance: what bounds them, what will break, what is wasted. Rows of tables lead on.",
        sections,
        choices=[job(*BOTH_JOBS), instances("flyball_agent_up")],
        annotations=[
            standing("red", "Critical conditions", host(severity="critical")),
            standing("orange", "Warnings", host(severity="warning"), enable=False),
            happened(
                "purple",
                "Collector started",
                f"flyball_collector_start_time_seconds{{{JOB}}} * 1000",
                "Collector started",
                "{{instance}}",
            ),
        ],
        links=[link("Collector", "collector")],
        span="now-6h",
    )


def now_panels() -> list[Panel]:
    """Large digits."""
    return [
        number("Hosts up", "Hosts whose records are fresh.", "none", now(f"sum(flyball_agent_up{ALL_HOSTS})", "up")),
        number(
            "Hosts silent",
            "Hosts known to the collector whose records stopped coming. Their other series are gone: not zero.",
            "none",
            now(f"sum(1 - flyball_agent_up{ALL_HOSTS})", "silent"),
            steps=style.ANY_IS_BAD,
            links={"Hosts, silent ones first": place("fleet", instance="$__all")},
        ),
        number("GPUs", "GPUs that agents found.", "none", now(f"count(flyball_gpu_info{ALL_HOSTS})", "GPUs")),
        number(
            "GPU utilization",
            "Mean over all GPUs that tell it: the share of time in which a kernel ran. Busy is not yet useful.",
            "percentunit",
            over(f"avg(flyball_gpu_utilization_ratio{ALL_HOSTS})", "mean"),
            trend=True,
            steps=style.BUSY,
            low=0,
            high=1,
        ),
        number(
            "Standing conditions",
            "Conditions that are raised now, by severity.",
            "none",
            now(f"sum by (severity) (flyball_conditions{ALL_HOSTS})", "{{severity}}"),
            span=6,
            overrides={
                "critical": [style.option("thresholds", style.thresholds(style.ANY_IS_BAD).build())],
                "warning": [style.option("thresholds", style.thresholds(style.ANY_IS_ODD).build())],
            },
        ),
        number(
            "GPU-hours",
            "Over the time range: hours in which GPUs were there (a GPU for an hour is one), and the part of them in "
            "which kernels ran.",
            "h",
            now(
                f"sum(count_over_time(flyball_gpu_utilization_ratio{ALL_HOSTS}[$__range:$__interval]))"
                " * $__interval_ms / 3.6e6",
                "there",
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
            "GPU time over the time range that runs held and did not use, whatever the cause.",
            "h",
            now(f"sum({WASTED}) / 3600", "wasted"),
            span=3,
        ),
    ]


def heat_panels() -> list[Panel]:
    """Distributions over all hosts, so that ten hosts and two thousand look alike."""
    busy = f"flyball_gpu_utilization_ratio{ALL_HOSTS}"
    return [
        heat(
            "GPUs by utilization",
            "How many GPUs are how busy: a bright band at the top is a fleet that works; one at the bottom, GPUs that "
            "are held or free and do nothing.",
            "none",
            *(over(_level(busy, level), _percent(level)) for level in range(BUSY_LEVELS)),
            span=12,
        ),
        heat(
            "Scores by bottleneck",
            "Mean score of each bottleneck over the hosts that have one; a host's score is that of its worst GPU where "
            "GPUs are judged. 1 means bound all the time.",
            "percentunit",
            over(f"avg by (bottleneck) (flyball_score_ratio{ALL_HOSTS})", "{{bottleneck}}"),
            span=12,
            high=1,
        ),
        graph(
            "Hosts by primary bottleneck",
            "What bounds hosts first. Hosts that nothing bounds are not counted.",
            "none",
            over(f"sum by (bottleneck) (flyball_primary_bottleneck{ALL_HOSTS})", "{{bottleneck}}"),
            stack=StackingMode.NORMAL,
            span=12,
            height=10,
        ),
        history(
            "The 24 hosts with the highest scores",
            "A host's highest score over time: of all hosts, those that were bound most over the time range.",
            "percentunit",
            over(_worst("flyball_score_ratio"), "{{instance}}"),
            steps=((None, style.GOOD), (0.4, "yellow"), (0.7, style.WARNING), (0.9, style.CRITICAL)),
            links={"Host": place("host", instance="${__field.labels.instance}")},
            span=12,
            height=10,
        ),
    ]


def risk_panels() -> list[Panel]:
    """What stands, and how long until it breaks."""
    return [
        diagnosis.risks(ALL_HOSTS),
        listing(
            "Standing conditions",
            "Everything that is raised and not yet cleared. `flyball events` tells the evidence.",
            {
                "severity": "Severity",
                "kind": "Condition",
                "instance": "Host",
                "gpu": "GPU",
                "resource": "Resource",
                "run": "Run",
                "rank": "Rank",
            },
            rows(f"flyball_condition_active{ALL_HOSTS}"),
            overrides={
                "Severity": [
                    style.option("mappings", style.SEVERITIES),
                    style.option("custom.cellOptions", {"type": "color-text"}),
                ],
                "Host": linked("Host", diagnosis.TO_HOST),
                "Run": linked("Run", diagnosis.TO_RUN),
            },
            span=12,
            height=9,
        ),
    ]


def worst_hosts() -> Panel:
    """The overview that leads to a host."""
    by = "by (instance)"
    return listing(
        "Hosts",
        "Hosts with the most critical conditions first. An empty cell is a reading that the host does not give; "
        "“failing probes” counts those whose collection failed, as opposed to what the host does not have.",
        {
            "instance": "Host",
            "Value #A": "Up",
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
            "Up": [style.option("mappings", style.UP), style.option("custom.cellOptions", {"type": "color-text"})],
            "Critical": column("none", style.ANY_IS_BAD),
            "Warnings": column("none", style.ANY_IS_ODD),
            "Highest score": column("percentunit", style.USAGE),
            "GPUs busy": column("percentunit", style.BUSY),
            "Hottest GPU: margin": column("celsius", style.MARGIN),
            "CPU|Memory": column("percentunit"),
            ".* pressure": column("percentunit", style.STALLS),
            "GPUs wasted": column("none", decimals=1),
            "Failing probes": column("none", style.ANY_IS_ODD),
        },
        span=24,
        height=12,
    )


def runs() -> Panel:
    """The overview that leads to a run."""
    everything = f"{{{JOB}}}"
    return listing(
        "Runs",
        "Trainings that report their steps. The slowest rank's step against the median tells a straggler; the "
        "remaining time is for runs that said how many steps they will make.",
        {
            "run": "Run",
            "Value #A": "Ranks",
            "Value #B": "Step (median)",
            "Value #C": "Step (slowest rank)",
            "Value #D": "Remaining",
            "Value #E": "GPU-hours wasted",
        },
        rows(f"max by (run) (flyball_run_ranks{everything})"),
        rows(f"max by (run) (flyball_run_step_median_seconds{everything})"),
        rows(f"max by (run) (flyball_run_slowest_step_seconds{everything})"),
        rows(f"max by (run) (flyball_run_remaining_seconds{everything})"),
        rows(f"sum by (run) ({increase('flyball_run_wasted_gpu_seconds_total', everything, '$__range')}) / 3600"),
        sort="GPU-hours wasted",
        overrides={
            "Run": linked("Run", diagnosis.TO_RUN),
            "Step .*": column("s"),
            "Remaining": column("dtdurations"),
            "GPU-hours wasted": column("h"),
        },
        span=24,
        height=8,
    )


def waste_panels() -> list[Panel]:
    """What GPUs did not do, and what they drew."""
    return [
        bars(
            "Wasted GPU-hours by cause",
            "GPU time over the time range that was held and not used, by what it waited for.",
            "h",
            now(f"topk(10, sum by (cause) ({WASTED}) / 3600)", "{{cause}}"),
            span=6,
        ),
        number(
            "Cost of the waste",
            "The wasted GPU-hours at the price that the collector's settings name "
            "(diagnosis.waste.price_per_gpu_hour). Not reported: no price is set.",
            "none",
            now(
                f"sum({WASTED}) / 3600 * on () group_right () max by (currency) (flyball_gpu_hour_price{{{JOB}}})",
                "{{currency}}",
            ),
            height=8,
            decimals=2,
        ),
        graph(
            "GPUs wasted at a time, by cause",
            "GPU-seconds lost each second: 8 is as if eight GPUs did nothing.",
            "none",
            over(f"sum by (cause) ({rate('flyball_wasted_gpu_seconds_total', ALL_HOSTS)})", "{{cause}}"),
            stack=StackingMode.NORMAL,
        ),
        graph(
            "GPU power",
            "Power of all GPUs that tell it, from their energy counters.",
            "watt",
            over(f"sum({rate('flyball_gpu_energy_joules_total', ALL_HOSTS)})", "drawn"),
            over(f"sum(flyball_gpu_power_limit_watts{ALL_HOSTS})", "limit"),
            overrides={"limit": style.limit_line()},
            span=7,
        ),
    ]


def collection_panels() -> list[Panel]:
    """Absent is not failed."""
    return [
        listing(
            "Silent probes by reason",
            "How many hosts do not give a probe's readings, and why. Absent and unsupported mean that there is nothing "
            "to read (N/A); failed, timed out and stale mean that the collection failed; denied, that the agent lacks "
            "a permission.",
            {"reason": "Reason", "probe": "Probe", "Value": "Hosts"},
            rows(f"count by (probe, reason) (flyball_probe_unavailable{ALL_HOSTS})"),
            sort="Hosts",
            overrides={
                "Reason": [
                    style.option("mappings", style.UNAVAILABLE),
                    style.option("custom.cellOptions", {"type": "color-text"}),
                ]
            },
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
            "What the fleet is made of.",
            "none",
            now(f"count by (model) (flyball_gpu_info{ALL_HOSTS})", "{{model}}"),
            span=6,
        ),
    ]


def _level(metric: str, level: int) -> str:
    """How many GPUs lie in one tenth of the range; what is 1 belongs to the last."""
    above = f"sum({metric} >= bool {level / BUSY_LEVELS:g})"
    return above if level == BUSY_LEVELS - 1 else f"{above} - sum({metric} >= bool {(level + 1) / BUSY_LEVELS:g})"


def _percent(level: int) -> str:
    return f"{level * 10}–{(level + 1) * 10} %"


def _worst(metric: str, count: int = 24) -> str:
    """The series of those hosts whose mean over the whole time range is highest: the same hosts at each instant."""
    whole = f"max by (instance) (avg_over_time({metric}{ALL_HOSTS}[$__range] @ end()))"
    return f"max by (instance) ({metric}{ALL_HOSTS}) and on (instance) topk({count}, {whole})"
