"""Trainings: ranks side by side, where their time goes, what bounds their hosts, what was advised, what was wasted."""

from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import diagnosis, style
from grafana.generator.board import BOTH_JOBS, Choice, Section, build, instances, job, link, place, standing
from grafana.generator.panels import bars, column, graph, heat, history, linked, listing, number
from grafana.generator.queries import JOB, host, increase, now, over, rank, rate, rows, run

RUN, RANK = run(), rank()
BUSY = rate("flyball_run_step_seconds_total", RANK)
WAITS = rate("flyball_run_data_wait_seconds_total", RANK)
STEPS = rate("flyball_run_steps_total", RANK)
AGAINST_MEDIAN = (
    f"max by (run, rank, instance) ({BUSY} / {STEPS})"
    f" / on (run) group_left () max by (run) (flyball_run_step_median_seconds{RUN})"
)
WASTED = increase("flyball_run_wasted_gpu_seconds_total", RUN, "$__range")
ON_ITS_HOSTS = f"and on (instance) flyball_run_step{RANK}"
OF_IT = {RUN: "", host(run=""): ON_ITS_HOSTS}
"""What is said of the run and its ranks, and of its hosts."""
NAME = "{{run}} rank {{rank}}"


def runs() -> Dashboard:
    """What the fleet's table of runs leads to."""
    sections = [
        Section("Now", now_panels()),
        Section("Steps", step_panels()),
        Section("Ranks side by side", rank_panels()),
        Section("What bounds it", bound_panels()),
        Section("Advice", [
            diagnosis.advice(OF_IT),
            diagnosis.advice_over_time(OF_IT),
        ]),
        Section("GPUs of its hosts", gpu_panels()),
        Section("Waste", waste_panels()),
    ]  # fmt: skip
    chosen = Choice(
        "run", "Run", "Runs that reported steps in the time range.", f"label_values(flyball_run_step{{{JOB}}}, run)"
    )
    return build(
        "run",
        "Run",
        "How a training goes on: its ranks beside each other, and what keeps it from being faster.",
        sections,
        choices=[job(*BOTH_JOBS), chosen, instances("flyball_run_step", "The hosts of the run.", run="=~$run")],
        annotations=[
            standing("red", "Critical conditions of the run", run(severity="critical")),
            standing("orange", "Warnings of the run", run(severity="warning")),
            standing("purple", "Critical conditions of its hosts", host(severity="critical", run=""), enable=False),
        ],
        links=[link("Fleet", "fleet"), link("Hosts", "host", "instance"), link("GPUs", "gpu", "instance")],
    )


def now_panels() -> list[Panel]:
    """Large digits."""
    return [
        number("Ranks", "Ranks that report.", "none", now(f"flyball_run_ranks{RUN}", "{{run}}")),
        number("Step", "Median time of a step over the ranks.", "s",
               over(f"flyball_run_step_median_seconds{RUN}", "{{run}}"), trend=True),
        number("Slowest rank", "Time of a step on the slowest rank, as a multiple of the median. In synchronous "
               "training waiting equalises steps: compare also data waits and GPUs below.", "none",
               over(f"flyball_run_slowest_step_seconds{RUN} / flyball_run_step_median_seconds{RUN}", "{{run}}"),
               trend=True, steps=((None, style.GOOD), (1.2, style.WARNING), (1.5, style.CRITICAL)), decimals=2),
        number("Data wait", "Share of the step in which ranks wait for their input.", "percentunit",
               over(f"sum by (run) ({WAITS}) / sum by (run) ({BUSY})", "{{run}}"), trend=True, steps=style.STALLS,
               low=0, high=1),
        number("Remaining", "Until the last step, for runs that said how many they will make; the median of the "
               "forecast.", "dtdurations", now(f"flyball_run_remaining_seconds{RUN}", "{{run}}")),
        number("Tokens", "Tokens trained on each second.", "none",
               over(f"sum by (run) ({rate('flyball_run_tokens_total', RANK)})", "{{run}}"), trend=True),
        number("Loss", "Of the last step that rank 0 reported.", "none",
               over(f"flyball_run_loss{rank(rank='0')}", "{{run}}"), trend=True, decimals=4),
        number("GPU-hours wasted", "GPU time over the time range that the run held and did not use.", "h",
               now(f"sum by (run) ({WASTED}) / 3600", "{{run}}")),
    ]  # fmt: skip


def step_panels() -> list[Panel]:
    """How fast, how long still."""
    return [
        graph("Step time", "The median over ranks and the slowest rank.", "s",
              over(f"flyball_run_step_median_seconds{RUN}", "{{run}} median"),
              over(f"flyball_run_slowest_step_seconds{RUN}", "{{run}} slowest"), span=8),
        graph("Where a step goes", "Seconds of the mean step: waiting for data, and the rest (computing and "
              "communicating).", "s",
              over(f"sum by (run) ({WAITS}) / sum by (run) ({STEPS})", "{{run}} data wait"),
              over(f"(sum by (run) ({BUSY}) - sum by (run) ({WAITS})) / sum by (run) ({STEPS})", "{{run}} rest"),
              stack=StackingMode.NORMAL),
        graph("Time remaining", "The forecast and the bounds of its interval.", "dtdurations",
              over(f"flyball_run_remaining_seconds{RUN}", "{{run}}"),
              over(f"flyball_run_remaining_low_seconds{RUN}", "{{run}} at least"),
              over(f"flyball_run_remaining_high_seconds{RUN}", "{{run}} at most")),
        graph("Throughput", "Tokens and samples trained on each second, all ranks together.", "none",
              over(f"sum by (run) ({rate('flyball_run_tokens_total', RANK)})", "{{run}} tokens"),
              over(f"sum by (run) ({rate('flyball_run_samples_total', RANK)})", "{{run}} samples"),
              span=12),
        graph("Loss", "Of the last step that each rank reported.", "none", over(f"flyball_run_loss{RANK}", NAME),
              span=12),
    ]  # fmt: skip


def rank_panels() -> list[Panel]:
    """A straggler stands out here."""
    by = "by (run, rank, instance)"
    return [
        history("Step of each rank against the median", "A rank's mean step over the median of the ranks: 1 is as "
                "fast as the others. A row that stays red is a straggler; where all wait for the slowest at each step, "
                "see data wait, power and clocks instead.", "none",
                over(AGAINST_MEDIAN, f"{NAME} ({{{{instance}}}})"), decimals=2,
                steps=((None, style.GOOD), (1.1, "yellow"), (1.2, style.WARNING), (1.5, style.CRITICAL)), span=12,
                height=10),
        history("Data wait of each rank", "Share of the step in which a rank waits for its input. Waiting for others "
                "does not hide it.", "percentunit", over(f"{WAITS} / {BUSY}", f"{NAME} ({{{{instance}}}})"),
                steps=style.STALLS, span=12, height=10),
        listing("Ranks", "The slowest first. Step against median is this rank's step over the run's median.", {
            "run": "Run", "rank": "Rank", "instance": "Host", "Value #A": "Last step", "Value #B": "Step",
            "Value #C": "Step against median", "Value #D": "Data wait", "Value #E": "Loss"},
            rows(f"max {by} (flyball_run_step{RANK})"),
            rows(f"max {by} ({BUSY} / {STEPS})"),
            rows(AGAINST_MEDIAN),
            rows(f"max {by} ({WAITS} / {BUSY})"),
            rows(f"max {by} (flyball_run_loss{RANK})"),
            sort="Step against median", overrides={
                "Host": linked("Host", diagnosis.TO_HOST), "Step": column("s"),
                "Data wait": column("percentunit", style.STALLS),
                "Step against median": column("none", ((None, style.GOOD), (1.2, style.WARNING), (1.5, style.CRITICAL)),
                                              decimals=2), "Loss": column("none", decimals=4)},
            span=24, height=9),
    ]  # fmt: skip


def bound_panels() -> list[Panel]:
    """Of the hosts that the run is on."""
    return [
        graph("Share of bottlenecks", "Of the run's hosts that something bounds: what bounds them first.", "none",
              over(f"sum by (bottleneck) (flyball_primary_bottleneck{host()} {ON_ITS_HOSTS})", "{{bottleneck}}"),
              stack=StackingMode.PERCENT, span=12, height=9),
        heat("Scores on its hosts", "Mean score of each bottleneck over the run's hosts.", "percentunit",
             over(f"avg by (bottleneck) (flyball_score_ratio{host()} {ON_ITS_HOSTS})", "{{bottleneck}}"), high=1,
             span=12, height=9),
        diagnosis.conditions(OF_IT, span=24, height=9),
    ]  # fmt: skip


def gpu_panels() -> list[Panel]:
    """A GPU that differs from its peers."""
    name = "{{instance}} GPU {{index}}"
    to_gpu = {"GPU": place("gpu", instance="${__field.labels.instance}", gpu="${__field.labels.gpu}")}
    return [
        graph("Utilization", "Of all GPUs of the run's hosts: the least, the mean, the highest.", "percentunit",
              *(over(f"{word} by (instance) (flyball_gpu_utilization_ratio{host()} {ON_ITS_HOSTS})",
                     f"{{{{instance}}}} {word}") for word in ("min", "avg", "max")), high=1),
        graph("Power", "Less power at equal utilization is a GPU that waits for the others.", "watt",
              over(f"flyball_gpu_power_watts{host()} {ON_ITS_HOSTS}", name), links=to_gpu),
        graph("SM clock", "A clock below its peers' slows the whole run.", "hertz",
              over(f"flyball_gpu_sm_clock_hertz{host()} {ON_ITS_HOSTS}", name), links=to_gpu),
    ]  # fmt: skip


def waste_panels() -> list[Panel]:
    """Held and not used."""
    return [
        bars("GPU-hours wasted by cause", "Over the time range.", "h",
             now(f"sum by (run, cause) ({WASTED}) / 3600", "{{run}} {{cause}}"), span=8),
        graph("GPUs wasted at a time", "GPU-seconds lost each second, by cause.", "none",
              over(f"sum by (cause) ({rate('flyball_run_wasted_gpu_seconds_total', RUN)})", "{{cause}}"),
              stack=StackingMode.NORMAL, span=16),
    ]  # fmt: skip
